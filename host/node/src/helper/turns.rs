//! Turns: operations on one volume come one after the other, others side by side.
//!
//! Owns the table of volumes that are being worked on. It must not be held while waiting for
//! another turn: whoever needs several volumes takes them all at once, so nobody waits in a circle.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, PoisonError};

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
#[derive(Debug, Default)]
pub(crate) struct Turns {
    taken: Mutex<HashSet<VolumeKey>>,
    ended: Condvar,
}

/// The right to work on some volumes; ends when dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    keys: Vec<VolumeKey>,
}

impl Turns {
    /// Waits until none of these volumes is being worked on, and takes them.
    pub(crate) fn take(&self, keys: Vec<VolumeKey>) -> Turn<'_> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = self
            .ended
            .wait_while(taken, |taken| keys.iter().any(|key| taken.contains(key)))
            .unwrap_or_else(PoisonError::into_inner);
        taken.extend(keys.iter().cloned());
        drop(taken);
        Turn { turns: self, keys }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut taken = self.turns.taken.lock().unwrap_or_else(PoisonError::into_inner);
        for key in &self.keys {
            taken.remove(key);
        }
        self.turns.ended.notify_all();
    }
}
