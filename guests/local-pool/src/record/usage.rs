//! What one host does with a volume, in a file beside the volume that only this host writes.
//!
//! A controller elsewhere reads these files before it deletes a volume.

use serde::{Deserialize, Serialize};

/// Where a volume is staged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Staged {
    /// The path on the node.
    pub path: String,
    /// Whether it can be written from there.
    pub writable: bool,
    /// Tells other wishes apart without showing them.
    pub fingerprint: String,
}

/// A path at which a workload sees a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Publication {
    /// The path on the node.
    pub path: String,
    /// Whether it can be written from there.
    pub writable: bool,
}

/// All that one host does with one volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UseRecord {
    /// The number of its form.
    pub format: u32,
    /// The host that wrote it.
    pub host: String,
    /// The id of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Where it is staged; none: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged: Option<Staged>,
    /// Where workloads see it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Publication>,
}

impl UseRecord {
    /// Whether nothing is left of it.
    pub fn is_empty(&self) -> bool {
        self.staged.is_none() && self.published.is_empty()
    }

    /// The user in words.
    pub fn place(&self) -> String {
        match &self.node {
            Some(node) => format!("node {node} (host {})", self.host),
            None => format!("host {}", self.host),
        }
    }
}

/// What nodes have done to the file system of a volume, for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FileSystemMark {
    /// The number of its form.
    pub format: u32,
    /// It has a UUID of its own.
    pub renewed: bool,
    /// The size that it has grown to, in bytes.
    #[serde(default)]
    pub bytes: u64,
}
