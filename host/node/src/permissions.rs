//! What the operator allows on this node, as the host's start hands it over once and for all.
//!
//! Owns the words. The host says them before it loads anything; from then on they change only when the helper
//! itself reads the operator's configuration again. It must not open or decide anything.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A directory that the operator gives to a backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryGrant {
    /// The directory on the host.
    pub host: PathBuf,
    /// Where the component sees it, for example `/pool`.
    pub guest: String,
    /// Whether writing is granted.
    pub write: bool,
}

/// What a mount forbids unless the client asks for it and the operator allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MountOption {
    /// Programs that run as their owner (`suid`).
    Suid,
    /// Device nodes (`dev`).
    Dev,
}

/// What one backend may do on this node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    /// Where its images are, and the directories that it may show.
    pub directories: Vec<DirectoryGrant>,
    /// What its clients may ask for.
    #[serde(default)]
    pub mount_options: Vec<MountOption>,
    /// Loop devices at once.
    pub devices: usize,
    /// What it may reach over a network and attach here.
    #[serde(default)]
    pub attach: Vec<AttachGrant>,
}

/// Storage that the operator lets a backend attach: one case for each protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "kebab-case")]
pub enum AttachGrant {
    /// Directories that NFS servers export.
    Nfs(NfsGrant),
    /// Disks of arrays, by iSCSI.
    Iscsi(IscsiGrant),
    /// Namespaces of NVMe subsystems, by TCP.
    NvmeTcp(NvmeTcpGrant),
}

/// iSCSI portals, and the targets that may be reached there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IscsiGrant {
    /// Addresses and ranges of them, each with a port.
    pub portals: Vec<PortalRange>,
    /// A target's name, or the beginning of names with `*` behind it.
    pub iqn: String,
}

/// NVMe/TCP portals, and the subsystems that may be reached there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmeTcpGrant {
    /// Addresses and ranges of them, each with a port.
    pub portals: Vec<PortalRange>,
    /// A subsystem's name, or the beginning of names with `*` behind it.
    pub nqn: String,
}

/// A range of addresses with a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalRange {
    /// `10.20.0.0/16`.
    pub range: String,
    /// The port.
    pub port: u16,
}

/// NFS servers, and what may be mounted from them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsGrant {
    /// Addresses of the servers, and ranges of them: `10.20.0.0/16`.
    pub servers: Vec<String>,
    /// An exported path, or one that ends in `/*`: each directory in it, and none below those.
    pub export: String,
}

/// The permissions of all backends that are granted node work, by name.
pub type PermissionsByName = BTreeMap<String, Permissions>;

/// All that a helper is told by its host's start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mandate {
    /// An existing directory; the ledger has one of its own in it.
    pub state_dir: PathBuf,
    /// Absolute paths of the directories below which volumes may be mounted and shown.
    pub targets: Vec<PathBuf>,
    /// The permissions as they were configured at the start.
    pub backends: PermissionsByName,
    /// The operator's configuration; none: it stood on a command line and stays as it is.
    pub file: Option<PathBuf>,
    /// Whether one backend may have every place there is for node work: only in a host that is attacked to show what the
    /// shares are for.
    #[serde(default)]
    pub unshared: bool,
}

/// Finds the permissions in the text of a configuration that is called `name`; an error says what is wrong with it.
pub type ReadPermissions = fn(name: &str, text: &str) -> Result<PermissionsByName, String>;
