//! Which disks may be reached by iSCSI.

use serde::{Deserialize, Serialize};

use super::portal::{self, Portal};
use crate::Problems;

/// Where iSCSI is served unless it is said otherwise.
const PORT: u16 = 3260;

/// iSCSI portals, and the targets that may be reached there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IscsiGrant {
    /// Where the portals are.
    pub portals: Vec<Portal>,
    /// A target's name, or the beginning of names with `*` behind it.
    pub iqn: String,
}

pub(super) fn read(
    portals: &[String],
    iqn: Option<String>,
    place: &str,
    problems: &mut Problems,
) -> Option<IscsiGrant> {
    let portals = portal::read(portals, PORT, place, problems);
    let iqn = iqn.filter(|name| is_target(name));
    if iqn.is_none() {
        problems.add(format!(
            "{place}: iqn: write a target's name, or its beginning with * behind it, for example \"iqn.2026-11.example:*\""
        ));
    }
    Some(IscsiGrant { portals, iqn: iqn? })
}

/// The letters of a target's name (RFC 3722), and a star at the end alone.
fn is_target(name: &str) -> bool {
    let plain = name.strip_suffix('*').unwrap_or(name);
    let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".:-".contains(&byte);
    ["iqn.", "eui.", "naa."].iter().any(|kind| plain.starts_with(kind))
        && plain.len() <= 223
        && plain.bytes().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_names_and_a_star_stands_at_their_end() {
        for good in ["iqn.2026-11.example:array", "iqn.2026-11.example:*", "naa.500a098184f1", "eui.02004567a425678d"] {
            assert!(is_target(good), "{good}");
        }
        for wrong in ["", "*", "iqn", "iqn.2026-11.example:*a", "iqn.2026-11.example:A", "iqn.2026-11.example:a b"] {
            assert!(!is_target(wrong), "{wrong}");
        }
    }
}
