//! Portals of block protocols: what a grant opens, and which address each portal of a request becomes.
//!
//! Owns the forms that iSCSI and NVMe/TCP have in common. A name is looked up once; what is connected to is the address that a grant
//! names. It must not know what a protocol does with it.

use std::net::{IpAddr, SocketAddr};

use super::access::{Servers, addresses};
use crate::error::{ErrorCode, NodeError};
use crate::permissions::{IscsiGrant, NvmeTcpGrant, PortalRange};

const MOST_PORTALS: usize = 16;

/// What a protocol has of its own.
pub(super) struct Kind {
    /// Where it is served unless it is said otherwise.
    pub(super) port: u16,
    /// How an operator writes a grant of it.
    pub(super) example: &'static str,
}

/// Portals, and the targets that may be reached there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    portals: Vec<(Servers, u16)>,
    /// A target's name, or the beginning of names with `*` behind it.
    target: String,
}

impl Grant {
    /// Understands the operator's grant of iSCSI.
    pub(in crate::helper) fn iscsi(grant: IscsiGrant) -> Result<Self, NodeError> {
        Self::read(grant.portals, grant.iqn)
    }

    /// Understands the operator's grant of NVMe/TCP.
    pub(in crate::helper) fn nvme_tcp(grant: NvmeTcpGrant) -> Result<Self, NodeError> {
        Self::read(grant.portals, grant.nqn)
    }

    fn read(portals: Vec<PortalRange>, target: String) -> Result<Self, NodeError> {
        let portals = portals.into_iter().map(|portal| Ok((Servers::read(&[portal.range])?, portal.port)));
        Ok(Self { portals: portals.collect::<Result<_, NodeError>>()?, target })
    }

    fn opens(&self, target: &str) -> bool {
        match self.target.strip_suffix('*') {
            Some(beginning) => target.starts_with(beginning),
            None => target == self.target,
        }
    }

    fn holds(&self, address: IpAddr, port: u16) -> bool {
        self.portals.iter().any(|(servers, granted)| *granted == port && servers.hold(address))
    }
}

/// The portals with the addresses that grants name, each once and in their order.
pub(super) fn choose(
    kind: &Kind,
    target: &str,
    portals: &[String],
    grants: &[Grant],
) -> Result<Vec<SocketAddr>, NodeError> {
    if !(1..=MOST_PORTALS).contains(&portals.len()) {
        return Err(NodeError::new(ErrorCode::Invalid, "a target has 1 to 16 portals"));
    }
    let opening: Vec<&Grant> = grants.iter().filter(|grant| grant.opens(target)).collect();
    let mut found = Vec::new();
    for text in portals {
        let (host, port) = split(text, kind.port)?;
        let granted = |address: &IpAddr| opening.iter().any(|grant| grant.holds(*address, port));
        let addresses = if opening.is_empty() { Vec::new() } else { addresses(host)? };
        let address = addresses.into_iter().find(granted).ok_or_else(|| not_granted(kind, target, text))?;
        let portal = SocketAddr::new(address, port);
        if !found.contains(&portal) {
            found.push(portal);
        }
    }
    Ok(found)
}

fn not_granted(kind: &Kind, target: &str, portal: &str) -> NodeError {
    let message = format!("no grant opens {target} at {portal}; to allow it, grant attach = [{}]", kind.example);
    NodeError::new(ErrorCode::NotGranted, message)
}

fn split(text: &str, usual: u16) -> Result<(&str, u16), NodeError> {
    let wrong = || NodeError::new(ErrorCode::Invalid, "a portal is ADDRESS:PORT, an IPv6 address in brackets");
    let (host, port) = match text.find(']') {
        Some(end) => (text.get(..=end), text.get(end + 1..)),
        None => text.split_once(':').map_or((Some(text), None), |(host, port)| (Some(host), Some(port))),
    };
    let port = port.map(|port| port.strip_prefix(':').unwrap_or(port)).filter(|port| !port.is_empty());
    let port = port.map_or(Ok(usual), |port| port.parse().map_err(|_| wrong()))?;
    Ok((host.ok_or_else(wrong)?, port))
}
