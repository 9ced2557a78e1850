//! The record of a snapshot.
//!
//! It repeats what is needed to create a volume from it, so that the source can be deleted.

use drivebay_sdk::types::{Snapshot, StringMap};
use serde::{Deserialize, Serialize};

use super::{Content, Moment};

/// A snapshot, alone or as a member of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SnapshotRecord {
    /// The number of its form.
    pub format: u32,
    /// Its id.
    pub id: String,
    /// The client's name; empty for members of a group, which have none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The id of the volume that it is of.
    pub source_volume: String,
    /// What it holds.
    pub content: Content,
    /// The size of the source at the cut, in bytes.
    pub size_bytes: u64,
    /// As in the source's record, for the volumes made from it.
    #[serde(default)]
    pub asked_bytes: u64,
    /// As in the source's record.
    #[serde(default)]
    pub file_system_bytes: u64,
    /// When it was made.
    pub created: Moment,
    /// From where it can be reached; empty: from everywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topology: StringMap,
    /// The group snapshot that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

impl SnapshotRecord {
    /// The snapshot as clients know it. What has a record is cut and complete, so it is ready.
    pub fn to_snapshot(&self) -> Snapshot {
        Snapshot {
            size_bytes: self.size_bytes,
            snapshot_id: self.id.clone(),
            source_volume_id: self.source_volume.clone(),
            creation_time: self.created.into(),
            ready_to_use: true,
            group_snapshot_id: self.group.clone(),
            accessible_topology: if self.topology.is_empty() { Vec::new() } else { vec![self.topology.clone()] },
        }
    }
}
