//! What a host does with a volume, written beside the volume by that host alone.
//!
//! A file for each host: a controller elsewhere reads them before it deletes, and no two processes
//! change one file. The host's own ledger knows the mounts better; these texts are for the others.

use serde::{Deserialize, Serialize};

/// Where a volume is staged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Staged {
    pub(crate) path: String,
    /// Whether it can be written from there.
    pub(crate) writable: bool,
    /// Tells other wishes apart without showing them.
    pub(crate) fingerprint: String,
}

/// A path at which a workload sees a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Publication {
    pub(crate) path: String,
    pub(crate) writable: bool,
}

/// All that one host does with one volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct UseRecord {
    pub(crate) format: u32,
    pub(crate) host: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) node: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) staged: Option<Staged>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) published: Vec<Publication>,
}

impl UseRecord {
    /// Whether nothing is left of it.
    pub(crate) fn is_empty(&self) -> bool {
        self.staged.is_none() && self.published.is_empty()
    }

    /// The user in words.
    pub(crate) fn place(&self) -> String {
        match &self.node {
            Some(node) => format!("node {node} (host {})", self.host),
            None => format!("host {}", self.host),
        }
    }
}

/// What nodes have done to the file system of a volume, for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct FileSystemMark {
    pub(crate) format: u32,
    /// It has a UUID of its own.
    pub(crate) renewed: bool,
    /// The size that it has grown to, in bytes.
    #[serde(default)]
    pub(crate) bytes: u64,
}
