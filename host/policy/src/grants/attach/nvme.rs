//! Which namespaces may be reached by NVMe/TCP.

use serde::{Deserialize, Serialize};

use super::portal::{self, Portal};
use crate::Problems;

/// Where NVMe/TCP is served unless it is said otherwise.
const PORT: u16 = 4420;

/// NVMe/TCP portals, and the subsystems that may be reached there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmeTcpGrant {
    /// Where the portals are.
    pub portals: Vec<Portal>,
    /// A subsystem's name, or the beginning of names with `*` behind it.
    pub nqn: String,
}

pub(super) fn read(
    portals: &[String],
    nqn: Option<String>,
    place: &str,
    problems: &mut Problems,
) -> Option<NvmeTcpGrant> {
    let portals = portal::read(portals, PORT, place, problems);
    let nqn = nqn.filter(|name| is_subsystem(name));
    if nqn.is_none() {
        problems.add(format!(
            "{place}: nqn: write a subsystem's name, or its beginning with * behind it, for example \
             \"nqn.2026-11.example:*\""
        ));
    }
    Some(NvmeTcpGrant { portals, nqn: nqn? })
}

/// The letters of a subsystem's name that the host connects to, and a star at the end alone.
fn is_subsystem(name: &str) -> bool {
    let plain = name.strip_suffix('*').unwrap_or(name);
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b".:-_".contains(&byte);
    plain.starts_with("nqn.") && plain.len() <= 223 && plain.bytes().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsystems_are_names_and_a_star_stands_at_their_end() {
        for good in
            ["nqn.2026-11.example:array", "nqn.2026-11.example:*", "nqn.1992-08.com.example:sn.d6:subsystem.a_B"]
        {
            assert!(is_subsystem(good), "{good}");
        }
        for wrong in ["", "*", "nqn", "iqn.2026-11.example:a", "nqn.2026-11.example:*a", "nqn.x,traddr=1", "nqn.a b"] {
            assert!(!is_subsystem(wrong), "{wrong}");
        }
    }
}
