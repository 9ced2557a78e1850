//! Which addresses are what, and which of them a grant opens. Pure: a table of blocks (IANA's registries of
//! special-purpose addresses, RFC 6890, and the addresses where clouds serve credentials) and one function.
//! An address that carries another one inside (a translator's, a tunnel's) is judged with it, because what is
//! behind the translator is what would be reached.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// What kind of address it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Anybody's, on the Internet.
    Public,
    /// This machine.
    Loopback,
    /// An organisation's own (RFC 1918, RFC 4193, site-local).
    Private,
    /// This wire only.
    LinkLocal,
    /// A provider's, between its customers and its translators (RFC 6598).
    Shared,
    /// Where a cloud tells a machine its credentials.
    Metadata,
    /// Translators and tunnels: another address is inside.
    Translated,
    /// For examples in texts.
    Documentation,
    /// For measurements of networks.
    Benchmarking,
    /// Assigned to protocols, not to machines.
    Protocol,
    /// No address of any one machine: unspecified, multicast, broadcast, not assigned.
    Never,
}

/// Addresses that share their first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Range {
    first: IpAddr,
    bits: u8,
}

/// Not a range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no range of addresses; write for example 10.20.0.0/16, fd12::/32 or 10.20.0.7")]
pub struct NoRange(String);

/// What a grant says to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// It may be reached.
    Open,
    /// It may not, and could be granted.
    Closed(Class),
    /// It may not, whatever the grant and the mode say.
    Barred(Class),
}

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8, class: Class) -> (Range, Class) {
    (Range { first: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits }, class)
}

const fn v6(groups: [u16; 8], bits: u8, class: Class) -> (Range, Class) {
    let (mut value, mut at) = (0_u128, 0);
    while at < groups.len() {
        #[expect(clippy::indexing_slicing, reason = "the loop ends with the array, and constants know no iterators")]
        let group = groups[at];
        value = value << 16 | group as u128;
        at += 1;
    }
    (Range { first: IpAddr::V6(Ipv6Addr::from_bits(value)), bits }, class)
}

/// The special blocks. Where several hold an address, the narrowest says what it is.
const BLOCKS: [(Range, Class); 49] = [
    v4(0, 0, 0, 0, 8, Class::Never),
    v4(10, 0, 0, 0, 8, Class::Private),
    v4(100, 64, 0, 0, 10, Class::Shared),
    v4(100, 100, 100, 200, 32, Class::Metadata),
    v4(127, 0, 0, 0, 8, Class::Loopback),
    v4(168, 63, 129, 16, 32, Class::Metadata),
    v4(169, 254, 0, 0, 16, Class::LinkLocal),
    v4(169, 254, 169, 254, 32, Class::Metadata),
    v4(169, 254, 169, 253, 32, Class::Metadata),
    v4(169, 254, 169, 123, 32, Class::Metadata),
    v4(169, 254, 170, 2, 32, Class::Metadata),
    v4(169, 254, 170, 23, 32, Class::Metadata),
    v4(172, 16, 0, 0, 12, Class::Private),
    v4(192, 0, 0, 0, 24, Class::Protocol),
    v4(192, 0, 0, 192, 32, Class::Metadata),
    v4(192, 0, 2, 0, 24, Class::Documentation),
    v4(192, 31, 196, 0, 24, Class::Protocol),
    v4(192, 52, 193, 0, 24, Class::Protocol),
    v4(192, 88, 99, 0, 24, Class::Translated),
    v4(192, 168, 0, 0, 16, Class::Private),
    v4(192, 175, 48, 0, 24, Class::Protocol),
    v4(198, 18, 0, 0, 15, Class::Benchmarking),
    v4(198, 51, 100, 0, 24, Class::Documentation),
    v4(203, 0, 113, 0, 24, Class::Documentation),
    v4(224, 0, 0, 0, 4, Class::Never),
    v4(240, 0, 0, 0, 4, Class::Never),
    // Only 2000::/3 is assigned to machines on the Internet; what is special elsewhere is named below.
    v6([0, 0, 0, 0, 0, 0, 0, 0], 3, Class::Never),
    v6([0x4000, 0, 0, 0, 0, 0, 0, 0], 2, Class::Never),
    v6([0x8000, 0, 0, 0, 0, 0, 0, 0], 1, Class::Never),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 96, Class::Translated),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 128, Class::Never),
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128, Class::Loopback),
    v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, Class::Translated),
    v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, Class::Translated),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, Class::Protocol),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, Class::Translated),
    v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48, Class::Benchmarking),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, Class::Documentation),
    v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, Class::Translated),
    v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48, Class::Protocol),
    v6([0x3ffe, 0, 0, 0, 0, 0, 0, 0], 16, Class::Protocol),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, Class::Documentation),
    v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16, Class::Protocol),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, Class::Private),
    v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128, Class::Metadata),
    v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128, Class::Metadata),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, Class::LinkLocal),
    v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, Class::Private),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, Class::Never),
];

