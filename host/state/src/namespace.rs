//! One backend's share of a store: its name, its quota, and whether it may be changed.
//!
//! Owns the checks that need no store. It must not read or write by itself; everything goes on to
//! the [`Store`]. Why a handle: who holds it can reach this namespace and no other, so a guest's
//! keys never need a prefix that it could forge.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::limits::{check_commit, check_key, check_name};
use super::{Change, Entry, MAX_PAGE_ENTRIES, Page, Quota, StateError, Store, Usage};

/// Whether the holder of a namespace may change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads and commits.
    ReadWrite,
    /// Reads; every change answers [`StateError::ReadOnly`].
    ReadOnly,
}

/// A handle on one namespace of a store. Clones share the namespace.
#[derive(Debug, Clone)]
pub struct Namespace {
    store: Arc<dyn Store>,
    name: Arc<str>,
    quota: Quota,
    access: Access,
    refused: Arc<AtomicU64>,
}

impl Namespace {
    /// A handle on the namespace `name`, which exists as soon as something is committed to it.
    /// Names are 1 to [`super::MAX_NAME_BYTES`] bytes without NUL.
    pub fn new(store: Arc<dyn Store>, name: &str, quota: Quota) -> Result<Self, StateError> {
        check_name(name)?;
        Ok(Self { store, name: name.into(), quota, access: Access::ReadWrite, refused: Arc::default() })
    }

    /// The same namespace for a holder who must not change it.
    #[must_use]
    pub fn read_only(&self) -> Self {
        Self { access: Access::ReadOnly, refused: Arc::default(), ..self.clone() }
    }

    /// The namespace's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many changes this handle and its clones were refused because they must not change it.
    pub fn refused_changes(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// What the namespace may hold.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// Whether this handle may change the namespace.
    pub fn access(&self) -> Access {
        self.access
    }

    /// The value under `key`; none: the key is absent.
    pub async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StateError> {
        check_key(key)?;
        self.store.get(&self.name, key).await
    }

    /// Entries whose keys begin with `prefix` and come after `after`, in byte order. At most
    /// `limit` and at most [`MAX_PAGE_ENTRIES`] of them (0 asks for as many as a page holds), and
    /// at most [`super::MAX_PAGE_BYTES`]. An empty page says that there are no more.
    pub async fn range(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Entry>, StateError> {
        let limit = match usize::try_from(limit) {
            Ok(wanted @ 1..MAX_PAGE_ENTRIES) => wanted,
            _ => MAX_PAGE_ENTRIES,
        };
        let page = Page { prefix, after, limit };
        self.store.range(&self.name, page).await
    }

    /// Applies all changes in order, or none; durable when it returns.
    pub async fn commit(&self, changes: Vec<Change>) -> Result<(), StateError> {
        self.check_writable()?;
        check_commit(&changes)?;
        if changes.is_empty() {
            return Ok(());
        }
        self.store.commit(&self.name, self.quota, changes).await
    }

    /// What the namespace holds now.
    pub async fn used(&self) -> Result<Usage, StateError> {
        self.store.usage(&self.name).await
    }

    /// Replaces everything in `target` by what this namespace holds, in one durable step and within
    /// the target's quota. Both must lie in the same store.
    pub async fn copy_to(&self, target: &Self) -> Result<(), StateError> {
        target.check_writable()?;
        let what = "the target of a copy";
        if self.store.store_id() != target.store.store_id() {
            let why = "it lies in another store";
            return Err(StateError::InvalidKey { what, why });
        }
        if self.name == target.name {
            let why = "it is the source";
            return Err(StateError::InvalidKey { what, why });
        }
        self.store.copy(&self.name, &target.name, target.quota).await
    }

    /// Removes everything in the namespace, in one durable step.
    pub async fn delete_all(&self) -> Result<(), StateError> {
        self.check_writable()?;
        self.store.delete_all(&self.name).await
    }

    fn check_writable(&self) -> Result<(), StateError> {
        match self.access {
            Access::ReadWrite => Ok(()),
            Access::ReadOnly => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                Err(StateError::ReadOnly)
            }
        }
    }
}
