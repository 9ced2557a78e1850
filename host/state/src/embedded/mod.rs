//! The embedded engine: one redb file per backend, one writer thread each, readers on the caller's thread.
//!
//! Owns the files from opening to closing. It must not check sizes or names, which
//! [`super::Namespace`] has done before. Why readers do not go through the writer: they see the
//! last durable commit without waiting for the next.

mod apply;
mod backing;
mod copy;
mod fair_queue;
mod file;
mod gate;
mod layout;
mod open;
mod queue;
mod read;
mod shared;
mod split;
mod stores;
mod usage;
mod work;
mod writer;

use std::fmt;
use std::sync::Arc;

pub(super) use self::backing::Backing;
use self::gate::Gate;
use self::layout::FORMAT;
use self::open::Opened;
use self::queue::Queue;
pub use self::stores::EmbeddedStores;
use self::stores::Kept;
use self::work::Work;
use super::{Answer, Change, Entry, OpenError, Page, Quota, StateError, Store, Usage};

#[cfg(test)]
pub(super) use self::layout::{META, ONE_FILE, USAGE, copies_table, entries_table};

/// A store in one file. Dropping it finishes what is queued and closes the file.
pub(super) struct EmbeddedStore {
    id: String,
    gate: Arc<Gate>,
    queue: Queue,
    /// What is let go of when the file is closed, and so the last.
    _kept: Option<Kept>,
}

impl EmbeddedStore {
    /// Commits to disk so far: less than the number of commits answered, by what grouping saved.
    #[cfg(test)]
    pub(super) fn durable_transactions(&self) -> u64 {
        self.gate.durable_transactions()
    }

    /// Opens what the medium holds, which must have been initialised. Reads all of it to compare it with its checksums,
    /// so this blocks, for about a second per GiB from a warm cache.
    fn start(backing: &Backing, kept: Option<Kept>) -> Result<Self, OpenError> {
        let Opened { database, id, .. } = open::open(backing, &[FORMAT])?;
        let gate = Arc::new(Gate::new(database));
        let queue = Queue::start(Arc::clone(&gate), backing.clone(), &id).map_err(|source| {
            let path = backing.path().to_owned();
            let action = "start the writer's thread";
            OpenError::Io { path, action, source }
        })?;
        Ok(Self { id, gate, queue, _kept: kept })
    }

    /// A new store on an empty medium that a test watches or breaks.
    #[cfg(test)]
    pub(super) fn create_on(backing: &Backing) -> Result<Self, OpenError> {
        let id = file::draw_id().map_err(|source| OpenError::Io {
            path: backing.path().to_owned(),
            action: "draw the store's id",
            source,
        })?;
        open::initialise(backing, &id)?;
        Self::start(backing, None)
    }

    /// The store that such a medium holds.
    #[cfg(test)]
    pub(super) fn open_on(backing: &Backing) -> Result<Self, OpenError> {
        Self::start(backing, None)
    }

    /// Reads on the caller's thread, and has the writer look after the file when that fails.
    fn read<T>(&self, read: impl FnOnce(&redb::Database) -> Result<T, redb::Error>) -> Result<T, StateError> {
        self.gate.read(read).inspect_err(|_| self.queue.recover())
    }
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedStore").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Store for EmbeddedStore {
    fn store_id(&self) -> &str {
        &self.id
    }

    fn get<'a>(&'a self, namespace: &'a str, key: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        Box::pin(async move { self.read(|database| read::get(database, namespace, key)) })
    }

    fn range<'a>(&'a self, namespace: &'a str, page: Page<'a>) -> Answer<'a, Vec<Entry>> {
        Box::pin(async move { self.read(|database| read::range(database, namespace, page)) })
    }

    fn commit<'a>(&'a self, namespace: &'a str, quota: Quota, changes: Vec<Change>) -> Answer<'a, ()> {
        Box::pin(self.queue.submit(Work::Commit { namespace: namespace.to_owned(), quota, changes }))
    }

    fn usage<'a>(&'a self, namespace: &'a str) -> Answer<'a, Usage> {
        Box::pin(async move { self.read(|database| read::usage(database, namespace)) })
    }

    fn copy<'a>(&'a self, from: &'a str, to: &'a str, quota: Quota) -> Answer<'a, ()> {
        Box::pin(self.queue.submit(Work::Copy { from: from.to_owned(), to: to.to_owned(), quota }))
    }

    fn delete_all<'a>(&'a self, namespace: &'a str) -> Answer<'a, ()> {
        Box::pin(self.queue.submit(Work::DeleteAll { namespace: namespace.to_owned() }))
    }
}
