//! Networks in CIDR notation.
//!
//! Bits beyond the prefix are dropped, so equal networks have equal texts.

use std::net::IpAddr;

/// An IPv4 or IPv6 network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    address: IpAddr,
    prefix: u32,
}

impl Network {
    /// Reads `10.0.0.0/8`, `fd00::/8`, or one address alone. None: it is neither.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.trim().split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text.trim(), None),
        };
        let address: IpAddr = address.parse().ok()?;
        let width = width(address);
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let prefix = match prefix {
            None => width,
            Some(text) => text.parse().ok().filter(|prefix| *prefix <= width && digits(text))?,
        };
        Some(Self { address: masked(address, prefix), prefix })
    }

    /// Whether an address lies in it. One of the other family does not.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        width(address) == width(self.address) && masked(address, self.prefix) == self.address
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

const fn width(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => u32::BITS,
        IpAddr::V6(_) => u128::BITS,
    }
}

fn masked(address: IpAddr, prefix: u32) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(u32::BITS - prefix).unwrap_or(0);
            IpAddr::V4((u32::from(v4) & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(u128::BITS - prefix).unwrap_or(0);
            IpAddr::V6((u128::from(v6) & mask).into())
        }
    }
}

#[cfg(test)]
mod tests;
