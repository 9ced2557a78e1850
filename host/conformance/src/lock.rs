//! The one way in which the suite locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what no code can leave half-changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
