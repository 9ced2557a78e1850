//! Rules of network addresses: ranges in CIDR notation, of both families.
//!
//! Bits behind the prefix may be set: clients write a node's own address with the prefix of its
//! network. What a range means to a storage is the backend's to say.

use std::net::IpAddr;

use super::{Breach, Verdict, quoted};

/// An address and the length of its prefix.
pub(crate) fn range(field: &str, text: &str) -> Verdict {
    if text.is_empty() {
        return Err(Breach::missing(field));
    }
    if is_range(text) {
        return Ok(());
    }
    let problem = format!("is {}, which is no network in CIDR notation such as 192.0.2.0/24", quoted(text));
    Err(Breach::new(field, problem))
}

fn is_range(text: &str) -> bool {
    let Some((address, prefix)) = text.split_once('/') else { return false };
    let Ok(address) = address.parse::<IpAddr>() else { return false };
    let longest = if address.is_ipv4() { 32 } else { 128 };
    // As the address: no sign, and no zero before other digits, which some readers take for octal.
    let digits = prefix.bytes().all(|digit| digit.is_ascii_digit()) && (prefix.len() == 1 || !prefix.starts_with('0'));
    digits && prefix.parse::<u8>().is_ok_and(|prefix| prefix <= longest)
}
