//! The backend's durable memory: keys in order, several changes at once or none.
//!
//! It owns the building of commits and the walking of ranges. It caches nothing: by default the
//! next call runs in a fresh instance, and other calls write at the same time; what must not have
//! changed meanwhile is said with `expect`.
//!
//! ```no_run
//! use drivebay_sdk::{Result, state};
//!
//! /// A number that no two calls ever get.
//! fn next_number() -> Result<u64> {
//!     state::transact(|| {
//!         let last = state::get("counter")?;
//!         let number = last.as_deref().and_then(|bytes| bytes.try_into().ok()).map_or(1, |bytes| {
//!             u64::from_be_bytes(bytes) + 1
//!         });
//!         let commit = state::Commit::new()
//!             .expect("counter", last)
//!             .put("counter", number.to_be_bytes());
//!         Ok((number, commit))
//!     })
//! }
//! ```

#[doc(inline)]
pub use crate::bindings::host::drivebay::host::state::{Change, Entry, Error, Expectation};
pub use raw::get;

use std::collections::VecDeque;

#[cfg(target_family = "wasm")]
use crate::bindings::host::drivebay::host::state as raw;
#[cfg(not(target_family = "wasm"))]
use crate::testing::state as raw;
use crate::{Answer, Result};

/// As often [`transact`] tries. Each conflict means that another call got through, so a call that
/// loses this often meets a crowd and does better to let its client come back.
const ATTEMPTS: u32 = 16;

/// As many entries as one crossing fetches; the contract's limit.
const CHUNK: u32 = 1_000;

/// Changes that take place together, in this order, or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "nothing is changed before it runs"]
pub struct Commit {
    changes: Vec<Change>,
}

impl Commit {
    /// Without changes.
    pub const fn new() -> Self {
        Self { changes: Vec::new() }
    }

    /// Writes a value.
    pub fn put(self, key: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.and(Change::Put(Entry { key: key.into(), value: value.into() }))
    }

    /// Removes a key; success when it is absent.
    pub fn delete(self, key: impl Into<String>) -> Self {
        self.and(Change::Delete(key.into()))
    }

    /// Goes on only if the key still holds what [`get`] returned: this value, or nothing.
    pub fn expect(self, key: impl Into<String>, value: Option<Vec<u8>>) -> Self {
        self.and(Change::Expect(Expectation { key: key.into(), value }))
    }

    /// Goes on only if the key is absent.
    pub fn expect_absent(self, key: impl Into<String>) -> Self {
        self.expect(key, None)
    }

    /// The changes in their order.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Makes the changes; durable when it returns. `Conflict`: an expectation was not met.
    pub fn run(&self) -> std::result::Result<(), Error> {
        if self.changes.is_empty() {
            return Ok(());
        }
        raw::commit(&self.changes)
    }

    fn and(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }
}

/// Decides on fresh data until the commit goes through: `attempt` reads, and returns its result
/// with the commit that makes it true. It must change nothing else, as it may run several times.
/// `aborted`: others were faster every time. A result that clients cannot be told is an error, and nothing is changed
/// ([`Answer`]).
pub fn transact<T: Answer>(attempt: impl FnMut() -> Result<(T, Commit)>) -> Result<T> {
    transact_on(Commit::run, attempt)
}

fn transact_on<T: Answer>(
    mut run: impl FnMut(&Commit) -> std::result::Result<(), Error>,
    mut attempt: impl FnMut() -> Result<(T, Commit)>,
) -> Result<T> {
    let mut left = ATTEMPTS;
    loop {
        let (result, commit) = attempt()?;
        result.check()?;
        left -= 1;
        match run(&commit) {
            Ok(()) => return Ok(result),
            Err(Error::Conflict(_)) if left > 0 => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// How a walk gets its next entries: prefix, the key to begin after, at most so many.
type Fetch = fn(&str, Option<&str>, u32) -> std::result::Result<Vec<Entry>, Error>;

/// All entries whose keys begin with `prefix`, in the order of their bytes, fetched as needed.
pub fn range(prefix: &str) -> Range {
    Range { fetch: raw::range, prefix: prefix.to_owned(), after: None, fetched: VecDeque::new(), ended: false }
}

/// As [`range`], beginning after a key.
pub fn range_after(prefix: &str, key: &str) -> Range {
    Range { after: Some(key.to_owned()), ..range(prefix) }
}

/// Walks over entries. After an error it ends.
#[derive(Clone, Debug)]
pub struct Range {
    fetch: Fetch,
    prefix: String,
    after: Option<String>,
    fetched: VecDeque<Entry>,
    ended: bool,
}

impl Iterator for Range {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.fetched.is_empty() && !self.ended {
            match (self.fetch)(&self.prefix, self.after.as_deref(), CHUNK) {
                Ok(entries) => self.fetched = entries.into(),
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error.into()));
                }
            }
        }
        let entry = self.fetched.pop_front();
        match &entry {
            Some(entry) if self.fetched.is_empty() => self.after = Some(entry.key.clone()),
            Some(_) => {}
            None => self.ended = true,
        }
        entry.map(Ok)
    }
}

#[cfg(test)]
mod tests;
