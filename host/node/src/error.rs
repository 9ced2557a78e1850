//! The one error of node work: a code that the host's interfaces share, and words.
//!
//! It must not carry mount options or the output of programs, which may hold what the operator
//! keeps secret; the words are written for the log and for the operator.

use std::fmt::Display;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Why the work was not done. Mirrors `error-code` of the host's WIT types, and adds [`Self::Gone`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorCode {
    /// The operator has not given the grant that this needs.
    NotGranted,
    /// The path lies outside of what was granted, or of the paths of the call under way.
    NotAllowed,
    /// There is no such thing.
    NotFound,
    /// It is there already, with other arguments.
    AlreadyExists,
    /// The arguments can never work.
    Invalid,
    /// In use.
    Busy,
    /// This host, file system or device cannot do it.
    Unsupported,
    /// No room left.
    NoSpace,
    /// The view is read-only.
    ReadOnly,
    /// A limit was reached, for example of time.
    Limit,
    /// The system refused it; the message says what it answered.
    Failed,
    /// The helper process is gone; whether the work was done is unknown until recovery.
    Gone,
}

/// A failed request: what was attempted and what the system answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct NodeError {
    /// What to do about it.
    pub code: ErrorCode,
    /// For the log and for the operator; free of secrets.
    pub message: String,
}

impl NodeError {
    /// An error in our own words.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The system's answer to an attempt, under the code that the answer stands for.
    pub(super) fn system(attempt: impl Display, errno: Errno) -> Self {
        let code = match errno {
            Errno::NOSPC | Errno::DQUOT => ErrorCode::NoSpace,
            Errno::BUSY => ErrorCode::Busy,
            Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS | Errno::NODEV => ErrorCode::Unsupported,
            _ => ErrorCode::Failed,
        };
        Self::new(code, format!("{attempt}: {errno}"))
    }

    /// As [`Self::system`], for errors of the standard library.
    pub(super) fn io(attempt: impl Display, error: &std::io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(errno) => Self::system(attempt, errno),
            None => Self::new(ErrorCode::Failed, format!("{attempt}: {error}")),
        }
    }

    /// Names the packages of a program that is not installed ([`ErrorCode::Unsupported`]); any other error stays as it is.
    pub(super) fn with_packages(self, packages: &str) -> Self {
        match self.code {
            ErrorCode::Unsupported => Self::new(self.code, format!("{self}; it is in the package {packages}")),
            _ => self,
        }
    }

    /// The helper ended before it answered.
    pub(super) fn gone(why: &str) -> Self {
        Self::new(
            ErrorCode::Gone,
            format!("the node helper is gone ({why}); what it was doing is settled when it is started again"),
        )
    }
}
