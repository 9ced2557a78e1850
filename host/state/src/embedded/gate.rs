//! The open database, shared by readers and the writer, and its absence after a failure.
//!
//! Owns the switch between open and closed. It must not open or repair; the writer does. Why a lock
//! around something that is already concurrent: redb stays failed after an I/O error until it is
//! closed, and closing needs every reader out of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use redb::Database;

use crate::StateError;
use crate::error::is_full;

/// The database and how it may be reached.
pub(super) struct Gate {
    condition: RwLock<Condition>,
    durable_transactions: AtomicU64,
}

enum Condition {
    Open(Box<Database>),
    /// With the reason, in words for guests.
    Closed(String),
}

impl Gate {
    pub(super) fn new(database: Database) -> Self {
        Self { condition: RwLock::new(Condition::Open(Box::new(database))), durable_transactions: AtomicU64::new(0) }
    }

    /// Runs `read` on the database; never waits for a repair, only for a swap of the pointer.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Database) -> Result<T, redb::Error>) -> Result<T, StateError> {
        let condition = self.condition.read().unwrap_or_else(PoisonError::into_inner);
        match &*condition {
            Condition::Open(database) => read(database).map_err(|error| {
                tracing::error!(%error, "the state store cannot be read");
                StateError::Unavailable(in_words(&error))
            }),
            Condition::Closed(why) => Err(StateError::Unavailable(why.clone())),
        }
    }

    /// Runs `write` on the database; an outer error is the store's, with the database as it is.
    pub(super) fn write<T>(
        &self,
        write: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Option<Result<T, redb::Error>> {
        let condition = self.condition.read().unwrap_or_else(PoisonError::into_inner);
        match &*condition {
            Condition::Open(database) => Some(write(database)),
            Condition::Closed(_) => None,
        }
    }

    /// Lets callers in to `database`.
    pub(super) fn open(&self, database: Database) {
        self.replace(Condition::Open(Box::new(database)));
    }

    /// Shuts callers out with `why`, then closes the database that was open, if any.
    pub(super) fn close(&self, why: String) {
        self.replace(Condition::Closed(why));
    }

    /// Why the database is closed; none: it is open.
    pub(super) fn closed(&self) -> Option<String> {
        let condition = self.condition.read().unwrap_or_else(PoisonError::into_inner);
        match &*condition {
            Condition::Open(_) => None,
            Condition::Closed(why) => Some(why.clone()),
        }
    }

    /// Notes one transaction that reached the disk.
    pub(super) fn count_durable(&self) {
        self.durable_transactions.fetch_add(1, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(super) fn durable_transactions(&self) -> u64 {
        self.durable_transactions.load(Ordering::Relaxed)
    }

    fn replace(&self, next: Condition) {
        let previous = {
            let mut condition = self.condition.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *condition, next)
        };
        // Outside the lock: closing writes to disk, and readers should hear the reason meanwhile.
        drop(previous);
    }
}

/// What a failure means to a caller, who cannot see the host.
pub(super) fn in_words(error: &redb::Error) -> String {
    if let redb::Error::Io(error) = error
        && is_full(error)
    {
        return "the host's disk is full; free some space there, then try again".to_owned();
    }
    format!("the host's disk or the state file failed ({error})")
}
