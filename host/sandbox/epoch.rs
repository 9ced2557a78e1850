//! The clock of the sandbox: one thread ticks the epoch of every engine. A thread of its own and
//! not a task, because a busy runtime must not stop the clock that ends busy guests.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use wasmtime::{Engine, EngineWeak};

/// The length of a tick: how often a running guest yields, and the grain of its CPU time.
pub(crate) const TICK: Duration = Duration::from_millis(10);

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

fn tick(engines: &Mutex<Vec<EngineWeak>>) {
    loop {
        thread::park_timeout(TICK);
        engines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|engine| engine.upgrade().inspect(Engine::increment_epoch).is_some());
    }
}