impl Range {
    /// This address alone.
    pub const fn only(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { first: address, bits: width(address) }
    }

    /// Whether it holds the address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        width(address) == width(self.first) && prefix(address, self.bits) == prefix(self.first, self.bits)
    }

    /// Whether all of the other range is in it.
    pub fn covers(&self, other: &Self) -> bool {
        other.bits >= self.bits && self.contains(other.first)
    }

    /// Whether granting it can open anything: not where it lies in a block that is barred.
    pub fn is_grantable(&self) -> bool {
        let around = BLOCKS.iter().filter(|(block, _)| block.covers(self));
        around.max_by_key(|(block, _)| block.bits).is_none_or(|(_, class)| *class != Class::Never)
    }
}

const fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// The first bits of an address, the others cleared.
fn prefix(address: IpAddr, bits: u8) -> u128 {
    let (value, width) = match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32_u32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let dropped = width.saturating_sub(bits.into());
    value.checked_shr(dropped).unwrap_or(0).checked_shl(dropped).unwrap_or(0)
}

/// What an address is, and the block that says so; none: nothing does.
fn class_of(address: IpAddr) -> (Class, Option<&'static Range>) {
    let holding = BLOCKS.iter().filter(|(block, _)| block.contains(address));
    let narrowest = holding.max_by_key(|(block, _)| block.bits);
    narrowest.map_or((Class::Public, None), |(block, class)| (*class, Some(block)))
}

/// What an address is.
pub fn class(address: IpAddr) -> Class {
    class_of(address.to_canonical()).0
}

/// What these ranges say to an address; none: whatever is public is open.
pub fn judge(address: IpAddr, granted: &[Range]) -> Judgement {
    let address = address.to_canonical();
    for inner in inside(address).into_iter().flatten() {
        match judge(inner.into(), granted) {
            Judgement::Open => {}
            closed => return closed,
        }
    }
    match class_of(address) {
        (Class::Never, _) => Judgement::Barred(Class::Never),
        (class, block) => {
            let opens = |range: &Range| range.contains(address) && block.is_none_or(|block| block.covers(range));
            let is_open = granted.iter().any(opens) || (block.is_none() && granted.is_empty());
            match class {
                _ if is_open => Judgement::Open,
                Class::Metadata => Judgement::Barred(class),
                _ => Judgement::Closed(class),
            }
        }
    }
}

/// The addresses inside of a translator's or a tunnel's.
fn inside(address: IpAddr) -> [Option<Ipv4Addr>; 2] {
    let IpAddr::V6(address) = address else { return [None, None] };
    let groups = address.segments();
    let [.., high, low] = groups;
    let last = join(high, low);
    match groups {
        // IPv4-compatible, but for the two that are addresses of their own.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => [None, None],
        // Teredo: the server, and the client with its bits turned over.
        [0x2001, 0, server, below, ..] => [Some(join(server, below)), Some(join(!high, !low))],
        // 6to4.
        [0x2002, site, below, ..] => [Some(join(site, below)), None],
        [0, 0, 0, 0, 0, 0, ..]
        // NAT64: the well-known prefix, and the one for networks of their own (RFC 8215).
        | [0x64, 0xff9b, ..]
        // ISATAP, in anybody's network.
        | [_, _, _, _, 0 | 0x0200, 0x5efe, ..] => [Some(last), None],
        _ => [None, None],
    }
}

const fn join(high: u16, low: u16) -> Ipv4Addr {
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Ipv4Addr::new(a, b, c, d)
}

impl FromStr for Range {
    type Err = NoRange;

    /// Bits beyond the prefix must be zero: 10.1.2.3/8 is most likely a mistake.
    fn from_str(text: &str) -> Result<Self, NoRange> {
        let wrong = || NoRange(text.chars().take(80).collect());
        let Some((first, bits)) = text.split_once('/') else {
            return text.parse().map(Self::only).map_err(|_| wrong());
        };
        let first: IpAddr = first.parse().map_err(|_| wrong())?;
        if bits.is_empty() || !bits.bytes().all(|b| b.is_ascii_digit()) || first.to_canonical() != first {
            return Err(wrong());
        }
        let bits = bits.parse::<u8>().ok().filter(|bits| *bits <= width(first)).ok_or_else(wrong)?;
        let range = Self { first, bits };
        if prefix(first, bits) == prefix(first, width(first)) { Ok(range) } else { Err(wrong()) }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bits == width(self.first) { self.first.fmt(f) } else { write!(f, "{}/{}", self.first, self.bits) }
    }
}

impl TryFrom<String> for Range {
    type Error = NoRange;

    fn try_from(text: String) -> Result<Self, NoRange> {
        text.parse()
    }
}

impl From<Range> for String {
    fn from(range: Range) -> Self {
        range.to_string()
    }
}
