//! Why a request of a backend did not come to an answer. The words are for the host's log; the guest gets the
//! code that fits.

use std::error::Error;
use std::net::IpAddr;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// It was not allowed to go out.
    #[error("the request was refused: {}", .0.words())]
    Refused(DenyReason),
    /// Every address of the name is one that the grant does not open; one of them.
    #[error("the address {0} is not granted")]
    Address(IpAddr),
    /// The name has no address.
    #[error("the name cannot be resolved")]
    Name,
    /// The name was not resolved in time.
    #[error("the name was not resolved in time")]
    NameTime,
    /// Nobody listens there.
    #[error("the connection was refused")]
    ConnectionRefused,
    /// There is no way there.
    #[error("the address cannot be reached")]
    Unreachable,
    /// No connection in time.
    #[error("no connection in time")]
    ConnectTime,
    /// All connections that the backend may have are in use.
    #[error("no connection was free in time")]
    Busy,
    /// The certificate of the other side is not one that the grant trusts.
    #[error("the certificate is not trusted")]
    Certificate,
    /// The other side refused the handshake with this alert.
    #[error("the other side sent TLS alert {0}")]
    Alert(u8),
    /// The handshake failed otherwise.
    #[error("TLS failed")]
    Tls,
    /// No answer in time.
    #[error("no answer in time")]
    Time,
    /// The connection ended before the answer did.
    #[error("the connection ended before the answer did")]
    Cut,
    /// The answer was no HTTP.
    #[error("the answer was no HTTP")]
    Protocol,
    /// The answer was a change of protocols.
    #[error("the other side wanted to change protocols")]
    Upgrade,
    /// The body of the request is larger than allowed.
    #[error("the request's body is larger than allowed")]
    RequestSize,
    /// The body of the answer is larger than allowed.
    #[error("the answer's body is larger than allowed")]
    ResponseSize,
    /// The guest left its request's body unfinished.
    #[error("the request's body was left unfinished")]
    Unfinished,
    /// The host failed.
    #[error("the host failed")]
    Host,
}

/// Why a request may not go out: fixed words for metrics and the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DenyReason {
    /// Nothing is granted.
    Ungranted,
    /// It goes to an origin that is not granted.
    Origin,
    /// It goes to an address that is not granted.
    Address,
    /// It may change something, and the generation does not serve yet.
    Trial,
    /// It is not written as requests are: method, scheme, authority, path or headers.
    Form,
    /// The call has sent too many.
    Number,
}

impl DenyReason {
    /// The fixed word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ungranted => "no-grant",
            Self::Origin => "origin",
            Self::Address => "address",
            Self::Trial => "trial",
            Self::Form => "form",
            Self::Number => "number",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Ungranted => "no origin is granted to this backend",
            Self::Origin => "this origin is not granted",
            Self::Address => "this address is not granted",
            Self::Trial => "before it serves, a generation may only read and log in",
            Self::Form => "the request is not written as requests are",
            Self::Number => "the call has sent too many requests",
        }
    }
}

impl EgressError {
    /// A fixed word for metrics and the audit log.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Refused(why) => why.word(),
            Self::Address(_) => "address",
            Self::Name => "name",
            Self::NameTime => "name-time",
            Self::ConnectionRefused => "refused-connection",
            Self::Unreachable => "unreachable",
            Self::ConnectTime => "connect-time",
            Self::Busy => "busy",
            Self::Certificate => "certificate",
            Self::Alert(_) | Self::Tls => "tls",
            Self::Time => "time",
            Self::Cut => "cut",
            Self::Protocol => "protocol",
            Self::Upgrade => "upgrade",
            Self::RequestSize => "request-size",
            Self::ResponseSize => "response-size",
            Self::Unfinished => "unfinished",
            Self::Host => "host",
        }
    }
}

/// What an error of the transport means.
pub(super) fn broken(error: &hyper::Error) -> EgressError {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(own) = inner.downcast_ref::<EgressError>() {
            return own.clone();
        }
        cause = inner.source();
    }
    if error.is_parse() { EgressError::Protocol } else { EgressError::Cut }
}
