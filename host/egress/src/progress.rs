//! How far a request has come, for a task that waits for it from outside. Owns one sign: whether it has a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a request has a connection: from then on nobody but its guest need look after it.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<AtomicBool>);

impl Progress {
    /// Whether it has.
    pub fn is_connected(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn connected(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
