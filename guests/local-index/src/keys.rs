//! Keys of the index in the state.
//!
//! An id contains no slash, so keys of different kinds never collide.

use local_pool::ids;

/// Holds the pool's id while the index is complete.
pub(super) const COMPLETE: &str = "index";

/// How far a rebuild has come.
pub(super) const PROGRESS: &str = "rebuild";

/// Until when one call alone rebuilds.
pub(super) const LEASE: &str = "rebuild-lease";

/// When the folder of placed volumes was looked at.
pub(super) const PLACED_SEEN: &str = "placed-seen";

/// Copies of the records of volumes.
pub(super) const VOLUMES: &str = "volume/";

/// Ids in the folder of placed volumes.
pub(super) const PLACED: &str = "placed/";

/// Copies of the records of snapshots.
pub(super) const SNAPSHOTS: &str = "snapshot/";

/// Ids of snapshots by the ids of their volumes.
pub(super) const SNAPSHOTS_OF: &str = "snapshot-of/";

/// Copies of the records of volume groups.
pub(super) const VOLUME_GROUPS: &str = "volume-group/";

pub(super) fn volume(id: &str) -> String {
    format!("{VOLUMES}{id}")
}

/// The second key of a volume in the folder of placed volumes; none: it stands elsewhere.
pub(super) fn placed(id: &str) -> Option<String> {
    (ids::bucket(id) == ids::FOREIGN_BUCKET).then(|| format!("{PLACED}{id}"))
}

pub(super) fn snapshot(id: &str) -> String {
    format!("{SNAPSHOTS}{id}")
}

pub(super) fn snapshots_of(volume: &str) -> String {
    format!("{SNAPSHOTS_OF}{volume}/")
}

pub(super) fn snapshot_of(volume: &str, id: &str) -> String {
    format!("{}{id}", snapshots_of(volume))
}

pub(super) fn volume_group(id: &str) -> String {
    format!("{VOLUME_GROUPS}{id}")
}
