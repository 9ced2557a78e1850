//! What the array's refusals mean to clients.
//!
//! It owns the choice of the code. What is not known is `unavailable`: the client repeats the same
//! request, and finds by its name what was done.

use drivebay_sdk::{Error, Reason, Result};

use crate::array::{Answer, Failure, Refusal};

/// An answer of the array as an answer to the client.
pub(crate) fn answered<T>(answer: Answer<T>) -> Result<T> {
    answer.map_err(Error::from)
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Own(error) => error,
            Failure::NotSent(why) => Self::unavailable(format!("the array cannot be reached: {why}")),
            Failure::Unknown(why) => Self::unavailable(format!("not known whether the array did it: {why}")),
            Failure::Refused(refusal) => of(refusal),
        }
    }
}

fn of(refusal: Refusal) -> Error {
    let Refusal { code, message } = refusal;
    match code.as_str() {
        "invalid" => Error::invalid_argument(message),
        "bad-credentials" => Error::unauthenticated("the array rejects the secrets"),
        "token-expired" => {
            Error::unauthenticated("the array wants a login, and this call brings no secrets and nobody has logged in")
        }
        "forbidden" => Error::permission_denied(message),
        "not-found" => Error::not_found(message),
        "taken" => Error::already_exists(message).with_reason(Reason::Incompatible),
        "in-use" => Error::failed_precondition(message).with_reason(Reason::InUse),
        "busy" | "peer-primary" => Error::aborted(message).with_reason(Reason::Busy),
        "replicated" | "fenced" | "not-primary" => Error::failed_precondition(message),
        "full" => Error::resource_exhausted(message).with_reason(Reason::NoSpace),
        "range" => Error::out_of_range(message),
        "not-enabled" => Error::failed_precondition(message).with_reason(Reason::NotEnabled),
        "force-required" => Error::failed_precondition(message).with_reason(Reason::ForceRequired),
        "not-demoted" => Error::failed_precondition(message).with_reason(Reason::NotDemoted),
        "peer-unreachable" => Error::unavailable(message).with_reason(Reason::PeerUnreachable),
        // `not-yet`, `too-late`, and what later releases of the array may say.
        _ => Error::unavailable(message),
    }
}

/// There is no such volume.
pub(crate) fn no_volume(id: &str) -> Error {
    Error::not_found(format!("there is no volume {id:?}"))
}

/// There is no such snapshot.
pub(crate) fn no_snapshot(id: &str) -> Error {
    Error::not_found(format!("there is no snapshot {id:?}"))
}
