//! What a request and a grant for iSCSI say: targets, disks, secrets. Pure, but for looking names up.

use std::net::SocketAddr;

use super::super::portals::{Grant, Kind, choose};
use super::identity;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Chap, IscsiTarget, Login};

/// How its portals and targets are written.
const KIND: Kind = Kind { port: 3260, example: "{ protocol = \"iscsi\", portals = [...], iqn = \"...\" }" };
/// The highest number in the form that all arrays and kernels write alike.
const HIGHEST_LUN: u16 = 255;
/// Bytes of the longest target's name (RFC 3720), and of the longest name and secret that the program reads.
const LONGEST_NAME: usize = 223;
const LONGEST_SECRET: usize = 255;

/// The portals with the addresses that grants name, each once and in their order.
pub(in crate::helper) fn portals(
    target: &IscsiTarget,
    identity: &str,
    grants: &[Grant],
) -> Result<Vec<SocketAddr>, NodeError> {
    check(target, identity)?;
    choose(&KIND, &target.iqn, &target.portals, grants)
}

fn check(target: &IscsiTarget, identity: &str) -> Result<(), NodeError> {
    let invalid = |message: &str| Err(NodeError::new(ErrorCode::Invalid, message.to_owned()));
    if !is_target(&target.iqn) {
        return invalid(
            "a target's name begins with iqn., eui. or naa. and has small letters, digits, dots, colons and hyphens",
        );
    }
    if target.lun > HIGHEST_LUN {
        return invalid("disks with numbers over 255 are not connected");
    }
    if !identity::is_name(identity) {
        return invalid(
            "a disk's identity is naa. or eui. with 16 to 32 small hexadecimal digits, or t10. with its words",
        );
    }
    match &target.chap {
        Some(Chap { node, target }) if !(is_login(node) && target.as_ref().is_none_or(is_login)) => {
            invalid("a name or secret of CHAP has 1 to 255 visible ASCII characters and no space")
        }
        _ => Ok(()),
    }
}

fn is_target(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".:-".contains(&byte);
    let kind = ["iqn.", "eui.", "naa."].iter().any(|kind| name.starts_with(kind));
    kind && name.len() <= LONGEST_NAME && name.bytes().all(known)
}

/// What a line of the program's record can hold.
fn is_login(login: &Login) -> bool {
    let fits =
        |word: &str| (1..=LONGEST_SECRET).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_graphic());
    fits(&login.user) && fits(login.secret.words())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permissions::{IscsiGrant, PortalRange};
    use crate::protocol::Secret;

    const IDENTITY: &str = "naa.6001405d1eba00000000000000000007";

    fn grant(range: &str, port: u16, iqn: &str) -> Grant {
        let portals = vec![PortalRange { range: range.to_owned(), port }];
        Grant::iscsi(IscsiGrant { portals, iqn: iqn.to_owned() }).unwrap()
    }

    fn target(portals: &[&str], iqn: &str) -> IscsiTarget {
        let portals = portals.iter().map(|portal| (*portal).to_owned()).collect();
        IscsiTarget { portals, iqn: iqn.to_owned(), lun: 1, chap: None }
    }

    #[test]
    fn a_target_needs_a_grant_of_its_name_and_of_each_portal() {
        let grants =
            [grant("10.20.0.0/16", 3260, "iqn.2026-11.example:a*"), grant("fd00::1", 860, "iqn.2026-11.example:b")];
        let a = "iqn.2026-11.example:array";
        let cases: [(&[&str], &str, Result<&str, ErrorCode>); 11] = [
            (&["10.20.0.1:3260"], a, Ok("10.20.0.1:3260")),
            (&["10.20.0.1", "10.20.0.1:3260", "10.20.0.2"], a, Ok("10.20.0.1:3260 10.20.0.2:3260")),
            (&["[fd00::1]:860"], "iqn.2026-11.example:b", Ok("[fd00::1]:860")),
            (&["10.20.0.1", "10.21.0.1"], a, Err(ErrorCode::NotGranted)),
            (&["10.20.0.1:22"], a, Err(ErrorCode::NotGranted)),
            (&["10.20.0.1"], "iqn.2026-11.example:b", Err(ErrorCode::NotGranted)),
            (&["10.20.0.1"], "iqn.2026-12.example:array", Err(ErrorCode::NotGranted)),
            (&[], a, Err(ErrorCode::Invalid)),
            (&["10.20.0.1:x"], a, Err(ErrorCode::Invalid)),
            (&["-o:3260"], a, Err(ErrorCode::Invalid)),
            (&["10.20.0.1"], "iqn.2026-11.example:a/../b", Err(ErrorCode::Invalid)),
        ];
        for (texts, iqn, expected) in cases {
            let found = portals(&target(texts, iqn), IDENTITY, &grants).map_err(|error| error.code);
            let found = found.map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
            assert_eq!(found.as_deref(), expected.as_ref().map(|it| *it), "{texts:?} {iqn}");
        }
        assert_eq!(portals(&target(&["10.20.0.1"], a), IDENTITY, &[]).unwrap_err().code, ErrorCode::NotGranted);
    }

    #[test]
    fn numbers_identities_and_secrets_are_of_their_form() {
        let grants = [grant("10.20.0.0/16", 3260, "iqn.2026-11.example:a")];
        let good = target(&["10.20.0.1"], "iqn.2026-11.example:a");
        let login = |secret: &str| Login { user: "u".to_owned(), secret: Secret::new(secret.to_owned()) };
        let with = |secret: &str, of_target: Option<&str>| {
            let chap = Chap { node: login(secret), target: of_target.map(login) };
            IscsiTarget { chap: Some(chap), ..good.clone() }
        };
        assert!(portals(&with("correct-horse", Some("b=#1")), IDENTITY, &grants).is_ok());
        let too_high = IscsiTarget { lun: 256, ..good.clone() };
        for wrong in [with("", None), with("a b", None), with("a\nnode.name = x", None), with("a", Some("")), too_high]
        {
            assert_eq!(portals(&wrong, IDENTITY, &grants).unwrap_err().code, ErrorCode::Invalid);
        }
        assert_eq!(portals(&good, "sda", &grants).unwrap_err().code, ErrorCode::Invalid);
        assert!(!format!("{:?}", with("hidden", None)).contains("hidden"), "a secret is not shown");
    }
}
