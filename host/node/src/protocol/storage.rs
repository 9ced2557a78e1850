//! Storage that is reached over a network, as requests name it: shares, targets and the secrets for them.
//!
//! Words only, as all of the protocol. A secret shows itself nowhere.

use serde::{Deserialize, Serialize};

/// A share that is mounted from a server: one case for each protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Share {
    /// A directory that an NFS server exports.
    Nfs(NfsShare),
}

/// What to mount from an NFS server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsShare {
    /// The server's name or address.
    pub server: String,
    /// The exported path: where a file system of its own begins.
    pub export: String,
    /// A directory in it, relative; none: all of it.
    pub subdirectory: Option<String>,
}

/// What a block protocol connects to: one case for each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// A disk of an array, by iSCSI.
    Iscsi(IscsiTarget),
    /// A namespace of an NVMe subsystem, by TCP.
    NvmeTcp(NvmeTcpTarget),
}

/// A disk that is reached by iSCSI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IscsiTarget {
    /// Each `ADDRESS:PORT` or `NAME:PORT`; without a port, 3260.
    pub portals: Vec<String>,
    /// The target's name.
    pub iqn: String,
    /// The disk's number.
    pub lun: u16,
    /// By what node and target prove who they are.
    pub chap: Option<Chap>,
}

/// Names and secrets of node and target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chap {
    /// The node's.
    pub node: Login,
    /// The target's, if it is to prove itself as well.
    pub target: Option<Login>,
}

/// A namespace that is reached by NVMe/TCP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmeTcpTarget {
    /// Each `ADDRESS:PORT` or `NAME:PORT`; without a port, 4420.
    pub portals: Vec<String>,
    /// The subsystem's name.
    pub nqn: String,
    /// The namespace's number.
    pub namespace: u32,
    /// By what host and controller prove who they are.
    pub dh_chap: Option<DhChap>,
}

/// Secrets of host and controller, in the form `DHHC-1:...:`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DhChap {
    /// The node's.
    pub host: Secret,
    /// The controller's, if it is to prove itself as well.
    pub controller: Option<Secret>,
}

/// A name with its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    /// The name.
    pub user: String,
    /// The secret.
    pub secret: Secret,
}

/// Words that are shown nowhere.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// From its words.
    pub const fn new(words: String) -> Self {
        Self(words)
    }

    /// Its words.
    pub(crate) fn words(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// How a connected volume is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// The portals, each with whether its way can be used.
    pub portals: Vec<(String, bool)>,
    /// The file system was mounted for writing and has turned read-only.
    pub read_only: bool,
    /// Errors that the kernel has counted in the file system.
    pub errors: u64,
}
