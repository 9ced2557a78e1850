//! What can go wrong with state: refusals and outages of a call, and reasons not to open a store.
//!
//! Owns the words only. The texts of [`StateError`] reach guests, so they name no path and no host
//! detail; those of [`OpenError`] reach the operator and say what to do next. Why two enums: a call
//! can never meet a locked or foreign file, and an opening can never meet a conflict.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// What a quota counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of keys and values together.
    Bytes,
    /// Number of keys.
    Keys,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes => "bytes",
            Self::Keys => "keys",
        })
    }
}

/// Why a call on a namespace failed. All but [`StateError::Unavailable`] changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// An expectation of the commit was not met.
    #[error("key {key:?} does not hold what the commit expects: read it again and decide anew")]
    Conflict {
        /// The first key, in the order of the commit, that held something else.
        key: String,
    },
    /// The commit would take the namespace past its quota.
    #[error(
        "the state quota does not allow it: {used} of {limit} {unit} are in use; delete what is \
         no longer needed or have the quota raised"
    )]
    QuotaExceeded {
        /// In use before the commit.
        used: u64,
        /// The quota.
        limit: u64,
        /// What both numbers count.
        unit: Unit,
    },
    /// Commits to the namespace that wait for the disk hold as much memory as they may.
    #[error("more than {limit} bytes of commits would wait for the disk at once: commit less, or repeat the call")]
    Busy {
        /// Most bytes that may wait.
        limit: u64,
    },
    /// One part of the request is larger than any namespace allows.
    #[error("{what} is larger than the limit of {limit}")]
    TooLarge {
        /// The part, in words with its unit.
        what: &'static str,
        /// The limit, in the unit that `what` names.
        limit: usize,
    },
    /// A key or the name of a namespace is not well-formed.
    #[error("{what} is not valid: {why}")]
    InvalidKey {
        /// The part, in words.
        what: &'static str,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// The namespace was opened read-only.
    #[error("this view of the state is read-only")]
    ReadOnly,
    /// The store failed. Whether a commit took place is not known: read before trying again.
    #[error("the state store is not available: {0}")]
    Unavailable(String),
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process, or another opening in this one, holds the file.
    #[error(
        "{} is in use: stop the other drivebay that uses it, or give this one a state directory \
         of its own", .path.display()
    )]
    Locked {
        /// The store's file.
        path: PathBuf,
    },
    /// The file's contents contradict themselves.
    #[error(
        "{} is damaged ({detail}): restore it from a backup, or move it away to start with an \
         empty state", .path.display()
    )]
    Corrupt {
        /// The store's file.
        path: PathBuf,
        /// What does not fit.
        detail: String,
    },
    /// The file is something else than a state store.
    #[error(
        "{} is not a state store of drivebay ({detail}): move it away, or choose another state \
         directory", .path.display()
    )]
    NotAStore {
        /// The store's file.
        path: PathBuf,
        /// What is missing.
        detail: String,
    },
    /// The file was written in a format that this version does not read.
    #[error(
        "{} has format {found}, this drivebay reads format {known}: run the version that wrote it",
        .path.display()
    )]
    OtherFormat {
        /// The store's file.
        path: PathBuf,
        /// The format in the file.
        found: u32,
        /// The format that this version reads and writes.
        known: u32,
    },
    /// The file system has no room for the store.
    #[error("{}: no space left: free some and start again", .path.display())]
    DiskFull {
        /// The store's file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}; check the path, its owner and its mode", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was being done, as a verb phrase.
        action: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

/// Whether the system said that there is no more room, rather than that the disk is broken.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}
