//! Where a request goes: scheme, host and port in the one spelling that is compared, resolved, shown to TLS and
//! written into the request. Pure. Whatever has two readings (a number that some resolvers take for an address,
//! user names, zones, percent signs) is no target.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// How it is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Through TLS.
    Https,
}

/// Who it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name, in lower case and without the dot at its end.
    Name(String),
    /// An address; one of IPv4 is never written as one of IPv6.
    Address(IpAddr),
}

/// An origin without patterns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// How it is spoken to.
    pub scheme: Scheme,
    /// Who it is.
    pub host: Host,
    /// Where it listens.
    pub port: u16,
}

/// The longest name (RFC 1035, 2.3.4), and the longest part of one.
const NAME: usize = 253;
const LABEL: usize = 63;

impl Scheme {
    /// From its name, in any case.
    pub const fn from_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("https") {
            Some(Self::Https)
        } else if name.eq_ignore_ascii_case("http") {
            Some(Self::Http)
        } else {
            None
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// Where it listens unless told otherwise.
    pub const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl Host {
    /// A name or an address as it stands in an authority, those of IPv6 in brackets.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Address(IpAddr::V6(address).to_canonical()));
        }
        if let Ok(address) = text.parse() {
            return Some(Self::Address(IpAddr::V4(address)));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        is_name(name).then(|| Self::Name(name.to_ascii_lowercase()))
    }
}

/// Whether it is a name of letters, digits, `-`, `_` and dots. One whose last part is a number would be an address to
/// some resolvers (`127.1`, `2130706433`, `0x7f.1`).
pub(super) fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= LABEL
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = |label: &str| {
        let hexadecimal = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
        label.bytes().all(|b| b.is_ascii_digit())
            || hexadecimal.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    name.len() <= NAME && name.split('.').all(is_label) && !is_number(last)
}

/// Host and port of an authority; the port is the scheme's where none is written.
pub(super) fn authority(scheme: Scheme, text: &str) -> Option<(&str, u16)> {
    let after_host = if text.starts_with('[') { text.find(']')? + 1 } else { text.find(':').unwrap_or(text.len()) };
    let (host, rest) = text.split_at_checked(after_host)?;
    if rest.is_empty() {
        return Some((host, scheme.port()));
    }
    let digits = rest.strip_prefix(':').filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
    let port = digits.parse().ok().filter(|port| *port > 0)?;
    Some((host, port))
}

impl Target {
    /// Where a request with this scheme and authority goes; none: nowhere that has one reading.
    pub fn parse(scheme: &str, text: &str) -> Option<Self> {
        let scheme = Scheme::from_name(scheme)?;
        let (host, port) = authority(scheme, text)?;
        Some(Self { scheme, host: Host::parse(host)?, port })
    }

    /// Host and port as the request says them: without the port that is the scheme's own.
    pub fn authority(&self) -> String {
        if self.port == self.scheme.port() { self.host.to_string() } else { format!("{}:{}", self.host, self.port) }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.scheme.name(), self.host, self.port)
    }
}
