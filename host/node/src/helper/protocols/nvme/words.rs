//! What a request for NVMe/TCP says: subsystems, namespaces, secrets. Pure, but for looking names up.

use std::net::SocketAddr;

use super::super::portals::{Grant, Kind, choose};
use super::identity;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{NvmeTcpTarget, Secret};

/// How its portals and subsystems are written.
const KIND: Kind = Kind { port: 4420, example: "{ protocol = \"nvme-tcp\", portals = [...], nqn = \"...\" }" };
/// What stands for all namespaces, or for none.
const NO_NAMESPACE: [u32; 2] = [0, u32::MAX];
/// Bytes of the longest name (NVMe Base Specification), and of a secret: more than the longest key takes.
const LONGEST_NAME: usize = 223;
const LONGEST_SECRET: usize = 255;

/// The portals with the addresses that grants name, each once and in their order.
pub(in crate::helper) fn portals(
    target: &NvmeTcpTarget,
    identity: &str,
    grants: &[Grant],
) -> Result<Vec<SocketAddr>, NodeError> {
    check(target, identity)?;
    choose(&KIND, &target.nqn, &target.portals, grants)
}

fn check(target: &NvmeTcpTarget, identity: &str) -> Result<(), NodeError> {
    let invalid = |message: &str| Err(NodeError::new(ErrorCode::Invalid, message.to_owned()));
    if !is_name(&target.nqn) {
        return invalid(
            "a subsystem's name begins with nqn. and has letters, digits, dots, colons, hyphens and underscores",
        );
    }
    if NO_NAMESPACE.contains(&target.namespace) {
        return invalid("a namespace has a number from 1 to 4294967294");
    }
    if !identity::is_name(identity) {
        return invalid(
            "a namespace's identity is uuid. and its UUID, nguid. and 32 small hexadecimal digits, or eui. with 16 or 32 of \
             them",
        );
    }
    match &target.dh_chap {
        Some(secrets) if !(is_secret(&secrets.host) && secrets.controller.as_ref().is_none_or(is_secret)) => {
            invalid("a secret of DH-HMAC-CHAP is DHHC-1: and what follows, as `nvme gen-dhchap-key` prints it")
        }
        _ => Ok(()),
    }
}

/// What a connection's words can hold: none of these bytes ends a value there.
pub(super) fn is_name(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b".:-_".contains(&byte);
    name.starts_with("nqn.") && name.len() <= LONGEST_NAME && name.bytes().all(known)
}

fn is_secret(secret: &Secret) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b":+/=-".contains(&byte);
    let words = secret.words();
    words.starts_with("DHHC-1:") && words.len() <= LONGEST_SECRET && words.bytes().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permissions::{NvmeTcpGrant, PortalRange};
    use crate::protocol::DhChap;

    const IDENTITY: &str = "uuid.aaaaaaaa-0000-0000-0000-000000000001";
    const NQN: &str = "nqn.2026-11.example:array";

    fn grants() -> [Grant; 1] {
        let portals = vec![PortalRange { range: "10.20.0.0/16".to_owned(), port: 4420 }];
        [Grant::nvme_tcp(NvmeTcpGrant { portals, nqn: "nqn.2026-11.example:*".to_owned() }).unwrap()]
    }

    fn target(portal: &str, nqn: &str) -> NvmeTcpTarget {
        NvmeTcpTarget { portals: vec![portal.to_owned()], nqn: nqn.to_owned(), namespace: 1, dh_chap: None }
    }

    #[test]
    fn a_subsystem_needs_a_grant_of_its_name_and_of_each_portal() {
        let cases = [
            ("10.20.0.1", NQN, Ok("10.20.0.1:4420")),
            ("10.20.0.1:4420", NQN, Ok("10.20.0.1:4420")),
            ("10.20.0.1:8009", NQN, Err(ErrorCode::NotGranted)),
            ("10.21.0.1", NQN, Err(ErrorCode::NotGranted)),
            ("10.20.0.1", "nqn.2026-12.example:array", Err(ErrorCode::NotGranted)),
            ("10.20.0.1", "nqn.2026-11.example:a,traddr=10.9.9.9", Err(ErrorCode::Invalid)),
            ("10.20.0.1", "iqn.2026-11.example:array", Err(ErrorCode::Invalid)),
            ("10.20.0.1", "", Err(ErrorCode::Invalid)),
        ];
        for (portal, nqn, expected) in cases {
            let found = portals(&target(portal, nqn), IDENTITY, &grants()).map_err(|error| error.code);
            assert_eq!(found.map(|all| all[0].to_string()), expected.map(str::to_owned), "{portal} {nqn}");
        }
    }

    #[test]
    fn numbers_identities_and_secrets_are_of_their_form() {
        let good = target("10.20.0.1", NQN);
        let with = |host: &str, controller: Option<&str>| {
            let secret = |words: &str| Secret::new(words.to_owned());
            let dh_chap = Some(DhChap { host: secret(host), controller: controller.map(secret) });
            NvmeTcpTarget { dh_chap, ..good.clone() }
        };
        let code = |target: &NvmeTcpTarget, identity: &str| {
            portals(target, identity, &grants()).map(drop).map_err(|error| error.code)
        };
        assert_eq!(code(&with("DHHC-1:00:abc+/=:", Some("DHHC-1:03:x=:")), IDENTITY), Ok(()));
        for wrong in [
            with("", None),
            with("secret", None),
            with("DHHC-1:00:abc:,hostnqn=nqn.x", None),
            with("DHHC-1:00:abc:", Some("")),
            NvmeTcpTarget { namespace: 0, ..good.clone() },
            NvmeTcpTarget { namespace: u32::MAX, ..good.clone() },
        ] {
            assert_eq!(code(&wrong, IDENTITY), Err(ErrorCode::Invalid), "{wrong:?}");
        }
        assert_eq!(code(&good, "naa.6001405d1eba00000000000000000007"), Err(ErrorCode::Invalid));
        assert!(!format!("{:?}", with("DHHC-1:00:hidden:", None)).contains("hidden"), "a secret is not shown");
    }
}
