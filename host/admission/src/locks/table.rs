//! The table of held locks of one backend. Decides who may run; wakes those who wait for a step.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::{Access, Conflict, Guard, Holder, HolderKind, LockSet, ObjectKey};

/// Who uses one object now. Shared holders are counted; the newest of them gives the name.
#[derive(Debug)]
struct Held {
    access: Access,
    count: usize,
    operation: &'static str,
    kind: HolderKind,
}

/// The locks of one backend. Cloning gives another handle on the same table.
#[derive(Debug, Clone, Default)]
pub struct LockTable {
    held: Arc<Mutex<HashMap<ObjectKey, Held>>>,
    released: Arc<Notify>,
}

impl LockTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the whole set, or nothing.
    ///
    /// # Errors
    /// The first object in conflict, and what is pending for it.
    pub fn try_lock(&self, set: &LockSet, holder: &Holder) -> Result<Guard, Conflict> {
        let keys = self.grab(set, holder, &[])?;
        Ok(Guard::new(self.clone(), keys))
    }

    /// As `try_lock`, but where only background steps are in the way it waits for them, at most
    /// `patience`.
    ///
    /// # Errors
    /// As `try_lock`.
    pub async fn lock_after_steps(
        &self,
        set: &LockSet,
        holder: &Holder,
        patience: Duration,
    ) -> Result<Guard, Conflict> {
        let keys = self.grab_after_steps(set, holder, &[], patience).await?;
        Ok(Guard::new(self.clone(), keys))
    }

    /// As `grab`, but where only background steps are in the way it waits for them.
    pub(super) async fn grab_after_steps(
        &self,
        set: &LockSet,
        holder: &Holder,
        own: &[(ObjectKey, Access)],
        patience: Duration,
    ) -> Result<Vec<(ObjectKey, Access)>, Conflict> {
        let mut until = None;
        loop {
            // Listening begins before the attempt: a release between the two is not missed.
            let released = self.released.notified();
            match self.grab(set, holder, own) {
                Err(conflict) if conflict.kind == HolderKind::Step => {
                    let until = *until.get_or_insert_with(|| tokio::time::Instant::now() + patience);
                    if tokio::time::timeout_at(until, released).await.is_err() {
                        return Err(conflict);
                    }
                }
                answer => return answer,
            }
        }
    }

    /// Whether nothing is locked, for tests and for shutdown.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Takes the set; objects in `own` are held by the same call already and are passed over.
    pub(super) fn grab(
        &self,
        set: &LockSet,
        holder: &Holder,
        own: &[(ObjectKey, Access)],
    ) -> Result<Vec<(ObjectKey, Access)>, Conflict> {
        let mut held = self.lock();
        let wanted: Vec<_> = set.iter().filter(|(key, _)| !own.iter().any(|(mine, _)| mine == key)).cloned().collect();
        for (key, access) in &wanted {
            if let Some(other) = held.get(key)
                && (other.access == Access::Exclusive || *access == Access::Exclusive)
            {
                return Err(Conflict { object: key.clone(), pending: other.operation, kind: other.kind });
            }
        }
        for (key, access) in &wanted {
            let entry = held.entry(key.clone()).or_insert(Held {
                access: *access,
                count: 0,
                operation: holder.operation,
                kind: holder.kind,
            });
            entry.count += 1;
            // A shared lock that a call holds beside a step is the call's in the eyes of others.
            if holder.kind == HolderKind::Call {
                entry.operation = holder.operation;
                entry.kind = HolderKind::Call;
            }
        }
        drop(held);
        Ok(wanted)
    }

    pub(super) fn release(&self, keys: &[(ObjectKey, Access)]) {
        if keys.is_empty() {
            return;
        }
        let mut held = self.lock();
        for (key, _) in keys {
            if let Entry::Occupied(mut entry) = held.entry(key.clone()) {
                entry.get_mut().count -= 1;
                if entry.get().count == 0 {
                    entry.remove();
                }
            }
        }
        drop(held);
        self.released.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ObjectKey, Held>> {
        // The table is whole at every point where a panic could unwind, so poisoning says nothing.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
