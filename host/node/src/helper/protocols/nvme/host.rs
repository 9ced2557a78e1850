//! Who this node is to NVMe subsystems: the names that an array maps namespaces to.
//!
//! Owns where the node keeps them. None is made here: a name that nobody has told an array opens nothing, and one that is made anew with each
//! installation would be a new node to it.

use std::fs;
use std::path::Path;

use super::words;
use crate::error::{ErrorCode, NodeError};

/// Where distributions, and nvme-cli, keep them.
const DIRECTORY: &str = "/etc/nvme";
/// How names are made of a UUID (NVMe Base Specification).
const OF_UUID: &str = "nqn.2014-08.org.nvmexpress:uuid:";

/// The node's name, and its identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) nqn: String,
    pub(super) id: String,
}

/// As the node's own files say.
pub(super) fn host() -> Result<Host, NodeError> {
    read(Path::new(DIRECTORY))
}

fn read(directory: &Path) -> Result<Host, NodeError> {
    let word = |name: &str| {
        let text = fs::read_to_string(directory.join(name)).unwrap_or_default();
        text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    };
    let nqn = word("hostnqn").filter(|nqn| words::is_name(nqn)).ok_or_else(|| {
        let message = format!(
            "this node has no NVMe host name. Give it one, and tell it to the array: echo \
             {OF_UUID}$(cat /proc/sys/kernel/random/uuid) >{DIRECTORY}/hostnqn"
        );
        NodeError::new(ErrorCode::Unsupported, message)
    })?;
    let id = word("hostid").or_else(|| nqn.strip_prefix(OF_UUID).map(str::to_owned)).filter(|id| is_uuid(id));
    let id = id.ok_or_else(|| {
        let message = format!("{DIRECTORY}/hostid is no UUID, and {nqn} has none in it: write the node's UUID there");
        NodeError::new(ErrorCode::Unsupported, message)
    })?;
    Ok(Host { nqn, id })
}

/// 8, 4, 4, 4 and 12 hexadecimal digits.
pub(super) fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let hexadecimal = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) && parts.iter().all(hexadecimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "11111111-2222-3333-4444-555555555555";

    #[test]
    fn a_node_is_who_its_files_say() {
        let of_uuid = format!("{OF_UUID}{UUID}\n");
        let own = "nqn.2026-11.example:worker-1";
        let other = "99999999-2222-3333-4444-555555555555";
        let of_uuid = of_uuid.as_str();
        let cases = [
            (Some(of_uuid), None, Some((of_uuid.trim(), UUID))),
            (Some(of_uuid), Some(other), Some((of_uuid.trim(), other))),
            (Some(own), Some(UUID), Some((own, UUID))),
            (Some(own), None, None),
            (Some(own), Some("1"), None),
            (Some("worker-1"), Some(UUID), None),
            (None, Some(UUID), None),
        ];
        for (nqn, id, expected) in cases {
            let directory = tempfile::tempdir().unwrap();
            for (name, text) in [("hostnqn", nqn), ("hostid", id)] {
                if let Some(text) = text {
                    fs::write(directory.path().join(name), text).unwrap();
                }
            }
            let found = read(directory.path());
            let expected = expected.map(|(nqn, id)| Host { nqn: nqn.to_owned(), id: id.to_owned() });
            assert_eq!(found.as_ref().ok(), expected.as_ref(), "{nqn:?} {id:?}");
            assert!(found.is_ok() || found.is_err_and(|error| error.code == ErrorCode::Unsupported));
        }
    }
}
