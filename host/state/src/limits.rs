//! How large things in a namespace may be, and how a quota is counted.
//!
//! Owns the numbers and the pure checks on names, keys and changes. It must not touch a store.
//! Why here and not in an engine: every engine must refuse the same requests, with the same words.

use super::{Change, StateError, Unit};
use drivebay_observe::drill::{self, Defence};

/// Longest key, in bytes of UTF-8.
pub const MAX_KEY_BYTES: usize = 1024;
/// Longest value, in bytes.
pub const MAX_VALUE_BYTES: usize = 1024 * 1024;
/// Most bytes of keys and values in one commit, expectations included: what a guest may make the
/// host hold in memory at once.
pub const MAX_COMMIT_BYTES: usize = 4 * 1024 * 1024;
/// Most steps in one commit, expectations included.
pub const MAX_COMMIT_CHANGES: usize = 1024;
/// Most entries in one page of a range.
pub const MAX_PAGE_ENTRIES: usize = 1000;
/// Most bytes of keys and values in one page, except that a page always has room for one entry.
pub const MAX_PAGE_BYTES: usize = 1024 * 1024;
/// Longest name of a namespace, in bytes of UTF-8.
pub const MAX_NAME_BYTES: usize = 255;

/// What a namespace holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of all keys and values; what the engine adds to them is not counted.
    pub bytes: u64,
    /// Number of keys.
    pub keys: u64,
}

/// What a namespace may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Most bytes of keys and values together.
    pub bytes: u64,
    /// Most keys: bounds what an engine spends per key beside the bytes counted above.
    pub keys: u64,
    /// Most bytes of commits that wait for the disk at once, with what each takes beside its keys and values.
    pub waiting: u64,
}

impl Usage {
    /// Counts one more entry of `size` bytes.
    pub(super) fn add(&mut self, size: usize) {
        self.bytes = self.bytes.saturating_add(bytes(size));
        self.keys = self.keys.saturating_add(1);
    }

    /// Counts one entry of `size` bytes less.
    pub(super) fn subtract(&mut self, size: usize) {
        self.bytes = self.bytes.saturating_sub(bytes(size));
        self.keys = self.keys.saturating_sub(1);
    }
}

impl Default for Quota {
    /// 64 MiB and a million keys: far above the records of any volume inventory seen, small enough
    /// that a faulty backend cannot fill a node's disk. 16 MiB may wait: three commits of the largest
    /// size, or every call of a busy backend with thousands of usual records.
    fn default() -> Self {
        Self { bytes: 64 * 1024 * 1024, keys: 1_000_000, waiting: 16 * 1024 * 1024 }
    }
}

impl Quota {
    /// Whether a commit may take the namespace from `before` to `after`. One that does not add to a
    /// measure is never refused for it, so a namespace above a lowered quota can still be emptied.
    pub(super) fn admit(&self, before: Usage, after: Usage) -> Result<(), StateError> {
        let measures =
            [(before.bytes, after.bytes, self.bytes, Unit::Bytes), (before.keys, after.keys, self.keys, Unit::Keys)];
        for (used, wanted, limit, unit) in measures {
            if wanted > limit && wanted > used {
                return Err(StateError::QuotaExceeded { used, limit, unit });
            }
        }
        Ok(())
    }
}

/// A length as counters keep it.
fn bytes(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// Bytes that an entry counts for.
pub(super) fn entry_size(key: &str, value: &[u8]) -> usize {
    key.len().saturating_add(value.len())
}

/// Bytes that a commit counts for.
pub(super) fn commit_size(changes: &[Change]) -> usize {
    changes
        .iter()
        .fold(0_usize, |sum, change| sum.saturating_add(change.key().len()).saturating_add(change.value_len()))
}

/// Refuses a key that no namespace can hold.
pub(super) fn check_key(key: &str) -> Result<(), StateError> {
    check_text(key, "a key", MAX_KEY_BYTES, "a key, in bytes,")
}

/// Refuses a name that no namespace can have.
pub(super) fn check_name(name: &str) -> Result<(), StateError> {
    let (what, measured) = ("a namespace's name", "a namespace's name, in bytes,");
    check_text(name, what, MAX_NAME_BYTES, measured)
}

/// Refuses a commit that is too large or has a malformed key, before anything of it is queued.
pub(super) fn check_commit(changes: &[Change]) -> Result<(), StateError> {
    if changes.len() > MAX_COMMIT_CHANGES {
        return Err(StateError::TooLarge { what: "the number of changes in a commit", limit: MAX_COMMIT_CHANGES });
    }
    for change in changes {
        check_key(change.key())?;
        if change.value_len() > MAX_VALUE_BYTES {
            return Err(StateError::TooLarge { what: "a value, in bytes,", limit: MAX_VALUE_BYTES });
        }
    }
    if commit_size(changes) > MAX_COMMIT_BYTES {
        return Err(StateError::TooLarge { what: "a commit, in bytes of keys and values,", limit: MAX_COMMIT_BYTES });
    }
    Ok(())
}

fn check_text(text: &str, what: &'static str, limit: usize, measured: &'static str) -> Result<(), StateError> {
    if text.is_empty() {
        let why = "it is empty";
        return Err(StateError::InvalidKey { what, why });
    }
    if text.contains('\0') {
        let why = "it contains a NUL character";
        return Err(StateError::InvalidKey { what, why });
    }
    if text.len() > limit && drill::stands(Defence::StateKeys) {
        let what = measured;
        return Err(StateError::TooLarge { what, limit });
    }
    Ok(())
}
