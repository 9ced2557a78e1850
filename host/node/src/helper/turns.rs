//! Turns: operations on one volume come one after the other, others side by side.
//!
//! Owns the table of volumes that are being worked on. It must not be held while waiting for
//! another turn: a request for several volumes takes them all at once, so no two wait for each other.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// A volume of a backend.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct VolumeKey {
    pub(crate) backend: String,
    pub(crate) volume: String,
}

impl VolumeKey {
    pub(crate) fn new(backend: &str, volume: &str) -> Self {
        Self { backend: backend.to_owned(), volume: volume.to_owned() }
    }
}

/// The volumes that are being worked on.
#[derive(Debug, Default, Clone)]
pub(crate) struct Turns(Arc<Table>);

#[derive(Debug, Default)]
struct Table {
    taken: Mutex<HashSet<VolumeKey>>,
    ended: Condvar,
    freed: OnceLock<Freed>,
}

/// What is done when a turn has ended that no request had.
struct Freed(Box<dyn Fn() + Send + Sync>);

impl fmt::Debug for Freed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Freed")
    }
}

/// The right to work on some volumes; ends when dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Turns,
    keys: Vec<VolumeKey>,
}

impl Turns {
    /// Waits until none of these volumes is being worked on, and takes them.
    pub(crate) fn take(&self, keys: Vec<VolumeKey>) -> Turn {
        let taken = self
            .0
            .ended
            .wait_while(self.lock(), |taken| keys.iter().any(|key| taken.contains(key)))
            .unwrap_or_else(PoisonError::into_inner);
        self.enter(taken, keys)
    }

    /// Names what is done when a turn has ended that no request had, once and for all.
    pub(crate) fn when_freed(&self, work: impl Fn() + Send + Sync + 'static) {
        // A second one would be a mistake of ours, and changes nothing.
        let _ = self.0.freed.set(Freed(Box::new(work)));
    }

    /// Ends a turn that no request had: requests that wait for its volumes are begun by whoever ends one, and none ends here.
    pub(crate) fn give_back(&self, turn: Turn) {
        drop(turn);
        if let Some(Freed(work)) = self.0.freed.get() {
            work();
        }
    }

    /// Takes a volume unless it is being worked on.
    pub(crate) fn try_take(&self, key: &VolumeKey) -> Option<Turn> {
        let taken = self.lock();
        (!taken.contains(key)).then(|| self.enter(taken, vec![key.clone()]))
    }

    fn enter(&self, mut taken: MutexGuard<'_, HashSet<VolumeKey>>, keys: Vec<VolumeKey>) -> Turn {
        taken.extend(keys.iter().cloned());
        Turn { turns: self.clone(), keys }
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<VolumeKey>> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut taken = self.turns.lock();
        for key in &self.keys {
            taken.remove(key);
        }
        drop(taken);
        self.turns.0.ended.notify_all();
    }
}
