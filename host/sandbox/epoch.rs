//! The clock of the sandbox: one thread ticks the epoch of every engine. A thread of its own and
//! not a task, because a busy runtime must not stop the clock that ends busy guests. It is quick only while a guest
//! computes for long, or guests have all threads: a host in peace shall not wake a thousand times a second.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::{Engine, EngineWeak};

/// The length of a tick while a thread is left and no guest is at long work: most calls end between two of them.
const CALM: Duration = Duration::from_millis(10);
/// The length of any other: how often a guest that computes for long yields, and the grain of its CPU time.
pub(crate) const QUICK: Duration = Duration::from_millis(1);

/// Whether the latest tick has met a guest that has computed for longer than a quick one.
static MET: AtomicBool = AtomicBool::new(false);

/// Guests that have a thread at this moment.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);
/// Whether the clock waits for the end of a long tick, and wants to be woken when guests take the last thread.
static IS_CALM: AtomicBool = AtomicBool::new(false);
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
        let clock = thread::Builder::new().name("epoch".into()).spawn(move || tick(engines))?;
        CLOCK.get_or_init(|| clock.thread().clone());
    }
    Ok(())
}

/// To be asked by a guest that a tick has reached: whether it has computed for long enough to let others in. The clock is
/// quick as long as there is such a one.
pub(crate) fn is_long(spent: Duration) -> bool {
    let is_long = spent >= QUICK;
    if is_long {
        MET.store(true, Ordering::Relaxed);
    }
    is_long
}

/// How many threads serve: the runtime has as many as there are processors.
pub(super) fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

/// As many as may be taken for long: one is left to what takes little, where there is more than one.
pub(super) fn all_but_one() -> usize {
    threads().saturating_sub(1).max(1)
}

/// A guest that has a thread, until this is dropped.
#[derive(Debug)]
pub(super) struct AtWork(());

impl AtWork {
    /// Hurries the clock when no thread is left: whatever else comes would wait for the rest of a long tick.
    pub(super) fn begin() -> Self {
        let before = AT_WORK.fetch_add(1, Ordering::SeqCst);
        if before + 1 >= threads()
            && IS_CALM.swap(false, Ordering::SeqCst)
            && let Some(clock) = CLOCK.get()
        {
            clock.unpark();
        }
        Self(())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::SeqCst);
    }
}

fn is_crowded() -> bool {
    AT_WORK.load(Ordering::SeqCst) >= threads()
}

fn tick(engines: &Mutex<Vec<EngineWeak>>) {
    loop {
        wait();
        engines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|engine| engine.upgrade().inspect(Engine::increment_epoch).is_some());
    }
}

/// Waits for the end of a tick. One that was long and is hurried goes on for as long as a quick one, so that there are
/// never more than those.
fn wait() {
    if !MET.swap(false, Ordering::Relaxed) && !is_crowded() {
        // Looked at once more after it is said: either side sees the other.
        IS_CALM.store(true, Ordering::SeqCst);
        let was_crowded = is_crowded();
        if !was_crowded {
            thread::park_timeout(CALM);
        }
        let was_hurried = !IS_CALM.swap(false, Ordering::SeqCst);
        if !was_crowded && !was_hurried {
            return;
        }
    }
    thread::park_timeout(QUICK);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_the_last_thread_hurries_the_clock() {
        const ROUNDS: usize = 20;
        register(&Engine::default()).unwrap();
        let mut calm = 0;
        for _ in 0..ROUNDS {
            while !IS_CALM.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            let at_work: Vec<_> = (0..threads()).map(|_| AtWork::begin()).collect();
            // Between two of its steps the clock may say so once more, and look again.
            calm += usize::from(IS_CALM.load(Ordering::SeqCst));
            drop(at_work);
        }
        assert!(calm < ROUNDS / 2, "{calm} of {ROUNDS} times it went on calmly");
    }
}
