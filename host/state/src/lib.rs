//! The backend's durable state: small records that a guest reads, pages through and changes
//! atomically.
//!
//! Owns the contract of a host's stores ([`Stores`]) and of a backend's ([`Store`]), the limits and quota of a part of it
//! ([`Namespace`]) and the embedded engine ([`EmbeddedStores`]). It must not know guests, wire types
//! or configuration: callers turn those into names, quotas and changes.
//! Why a trait in front of one engine: a replicated controller needs a store that several hosts
//! share, and nothing above this module may notice the difference.

mod embedded;
mod error;
mod limits;
mod namespace;
#[cfg(test)]
mod tests;

use std::fmt;
use std::pin::Pin;

pub use embedded::EmbeddedStores;
pub use error::{OpenError, StateError, Unit};
pub use limits::{
    MAX_COMMIT_BYTES, MAX_COMMIT_CHANGES, MAX_KEY_BYTES, MAX_NAME_BYTES, MAX_PAGE_BYTES, MAX_PAGE_ENTRIES,
    MAX_VALUE_BYTES, Quota, Usage,
};
pub use namespace::{Access, Namespace};

/// What a store answers: boxed, because a store is used as a trait object and may be remote.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StateError>> + Send + 'a>>;

/// One record: a key and the bytes under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// 1 to [`MAX_KEY_BYTES`] bytes, without NUL.
    pub key: String,
    /// At most [`MAX_VALUE_BYTES`] bytes; may be empty, which is not the same as absent.
    pub value: Vec<u8>,
}

/// One step of a commit. Steps take effect in the order in which they are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Stores `value` under `key`, replacing what was there.
    Put {
        /// The key to write.
        key: String,
        /// The whole new value.
        value: Vec<u8>,
    },
    /// Removes `key`; removing an absent key succeeds, so that a retry does.
    Delete {
        /// The key to remove.
        key: String,
    },
    /// Lets the commit take place only if `key` holds exactly `value`, or is absent for none.
    /// Steps listed earlier in the same commit count as done.
    Expect {
        /// The key to compare.
        key: String,
        /// The value that must be there; none: the key must be absent.
        value: Option<Vec<u8>>,
    },
}

impl Change {
    /// The key that the step is about.
    pub fn key(&self) -> &str {
        match self {
            Self::Put { key, .. } | Self::Delete { key } | Self::Expect { key, .. } => key,
        }
    }

    /// Bytes of value that the step carries.
    fn value_len(&self) -> usize {
        match self {
            Self::Put { value, .. } => value.len(),
            Self::Expect { value, .. } => value.as_ref().map_or(0, Vec::len),
            Self::Delete { .. } => 0,
        }
    }
}

/// Which entries a page may hold.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Only keys that begin with this; empty: every key.
    pub prefix: &'a str,
    /// Only keys after this one in byte order; it need not exist nor begin with the prefix.
    pub after: Option<&'a str>,
    /// At most so many entries, 1 to [`MAX_PAGE_ENTRIES`].
    pub limit: usize,
}

/// The stores of a host's backends, which share nothing: what one backend writes delays no other.
pub trait Stores: fmt::Debug + Send + Sync {
    /// 32 lower-case hex digits, drawn once for the host and stable ever after.
    fn id(&self) -> &str;

    /// The store of a backend; whoever asks meanwhile gets the same. Its name makes a file's: letters, digits, `-`, `_` and
    /// dots. Reads all of it the first time, so this blocks.
    ///
    /// # Errors
    /// When the store is damaged, or the system refuses.
    fn of(&self, backend: &str) -> Result<std::sync::Arc<dyn Store>, OpenError>;
}

/// A durable, ordered store of bytes of one backend, divided into namespaces that cannot see each other.
///
/// Callers go through [`Namespace`], which checks sizes and names before a store sees them. A store
/// enforces what only it can see: expectations and the quota, both inside the transaction.
pub trait Store: fmt::Debug + Send + Sync {
    /// 32 lower-case hex digits, drawn once when the store was made and stable ever after.
    fn store_id(&self) -> &str;

    /// The value under `key`, as of the last durable commit.
    fn get<'a>(&'a self, namespace: &'a str, key: &'a str) -> Answer<'a, Option<Vec<u8>>>;

    /// Entries in the byte order of their keys, all from one durable state. Stops at the page's
    /// limit or before [`MAX_PAGE_BYTES`], but holds at least one entry when there is one, so an
    /// empty page means that nothing is left.
    fn range<'a>(&'a self, namespace: &'a str, page: Page<'a>) -> Answer<'a, Vec<Entry>>;

    /// Applies all changes or none; durable when it answers. Once polled, dropping the future does
    /// not take the commit back: whether it happened is then unknown.
    fn commit<'a>(&'a self, namespace: &'a str, quota: Quota, changes: Vec<Change>) -> Answer<'a, ()>;

    /// What the namespace holds, as of the last durable commit.
    fn usage<'a>(&'a self, namespace: &'a str) -> Answer<'a, Usage>;

    /// Replaces everything in `to` by what `from` holds, in one durable step.
    fn copy<'a>(&'a self, from: &'a str, to: &'a str, quota: Quota) -> Answer<'a, ()>;

    /// Removes everything in the namespace, in one durable step.
    fn delete_all<'a>(&'a self, namespace: &'a str) -> Answer<'a, ()>;
}
