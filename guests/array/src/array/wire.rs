//! The array's objects, as its REST interface tells them: only what this backend needs.
//!
//! Unknown fields are passed over, because arrays get new ones with every release.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A refusal.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) code: String,
    pub(crate) message: String,
}

/// A page.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Page<T> {
    pub(crate) entries: Vec<T>,
    pub(crate) next: Option<String>,
}

/// What a volume is filled with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "kebab-case")]
pub(crate) enum Source {
    Volume(String),
    Snapshot(String),
}

/// A volume that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VolumeSpec {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) provisioning: String,
    pub(crate) source: Option<Source>,
    pub(crate) iops_limit: Option<u64>,
    pub(crate) group: Option<String>,
    /// The client's own notes.
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
}

/// What is to be changed of a volume.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct VolumeChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provisioning: Option<String>,
    /// 0: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) iops_limit: Option<u64>,
}

/// A host's access.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Export {
    pub(crate) host: String,
    pub(crate) lun: u32,
    pub(crate) readonly: bool,
    pub(crate) shared: bool,
    pub(crate) label: String,
}

/// An access that is wanted.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ExportSpec {
    pub(crate) readonly: bool,
    pub(crate) shared: bool,
    pub(crate) label: String,
}

/// How a volume is reached as a disk.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Disk {
    pub(crate) iqn: String,
    pub(crate) portals: Vec<String>,
    pub(crate) identity: String,
}

/// The state of a volume's key.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Key {
    pub(crate) rotation: Option<String>,
}

/// A volume.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Volume {
    pub(crate) id: String,
    pub(crate) bytes: u64,
    pub(crate) provisioning: String,
    pub(crate) iops_limit: Option<u64>,
    pub(crate) state: String,
    pub(crate) group: Option<String>,
    pub(crate) exports: Vec<Export>,
    pub(crate) job: Option<String>,
    pub(crate) wish: VolumeSpec,
    pub(crate) key: Key,
}

/// A snapshot.
#[derive(Clone, Debug, Deserialize)]
#[allow(clippy::struct_field_names, reason = "the kind of object that it names")]
pub(crate) struct Snapshot {
    pub(crate) id: String,
    pub(crate) volume: String,
    pub(crate) bytes: u64,
    /// Nanoseconds since 1970.
    pub(crate) created: u64,
    pub(crate) state: String,
    pub(crate) job: Option<String>,
    pub(crate) group_snapshot: Option<String>,
}

/// A cut of several volumes.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Cut {
    pub(crate) id: String,
    pub(crate) volumes: Vec<String>,
    pub(crate) job: Option<String>,
    /// Only where one is asked for.
    #[serde(default)]
    pub(crate) members: Vec<Snapshot>,
}

/// A consistency group.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Group {
    pub(crate) id: String,
    pub(crate) limit: u64,
    pub(crate) members: Vec<Volume>,
}

/// Work under way.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Job {
    pub(crate) state: String,
    pub(crate) message: String,
}

/// The pool.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Pool {
    pub(crate) free: u64,
}

/// A host.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct HostEntry {
    pub(crate) name: String,
    pub(crate) addresses: Vec<std::net::IpAddr>,
}

/// A fence.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Fence {
    pub(crate) cidr: String,
}

/// Stretches of a snapshot.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Map {
    pub(crate) bytes: u64,
    pub(crate) extents: Vec<Extent>,
    pub(crate) next: Option<u64>,
}

/// One of them.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// Bytes in use before and after reclaiming.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Reclaimed {
    pub(crate) before: u64,
    pub(crate) after: u64,
}

/// On which terms something is replicated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub(crate) interval_seconds: u64,
    pub(crate) name: Option<String>,
}

/// One volume of a replication.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Member {
    pub(crate) here: String,
    pub(crate) there: Option<String>,
}

/// The last complete transfer.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Transfer {
    /// Nanoseconds since 1970.
    pub(crate) cut: u64,
    pub(crate) took: u64,
    pub(crate) bytes: u64,
}

/// A replication.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Replication {
    pub(crate) target: Option<String>,
    pub(crate) members: Vec<Member>,
    pub(crate) role: String,
    pub(crate) terms: Terms,
    pub(crate) told: bool,
    /// `steady`, `draining`, `superseded` or `resyncing`.
    pub(crate) phase: String,
    pub(crate) last: Option<Transfer>,
    pub(crate) trouble: String,
}

/// How an object is replicated, if it is.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Standing {
    pub(crate) replication: Option<Replication>,
    /// The group through which it is.
    pub(crate) through: Option<String>,
}

/// Whether a resync has come to its end.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Resynced {
    pub(crate) ready: bool,
}
