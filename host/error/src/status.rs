//! The only place that makes a gRPC status of a call. The code follows from what is known of the outcome,
//! because clients act on it: a code that they take for final makes them forget a volume that may
//! exist (`Outcome::Unknown` on a CSI call is therefore never INTERNAL or UNKNOWN; D5).

use tonic::{Code, Status};

use super::{CallError, NotStarted, Outcome, RefusalCode, Uncertainty};
use drivebay_contract::{Effect, InvalidKind, Method};
use drivebay_observe::text::tame;
use drivebay_sandbox::fault::FaultKind;

/// Longest message that is sent, in bytes: it travels in a header.
const MESSAGE: usize = 2048;

/// How an RPC's failures are read by its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// A CSI call, or an add-on call, that changes something.
    Changing,
    /// A call that only reads: nothing can have been left behind.
    Reading,
    /// Replication: unclassified failures are UNKNOWN.
    Replication,
}

/// The family of an RPC.
pub const fn family(method: Method) -> Family {
    match (method.family(), method.effect()) {
        (drivebay_contract::Family::Replication, _) => Family::Replication,
        (drivebay_contract::Family::Csi, Effect::Reads) => Family::Reading,
        (drivebay_contract::Family::Csi, Effect::Changes) => Family::Changing,
    }
}

/// The code of a failure, which follows from its outcome and from nothing else. Total: every outcome has one in every
/// family.
pub const fn code(family: Family, outcome: Outcome) -> Code {
    match outcome {
        Outcome::NotStarted(hindrance) => not_started(hindrance),
        Outcome::Finished(code) => refused(family, code),
        Outcome::Unknown(doubt) => unknown(family, doubt),
    }
}

const fn not_started(hindrance: NotStarted) -> Code {
    match hindrance {
        NotStarted::Invalid(InvalidKind::Argument) => Code::InvalidArgument,
        NotStarted::Invalid(InvalidKind::Range) => Code::OutOfRange,
        NotStarted::Invalid(InvalidKind::Unsupported) | NotStarted::Unsupported => Code::Unimplemented,
        NotStarted::Invalid(InvalidKind::Precondition) | NotStarted::Precondition => Code::FailedPrecondition,
        NotStarted::Busy => Code::Aborted,
        // Never RESOURCE_EXHAUSTED: the provisioner reads that as "no space" and reschedules.
        NotStarted::NotReady => Code::Unavailable,
        NotStarted::AlreadyExists => Code::AlreadyExists,
        NotStarted::NotFound => Code::NotFound,
    }
}

/// Replication has no INTERNAL: what fits no other code is UNKNOWN there.
const fn refused(family: Family, code: RefusalCode) -> Code {
    match code {
        RefusalCode::Internal if matches!(family, Family::Replication) => Code::Unknown,
        RefusalCode::InvalidArgument => Code::InvalidArgument,
        RefusalCode::NotFound => Code::NotFound,
        RefusalCode::AlreadyExists => Code::AlreadyExists,
        RefusalCode::FailedPrecondition => Code::FailedPrecondition,
        RefusalCode::ResourceExhausted => Code::ResourceExhausted,
        RefusalCode::OutOfRange => Code::OutOfRange,
        RefusalCode::Aborted => Code::Aborted,
        RefusalCode::Unauthenticated => Code::Unauthenticated,
        RefusalCode::PermissionDenied => Code::PermissionDenied,
        RefusalCode::Unavailable => Code::Unavailable,
        RefusalCode::Unimplemented => Code::Unimplemented,
        RefusalCode::Internal => Code::Internal,
    }
}

const fn unknown(family: Family, doubt: Uncertainty) -> Code {
    match (doubt, family) {
        (Uncertainty::Deadline, _)
        | (Uncertainty::Fault(FaultKind::Wall | FaultKind::Cpu), Family::Changing | Family::Reading) => {
            Code::DeadlineExceeded
        }
        // The helper comes back, a directory can be put back, other calls end: a read is worth repeating as well.
        (Uncertainty::Node | Uncertainty::Fault(FaultKind::Directory | FaultKind::Together), Family::Reading)
        | (_, Family::Changing) => Code::Unavailable,
        (_, Family::Reading) => Code::Internal,
        (_, Family::Replication) => Code::Unknown,
    }
}

/// The status for a client: the words of the failure without details of the host, and the call's
/// id, under which the log has the cause. Never empty (E-01), no details (E-02).
pub fn of(family: Family, error: &CallError, call: &str) -> Status {
    let words = tame(&error.to_string(), MESSAGE);
    let words = if words.trim().is_empty() { "the backend gave no reason".to_owned() } else { words };
    Status::new(code(family, error.outcome()), format!("{words} (call {call})"))
}

/// A code as gRPC writes it, for metrics.
pub const fn word(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// A method or service that does not exist.
pub fn unknown_method(path: &str) -> Status {
    Status::new(Code::Unimplemented, format!("there is no method {}", tame(path, 256)))
}

/// A backend that an operator names and the host does not have.
pub fn unknown_backend(name: &str, known: &[String]) -> Status {
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Status::new(Code::NotFound, format!("there is no backend \"{}\"; there are: {known}", tame(name, 256)))
}

/// An operator's request that breaks a rule.
pub fn malformed(words: impl Into<String>) -> Status {
    Status::new(Code::InvalidArgument, words)
}

/// An operator's request that cannot be carried out as things are.
pub fn not_now(words: impl Into<String>) -> Status {
    Status::new(Code::FailedPrecondition, words)
}

/// A request that is no gRPC call.
pub fn not_grpc(words: &'static str) -> Status {
    Status::new(Code::InvalidArgument, words)
}
