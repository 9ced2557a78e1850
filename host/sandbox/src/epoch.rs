//! The clock of the sandbox: one thread ticks the epoch of every engine. A thread of its own and
//! not a task, because a busy runtime must not stop the clock that ends busy guests. It stands still while no guest has
//! a thread: a host in peace shall not wake a thousand times a second.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::{Engine, EngineWeak};

/// How often a guest that computes for long yields, and the grain of its CPU time. Also the first: a thread that a guest
/// has taken may be the one that was to look for what comes in, and no other does while it sleeps.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// Guests that have a thread at this moment.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);
/// Whether the clock stands still, and wants to be woken by the first guest that takes a thread.
static STANDS: AtomicBool = AtomicBool::new(false);
/// Whether a guest has taken a thread since the clock last looked: where one call follows the other, waking the clock for
/// each of them costs more than a tick in vain.
static CAME: AtomicBool = AtomicBool::new(false);
/// How often it has ticked.
#[cfg(test)]
static TICKS: AtomicUsize = AtomicUsize::new(0);
static CLOCK: OnceLock<Thread> = OnceLock::new();

static ENGINES: OnceLock<Mutex<Vec<EngineWeak>>> = OnceLock::new();

/// Lets the clock tick for an engine until the engine is dropped.
///
/// # Errors
/// When the thread cannot be started.
pub(crate) fn register(engine: &Engine) -> std::io::Result<()> {
    let mut first = false;
    let engines = ENGINES.get_or_init(|| {
        first = true;
        Mutex::new(Vec::new())
    });
    engines.lock().unwrap_or_else(PoisonError::into_inner).push(engine.weak());
    if first {
        thread::Builder::new().name("epoch".into()).spawn(move || tick(engines))?;
    }
    Ok(())
}

/// A guest that has a thread, until this is dropped.
#[derive(Debug)]
pub(super) struct RunningGuard(());

impl RunningGuard {
    /// Starts the clock if it stands still.
    pub(super) fn begin() -> Self {
        AT_WORK.fetch_add(1, Ordering::SeqCst);
        if !CAME.load(Ordering::Relaxed) {
            CAME.store(true, Ordering::Relaxed);
        }
        if STANDS.load(Ordering::SeqCst)
            && STANDS.swap(false, Ordering::SeqCst)
            && let Some(clock) = CLOCK.get()
        {
            clock.unpark();
        }
        Self(())
    }
}

impl RunningGuard {
    /// While this is done a guest has its thread, and does not compute.
    pub(super) fn paused<T>(work: impl FnOnce() -> T) -> T {
        AT_WORK.fetch_sub(1, Ordering::SeqCst);
        let done = work();
        // Dropped nowhere: the guest's own is still there.
        std::mem::forget(Self::begin());
        done
    }
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::SeqCst);
    }
}

fn tick(engines: &Mutex<Vec<EngineWeak>>) {
    // Before it stands still for the first time: a thread that sees it stand still finds this set.
    CLOCK.get_or_init(thread::current);
    loop {
        wait();
        engines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|engine| engine.upgrade().inspect(Engine::increment_epoch).is_some());
        #[cfg(test)]
        TICKS.fetch_add(1, Ordering::SeqCst);
    }
}

/// Waits for the end of a tick, which begins when a guest is at work.
fn wait() {
    loop {
        // Looked at after it is said: either side sees the other. What wakes it too early makes a tick that is too early.
        STANDS.store(true, Ordering::SeqCst);
        if AT_WORK.load(Ordering::SeqCst) > 0 || CAME.swap(false, Ordering::Relaxed) {
            break;
        }
        thread::park();
    }
    STANDS.store(false, Ordering::SeqCst);
    thread::park_timeout(TICK);
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// No tick in this time: it never comes.
    const NEVER: Duration = Duration::from_secs(30);

    fn wait_until(mut seen: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !seen() {
            assert!(begin.elapsed() < NEVER);
            thread::yield_now();
        }
    }

    #[test]
    fn the_clock_goes_while_a_guest_is_at_work_and_stands_still_otherwise() {
        register(&Engine::default()).unwrap();
        for _ in 0..20 {
            // Guests of other tests have their pauses.
            wait_until(|| STANDS.load(Ordering::SeqCst));
            let at_work = RunningGuard::begin();
            let before = TICKS.load(Ordering::SeqCst);
            wait_until(|| TICKS.load(Ordering::SeqCst) > before + 2);
            drop(at_work);
        }
    }
}
