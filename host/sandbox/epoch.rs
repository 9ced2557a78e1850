//! The clock of the sandbox: one thread ticks the epoch of every engine. A thread of its own and
//! not a task, because a busy runtime must not stop the clock that ends busy guests. It is quick only while a guest
//! computes for long: a host in peace shall not wake a thousand times a second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use wasmtime::{Engine, EngineWeak};

/// The length of a tick that follows one that met no guest at long work: most calls end between two of them.
const CALM: Duration = Duration::from_millis(10);
/// The length of any other: how often a guest that computes for long yields, and the grain of its CPU time.
pub(crate) const QUICK: Duration = Duration::from_millis(1);

/// Whether the latest tick has met a guest that has computed for longer than a quick one.
static MET: AtomicBool = AtomicBool::new(false);

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

/// To be asked by a guest that a tick has reached: whether it has computed for long enough to let others in. The clock is
/// quick as long as there is such a one.
pub(crate) fn is_long(spent: Duration) -> bool {
    let is_long = spent >= QUICK;
    if is_long {
        MET.store(true, Ordering::Relaxed);
    }
    is_long
}

fn tick(engines: &Mutex<Vec<EngineWeak>>) {
    loop {
        thread::park_timeout(if MET.swap(false, Ordering::Relaxed) { QUICK } else { CALM });
        engines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|engine| engine.upgrade().inspect(Engine::increment_epoch).is_some());
    }
}
