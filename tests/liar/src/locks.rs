//! Which calls are under way on which object. A second one that changes the same object is refused, not
//! queued: a client must never wait behind another client's call.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What a call changes: a kind of object and its id or name.
pub(crate) type Key = (&'static str, String);

type Table = Arc<Mutex<BTreeMap<(usize, Key), Pending>>>;

/// The objects that calls under way change, by site.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locks(Table);

#[derive(Clone, Copy, Debug)]
struct Pending {
    rpc: &'static str,
    refused: usize,
}

/// Why a call must not run now.
#[derive(Clone, Debug)]
pub(crate) struct Conflict {
    pub(crate) key: Key,
    pub(crate) pending: &'static str,
    /// How many calls this pending one has kept out, this one included.
    pub(crate) refused: usize,
}

/// A call's hold on its objects.
#[derive(Debug)]
pub(crate) struct Held {
    table: Table,
    site: usize,
    keys: Vec<Key>,
}

impl Locks {
    /// How many objects calls of this kind hold at present.
    pub(crate) fn held_by(&self, rpc: &str) -> usize {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.values().filter(|pending| pending.rpc == rpc).count()
    }

    /// Takes all keys or none.
    pub(crate) fn take(&self, site: usize, keys: Vec<Key>, rpc: &'static str) -> Result<Held, Conflict> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for key in &keys {
            if let Some(pending) = table.get_mut(&(site, key.clone())) {
                pending.refused += 1;
                return Err(Conflict { key: key.clone(), pending: pending.rpc, refused: pending.refused });
            }
        }
        table.extend(keys.iter().map(|key| ((site, key.clone()), Pending { rpc, refused: 0 })));
        drop(table);
        Ok(Held { table: Arc::clone(&self.0), site, keys })
    }
}

impl Held {
    /// Whether anything is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The names of the objects.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.keys.iter().map(|(_, name)| name.clone())
    }

    /// Leaves the locks behind, as a driver does that forgets calls whose caller went away.
    pub(crate) fn forget(&mut self) {
        self.keys.clear();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        for key in self.keys.drain(..) {
            table.remove(&(self.site, key));
        }
    }
}
