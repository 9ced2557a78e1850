//! Which servers a grant names: ranges of addresses, and the addresses that a server's name stands for.
//!
//! A name is looked up once, by a program with a deadline, and what is connected to is the address that passed: the
//! name may mean something else a moment later. It must not know protocols.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;
use std::time::Duration;

use super::super::system::programs::{self, Rights};
use crate::error::{ErrorCode, NodeError};

/// How long a name may take to be looked up.
const LOOKUP_LIMIT: Duration = Duration::from_secs(10);
/// The longest name of the domain name system.
const LONGEST_NAME: usize = 253;

/// Addresses that share their first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    first: IpAddr,
    bits: u8,
}

/// The addresses that a grant names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Servers(Vec<Range>);

impl Servers {
    /// Understands what the operator wrote; the first text that is no range is the error.
    pub(crate) fn read(texts: &[String]) -> Result<Self, NodeError> {
        let ranges = texts.iter().map(|text| {
            text.parse().map_err(|()| {
                let message = format!("\"{text}\" is no range of addresses");
                NodeError::new(ErrorCode::Invalid, message)
            })
        });
        ranges.collect::<Result<_, _>>().map(Self)
    }

    /// Whether an address is among them.
    pub(crate) fn hold(&self, address: IpAddr) -> bool {
        self.0.iter().any(|range| range.holds(address))
    }
}

impl Range {
    fn holds(self, address: IpAddr) -> bool {
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                let differing = first.to_bits() ^ address.to_bits();
                differing.leading_zeros() >= u32::from(self.bits)
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                let differing = first.to_bits() ^ address.to_bits();
                differing.leading_zeros() >= u32::from(self.bits)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl FromStr for Range {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (first, bits) = text.split_once('/').map_or((text, None), |(first, bits)| (first, Some(bits)));
        let first: IpAddr = first.parse().map_err(|_| ())?;
        let width = if first.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(width), |bits| bits.parse().map_err(|_| ()))?;
        if bits > width { Err(()) } else { Ok(Self { first, bits }) }
    }
}

/// All addresses that a server's name or address stands for.
pub(super) fn addresses(server: &str) -> Result<Vec<IpAddr>, NodeError> {
    let literal = server.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = match literal {
        Some(inner) => inner.parse::<Ipv6Addr>().map(IpAddr::V6),
        None => server.parse(),
    };
    if let Ok(address) = address {
        return Ok(vec![address.to_canonical()]);
    }
    if !is_name(server) {
        let message = "a server is named by its address, or by a name of letters, digits, dots and hyphens";
        return Err(NodeError::new(ErrorCode::Invalid, message));
    }
    let outcome = programs::run_within("getent", &["ahosts", server], LOOKUP_LIMIT, Rights::None)?;
    let found = listed(outcome.output());
    if found.is_empty() {
        let message = format!("the server's name {server} has no address; look at the node's name servers");
        return Err(NodeError::new(ErrorCode::Failed, message));
    }
    Ok(found)
}

fn is_name(server: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (1..=LONGEST_NAME).contains(&server.len()) && server.bytes().all(known) && !server.starts_with(['-', '.'])
}

/// The addresses in what `getent ahosts` prints, each once and in its order.
fn listed(text: &str) -> Vec<IpAddr> {
    let mut seen = BTreeSet::new();
    let first = |line: &str| line.split_whitespace().next()?.parse::<IpAddr>().ok();
    let all = text.lines().filter_map(first).map(|address| address.to_canonical());
    all.filter(|address| seen.insert(*address)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(texts: &[&str]) -> Result<Servers, NodeError> {
        Servers::read(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn ranges_hold_what_shares_their_bits() {
        let cases = [
            ("10.20.0.0/16", "10.20.255.1", true),
            ("10.20.0.0/16", "10.21.0.1", false),
            ("10.20.0.7", "10.20.0.7", true),
            ("10.20.0.7", "10.20.0.6", false),
            ("0.0.0.0/0", "192.0.2.1", true),
            ("0.0.0.0/0", "fd00::1", false),
            ("fd12::/32", "fd12:0:ffff::1", true),
            ("fd12::/32", "fd12:1::1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
        ];
        for (range, address, held) in cases {
            assert_eq!(servers(&[range]).unwrap().hold(address.parse().unwrap()), held, "{range} {address}");
        }
        for wrong in ["", "10.0.0.0/33", "fd00::/129", "filer", "10.0.0.0/", "10.0.0.0/-1"] {
            assert!(servers(&["10.0.0.0/8", wrong]).is_err(), "{wrong}");
        }
        assert!(!Servers::default().hold("10.0.0.1".parse().unwrap()), "nothing is granted unless it is named");
    }

    #[test]
    fn what_getent_prints_is_a_list_of_addresses() {
        let text = "10.1.0.1        STREAM nfs.example\n10.1.0.1        DGRAM  \n10.1.0.1        RAW    \n\
                    fd00::5         STREAM \nnonsense\n";
        let found: Vec<IpAddr> = ["10.1.0.1", "fd00::5"].map(|it| it.parse().unwrap()).into();
        assert_eq!(listed(text), found);
        assert!(listed("").is_empty());
    }

    #[test]
    fn addresses_are_taken_as_they_are_and_names_are_looked_up() {
        assert_eq!(addresses("10.1.2.3").unwrap(), ["10.1.2.3".parse::<IpAddr>().unwrap()]);
        assert_eq!(addresses("[fd00::1]").unwrap(), ["fd00::1".parse::<IpAddr>().unwrap()]);
        assert!(addresses("localhost").unwrap().iter().all(IpAddr::is_loopback));
        for wrong in ["", "-x", "a b", "a/b", "a:b", "[10.0.0.1]", "a\nb", "..", &"x".repeat(254)] {
            assert_eq!(addresses(wrong).unwrap_err().code, ErrorCode::Invalid, "{wrong}");
        }
    }
}
