//! What an operator may grant: origins, and what belongs to them. Plain data with its reading and matching; pure,
//! so that the configuration, `check` and the fuzzer use the very code that decides.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::address::Range;
use super::target::{Host, Scheme, Target, authority, is_name};

/// An origin that requests may go to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Grant {
    /// Where to.
    pub origin: Origin,
    /// The addresses that its name may have; none: the public ones.
    pub addresses: Vec<Range>,
    /// Paths that may be used with any method before the generation serves.
    pub login: Vec<String>,
    /// Certificates that vouch for the other side; none: the system's.
    pub ca: Option<PathBuf>,
    /// What the host shows the other side.
    pub identity: Option<Identity>,
}

/// A certificate with its key, each in a file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// The certificate, and those between it and the other side's anchor.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// What becomes of requests that are not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum Mode {
    /// They are refused.
    #[default]
    Enforce,
    /// They are let through, and it is said.
    Report,
}

/// Scheme, host and port; the host's first part may be a star.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Origin {
    scheme: Scheme,
    host: Pattern,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Pattern {
    Exactly(Host),
    /// One more label before this name.
    Below(String),
}

/// Not an origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is no origin: write http:// or https://, a name (the first part may be *, with two parts or more after it) \
     or an address, and perhaps a port, for example https://array.example:8443"
)]
pub struct NoOrigin(String);

impl Grant {
    /// The origin alone.
    pub const fn of(origin: Origin) -> Self {
        Self { origin, addresses: Vec::new(), login: Vec::new(), ca: None, identity: None }
    }

    /// The addresses that it opens: an address as origin is a grant of that address.
    pub fn ranges(&self) -> Vec<Range> {
        match &self.origin.host {
            Pattern::Exactly(Host::Address(address)) => vec![Range::only(*address)],
            Pattern::Exactly(Host::Name(_)) | Pattern::Below(_) => self.addresses.clone(),
        }
    }
}

impl Origin {
    /// Whether a request to this target is one to this origin.
    pub fn matches(&self, target: &Target) -> bool {
        let is_host = match (&self.host, &target.host) {
            (Pattern::Exactly(mine), host) => mine == host,
            (Pattern::Below(domain), Host::Name(name)) => {
                // One label and no more, as in certificates.
                name.split_once('.').is_some_and(|(_, rest)| rest == domain)
            }
            (Pattern::Below(_), Host::Address(_)) => false,
        };
        is_host && self.scheme == target.scheme && self.port == target.port
    }

    /// Whether whatever matches the other one matches this one.
    pub fn covers(&self, other: &Self) -> bool {
        match &other.host {
            Pattern::Exactly(host) => {
                self.matches(&Target { scheme: other.scheme, host: host.clone(), port: other.port })
            }
            Pattern::Below(_) => self == other,
        }
    }

    /// How it is spoken to.
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Whether it is an address, which needs no range beside it.
    pub const fn is_address(&self) -> bool {
        matches!(self.host, Pattern::Exactly(Host::Address(_)))
    }
}

impl FromStr for Origin {
    type Err = NoOrigin;

    fn from_str(text: &str) -> Result<Self, NoOrigin> {
        read(text).ok_or_else(|| NoOrigin(text.chars().take(120).collect()))
    }
}

fn read(text: &str) -> Option<Origin> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = Scheme::from_name(scheme)?;
    let (host, port) = authority(scheme, rest.strip_suffix('/').unwrap_or(rest))?;
    let host = match host.strip_prefix("*.") {
        None => Pattern::Exactly(Host::parse(host)?),
        Some(domain) if is_name(domain) && domain.contains('.') => Pattern::Below(domain.to_ascii_lowercase()),
        Some(_) => return None,
    };
    Some(Origin { scheme, host, port })
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Pattern::Exactly(host) => write!(f, "{}://{host}", self.scheme.name())?,
            Pattern::Below(domain) => write!(f, "{}://*.{domain}", self.scheme.name())?,
        }
        if self.port == self.scheme.port() { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

impl TryFrom<String> for Origin {
    type Error = NoOrigin;

    fn try_from(text: String) -> Result<Self, NoOrigin> {
        text.parse()
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> Self {
        origin.to_string()
    }
}
