//! Why the array does not do what it was asked: a code that machines read and a sentence for humans.
//!
//! It owns the codes and the HTTP status of each; it decides nothing. A code of its own beside the
//! status, because one status (409) would have to mean six different things to a client.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

/// What a refusal means. The word on the wire is the name in kebab case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The request can never work as it stands.
    Invalid,
    /// User or password are wrong.
    BadCredentials,
    /// The token is not, or no longer, valid: log in again.
    TokenExpired,
    /// The user, or the host that reads or writes, may not do this.
    Forbidden,
    /// There is no such object.
    NotFound,
    /// The name belongs to an object that was made with other wishes.
    Taken,
    /// A host has the volume, or it is in a group.
    InUse,
    /// Other work on the object is under way.
    Busy,
    /// The object is replicated, or a copy that only its primary changes.
    Replicated,
    /// The host is shut out by a fence.
    Fenced,
    /// The pool, a group or a host takes no more.
    Full,
    /// The size or the offset cannot be had.
    Range,
    /// Replication is off for the object.
    NotEnabled,
    /// The other array is silent; only force can promote.
    ForceRequired,
    /// The object is primary here.
    NotDemoted,
    /// The object is not primary here.
    NotPrimary,
    /// The other array is alive and primary.
    PeerPrimary,
    /// The other array does not answer.
    PeerUnreachable,
    /// What was asked for is not known or not there yet.
    NotYet,
    /// The request waited longer than its sender does.
    TooLate,
    /// Something failed; whether the work was done is not known.
    Internal,
}

impl Code {
    /// The status that goes with the code.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Invalid => StatusCode::BAD_REQUEST,
            Self::BadCredentials | Self::TokenExpired => StatusCode::UNAUTHORIZED,
            Self::Forbidden | Self::Fenced => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Taken | Self::InUse | Self::Busy | Self::Replicated | Self::PeerPrimary => StatusCode::CONFLICT,
            Self::Full => StatusCode::INSUFFICIENT_STORAGE,
            Self::Range => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NotEnabled | Self::ForceRequired | Self::NotDemoted | Self::NotPrimary => {
                StatusCode::PRECONDITION_FAILED
            }
            Self::PeerUnreachable | Self::NotYet => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooLate => StatusCode::REQUEST_TIMEOUT,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A refusal, as it goes over the wire.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Refusal {
    /// What it means.
    pub code: Code,
    /// One sentence for a human, without secrets.
    pub message: String,
}

/// What every operation of the array answers.
pub(crate) type Result<T, E = Refusal> = std::result::Result<T, E>;

/// Makes a refusal.
pub(crate) fn refuse<T>(code: Code, message: impl Into<String>) -> Result<T> {
    Err(Refusal::new(code, message))
}

impl Refusal {
    /// A refusal with these words.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// There is no such object.
    pub(crate) fn no(kind: &str, id: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no {kind} {id:?}"))
    }

    /// Something failed that should not.
    pub(crate) fn internal(what: &str, error: impl std::fmt::Display) -> Self {
        Self::new(Code::Internal, format!("{what}: {error}"))
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::internal("the catalogue", error)
    }
}

impl From<serde_json::Error> for Refusal {
    fn from(error: serde_json::Error) -> Self {
        Self::internal("a record", error)
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull => Self::new(Code::Full, "the disk below the pool is full"),
            _ => Self::internal("the blocks", error),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.code.status(), Json(self)).into_response()
    }
}
