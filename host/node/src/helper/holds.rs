//! The volumes whose writes this helper holds.
//!
//! Owns the table of them and what each needs to be let go. It must not freeze or thaw anything: that
//! is the work of `ops::freeze`, which puts a hold here and takes it out again.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::ledger::Entry;
use super::turns::VolumeKey;

/// All holds of this helper, at most one for each volume.
#[derive(Debug, Default)]
pub(super) struct Holds(Mutex<HashMap<VolumeKey, Hold>>);

/// One hold. Dropping it ends its watchdog, not the freeze.
#[derive(Debug)]
pub(super) struct Hold {
    pub(super) id: u64,
    call: String,
    /// The frozen file system; none when the volume was not mounted, so that nothing could write.
    pub(super) root: Option<OwnedFd>,
    _watchdog: Sender<()>,
}

impl Hold {
    pub(super) fn new(id: u64, call: &str, root: Option<OwnedFd>, watchdog: Sender<()>) -> Self {
        Self { id, call: call.to_owned(), root, _watchdog: watchdog }
    }
}

impl Holds {
    pub(super) fn contains(&self, key: &VolumeKey) -> bool {
        self.lock().contains_key(key)
    }

    /// Whether this entry's freeze is one of this helper's.
    pub(super) fn has(&self, entry: &Entry) -> bool {
        let key = VolumeKey::new(&entry.backend, &entry.volume);
        self.lock().get(&key).is_some_and(|hold| hold.id == entry.id)
    }

    /// How many holds a backend has.
    pub(super) fn count_of(&self, backend: &str) -> usize {
        self.lock().keys().filter(|key| key.backend == backend).count()
    }

    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    pub(super) fn insert(&self, key: VolumeKey, hold: Hold) {
        self.lock().insert(key, hold);
    }

    /// Takes a volume's hold out if it is the wanted one.
    pub(super) fn take(&self, key: &VolumeKey, wanted: impl Fn(&Hold) -> bool) -> Option<Hold> {
        let mut holds = self.lock();
        if holds.get(key).is_some_and(wanted) { holds.remove(key) } else { None }
    }

    /// Takes all of them out.
    pub(super) fn take_all(&self) -> Vec<(VolumeKey, Hold)> {
        self.lock().drain().collect()
    }

    /// Ends the holds of a call that mounted nothing, and therefore are not in the ledger.
    pub(super) fn release_empty(&self, backend: &str, call: &str) {
        self.lock().retain(|key, hold| key.backend != backend || hold.call != call || hold.root.is_some());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<VolumeKey, Hold>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
