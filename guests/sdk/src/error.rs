//! The error that every call of a backend may answer, and how it is made.
//!
//! It owns the constructors, the registered reasons and the translation of the host's errors. It
//! decides nothing about gRPC: the host turns codes into statuses. One constructor for each code,
//! because the code is what clients act on and must be chosen every time.

pub use crate::types::{Error, ErrorCode};

use crate::bindings::host::drivebay::host::{state, types as host};
use crate::words::words;

/// What a call of a backend returns.
pub type Result<T> = std::result::Result<T, Error>;

words! {
    /// The registered words that say more than the code. Clients and the host know them; a word of a
    /// backend's own goes into [`Error::reason`] as it is and ends in the log.
    pub enum Reason {
        /// Replication is off for the source.
        NotEnabled = "not-enabled",
        /// Only a forced promotion can work.
        ForceRequired = "force-required",
        /// The source is primary and would have to be demoted first.
        NotDemoted = "not-demoted",
        /// The other site does not answer.
        PeerUnreachable = "peer-unreachable",
        /// Work on the object is under way.
        Busy = "busy",
        /// The volume is published or staged.
        InUse = "in-use",
        /// Other objects depend on this one.
        HasDependents = "has-dependents",
        /// The existing object differs from what is asked for.
        Incompatible = "incompatible",
        /// The storage is full.
        NoSpace = "no-space",
        /// The size is smaller than it can be.
        TooSmall = "too-small",
        /// The object can only be read.
        ReadOnly = "read-only",
    }
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $code:ident,)+) => {
        $($(#[$doc])*
        pub fn $name(message: impl Into<String>) -> Self {
            Self { code: ErrorCode::$code, reason: None, message: message.into() }
        })+
    };
}

/// ```
/// use drivebay_sdk::{Error, ErrorCode, Reason};
///
/// let error = Error::failed_precondition("vol-7 is published on worker-1").with_reason(Reason::InUse);
/// assert_eq!(error.code, ErrorCode::FailedPrecondition);
/// assert_eq!(error.reason.as_deref(), Some("in-use"));
/// ```
impl Error {
    constructors! {
        /// The request can never work as it stands. Nothing was changed.
        invalid_argument => InvalidArgument,
        /// What the request names does not exist.
        not_found => NotFound,
        /// The name is taken by something else.
        already_exists => AlreadyExists,
        /// The state of the object forbids it now. Nothing was changed.
        failed_precondition => FailedPrecondition,
        /// No space, or a limit of the storage system is reached.
        resource_exhausted => ResourceExhausted,
        /// The size or offset cannot be provided.
        out_of_range => OutOfRange,
        /// Another operation on the object is under way; the client asks again.
        aborted => Aborted,
        /// The storage system rejects the secrets.
        unauthenticated => Unauthenticated,
        /// The secrets do not allow this.
        permission_denied => PermissionDenied,
        /// Not reachable, or not known whether it was done; the client repeats the same request.
        unavailable => Unavailable,
        /// This backend cannot do it at all.
        unimplemented => Unimplemented,
        /// It failed for good and nothing of it is left. Never use it when something may exist.
        internal => Internal,
    }

    /// The same error with a registered reason.
    #[must_use]
    pub fn with_reason(mut self, reason: Reason) -> Self {
        self.reason = Some(reason.as_str().to_owned());
        self
    }
}

/// What the host refused, as an answer to the client. Where the same code would mislead (a missing
/// file of the backend's own is not a volume that the client named wrongly), map it yourself.
impl From<host::Error> for Error {
    fn from(error: host::Error) -> Self {
        use host::ErrorCode as Host;
        let message = error.message;
        match error.code {
            Host::NotGranted | Host::NotAllowed => Self::failed_precondition(message),
            Host::NotFound => Self::not_found(message),
            Host::AlreadyExists => Self::already_exists(message),
            Host::Invalid => Self::invalid_argument(message),
            Host::Busy => Self::aborted(message).with_reason(Reason::Busy),
            Host::Unsupported => Self::unimplemented(message),
            Host::NoSpace => Self::resource_exhausted(message).with_reason(Reason::NoSpace),
            Host::ReadOnly => Self::failed_precondition(message).with_reason(Reason::ReadOnly),
            Host::Limit | Host::Failed => Self::unavailable(message),
        }
    }
}

/// What the state answered, as an answer to the client: nothing is known to have been changed, and
/// the same request may work the next time, except where the backend itself is at fault.
impl From<state::Error> for Error {
    fn from(error: state::Error) -> Self {
        match error {
            state::Error::Conflict(key) => {
                Self::aborted(format!("another call changed {key}")).with_reason(Reason::Busy)
            }
            state::Error::QuotaExceeded => Self::resource_exhausted("the backend's state quota is used up"),
            state::Error::Invalid(why) => Self::unavailable(format!("the state refused a commit: {why}")),
            state::Error::ReadOnly => {
                Self::failed_precondition("the state is read-only here").with_reason(Reason::ReadOnly)
            }
            state::Error::Unavailable(why) => Self::unavailable(format!("the state failed: {why}")),
        }
    }
}
