//! Why a call failed, and what is known of its outcome. The one error type of the call path;
//! `status.rs` is the only place that turns it into a gRPC status.

pub mod status;
#[cfg(test)]
mod tests;

use drivebay_admission::Conflict;
use drivebay_contract::{BadAnswer, Interface, Invalid, InvalidKind};
use drivebay_sandbox::fault::{Fault, FaultKind};

/// A failed call.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The request breaks a rule.
    #[error("{0}")]
    Invalid(#[from] Invalid),
    /// The backend does not have what the RPC needs.
    #[error("{0}")]
    Unsupported(Unsupported),
    /// The object is in use by another call.
    #[error("an operation is already under way: {0}")]
    Busy(#[from] Conflict),
    /// The backend cannot take calls now.
    #[error("{0}")]
    NotReady(#[from] NotReady),
    /// The host knows the answer itself.
    #[error("{0}")]
    Decided(#[from] Decision),
    /// The backend says no.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// The guest did not return.
    #[error("{0}")]
    Fault(#[from] Fault),
    /// The guest returned what is no valid answer.
    #[error("the backend's answer breaks the contract: {0}")]
    BadAnswer(#[from] BadAnswer),
    /// The answer has a word in it that is also a secret of the request.
    #[error("the answer holds a secret of the request, so it is not shown")]
    Told,
    /// The helper for node work ended while it worked for the call.
    #[error("the process for node work ended while it worked on this call; repeat the call")]
    NodeLost,
    /// The client's time is over. The call itself goes on.
    #[error("the call is still under way; repeat it to learn its outcome")]
    Deadline,
}

/// What the backend lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// It does not export the interface.
    #[error("this backend does not implement it (it does not export {})", .0.name())]
    NotExported(Interface),
    /// This socket does not serve it.
    #[error("this socket does not serve it: the backend's {0} calls are on another socket")]
    OtherSocket(&'static str),
}

/// Why no call can start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// Nothing is loaded yet, or the last attempt failed for this reason.
    #[error("the backend is not loaded: {0}")]
    NotLoaded(String),
    /// Recovery after the start has not succeeded yet.
    #[error("the backend is still recovering from a restart: {0}")]
    Recovering(String),
    /// The operator wants no calls to be taken, or a rollback is under way.
    #[error("the backend takes no calls: {0}")]
    Closed(String),
    /// As many calls as allowed are under way.
    #[error("too many calls are under way; try again later")]
    Overloaded,
    /// The host is about to end.
    #[error("the host is shutting down")]
    ShuttingDown,
    /// The backend has spoiled a series of calls; so many seconds until one tries again.
    #[error(
        "the backend failed call after call (traps, timeouts or malformed answers), so calls are refused for now; \
         one call tries it again {}",
        soon(*.0)
    )]
    Broken(u64),
    /// Node work is not possible.
    #[error("node work is not possible now: {0}")]
    Node(String),
}

/// When, in words.
fn soon(seconds: u64) -> String {
    if seconds == 0 { "now".to_owned() } else { format!("in {seconds} s") }
}

/// What the host decided from its ledger (CSI, `NodePublishVolume`), or from what the backend told it
/// before the call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Decision {
    /// The path holds the volume in another way.
    #[error("{0}")]
    AlreadyExists(String),
    /// The object's state forbids it.
    #[error("{0}")]
    FailedPrecondition(String),
    /// There is no such object.
    #[error("{0}")]
    NotFound(String),
}

/// A backend's own error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What it means.
    pub code: RefusalCode,
    /// The registered reason, if any.
    pub reason: Option<String>,
    /// Its words, without secrets.
    pub message: String,
}

/// The codes a backend may mean (wit/types.wit, `error-code`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "documented in the contract")]
pub enum RefusalCode {
    InvalidArgument,
    NotFound,
    AlreadyExists,
    FailedPrecondition,
    ResourceExhausted,
    OutOfRange,
    Aborted,
    Unauthenticated,
    PermissionDenied,
    Unavailable,
    Unimplemented,
    Internal,
}

/// What is known of a failed call, with all that its status and its generation's record depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The backend never saw it.
    NotStarted(NotStarted),
    /// It ran to its end, and the end was a refusal.
    Finished(RefusalCode),
    /// Something may have been done.
    Unknown(Uncertainty),
}

/// Why a call was not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotStarted {
    /// The request breaks a rule.
    Invalid(InvalidKind),
    /// The backend does not have what the RPC needs, or this socket does not serve it.
    Unsupported,
    /// Its objects are in use.
    Busy,
    /// No call can start now.
    NotReady,
    /// What it asks for is there in another form.
    AlreadyExists,
    /// The object's state forbids it.
    Precondition,
    /// There is no such object.
    NotFound,
}

/// Why nobody knows what a call has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uncertainty {
    /// The guest did not return.
    Fault(FaultKind),
    /// Its answer breaks the contract.
    Answer,
    /// Its answer holds a secret of the request.
    Secret,
    /// The helper for node work ended meanwhile.
    Node,
    /// It is still under way.
    Deadline,
}

impl CallError {
    /// What is known of the call's outcome. Status codes and the breaker follow from this alone.
    pub const fn outcome(&self) -> Outcome {
        match self {
            Self::Invalid(invalid) => Outcome::NotStarted(NotStarted::Invalid(invalid.kind)),
            Self::Unsupported(Unsupported::NotExported(_) | Unsupported::OtherSocket(_)) => {
                Outcome::NotStarted(NotStarted::Unsupported)
            }
            Self::Busy(_) => Outcome::NotStarted(NotStarted::Busy),
            Self::NotReady(_) | Self::Fault(Fault { kind: FaultKind::Pool, .. }) => {
                Outcome::NotStarted(NotStarted::NotReady)
            }
            Self::Decided(Decision::AlreadyExists(_)) => Outcome::NotStarted(NotStarted::AlreadyExists),
            Self::Decided(Decision::FailedPrecondition(_)) => Outcome::NotStarted(NotStarted::Precondition),
            Self::Decided(Decision::NotFound(_)) => Outcome::NotStarted(NotStarted::NotFound),
            Self::Refused(refusal) => Outcome::Finished(refusal.code),
            Self::Fault(fault) => Outcome::Unknown(Uncertainty::Fault(fault.kind)),
            Self::BadAnswer(_) => Outcome::Unknown(Uncertainty::Answer),
            Self::Told => Outcome::Unknown(Uncertainty::Secret),
            Self::NodeLost => Outcome::Unknown(Uncertainty::Node),
            Self::Deadline => Outcome::Unknown(Uncertainty::Deadline),
        }
    }
}
