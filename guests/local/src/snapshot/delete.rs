//! `DeleteSnapshot`.
//!
//! Volumes created from a snapshot have their own blocks or share them, so nothing depends on it.

use drivebay_sdk::snapshots::DeleteSnapshotRequest;
use drivebay_sdk::state::Commit;
use drivebay_sdk::{Error, Result};
use local_index::Index;
use local_pool::{Draft, Section};

use crate::backend::Backend;

impl Backend<'_> {
    /// `snapshots.delete-snapshot`.
    pub(crate) fn delete_snapshot(&self, request: &DeleteSnapshotRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        self.index.open()?;
        let Some(snapshot) = self.pool.find_snapshot(&request.snapshot_id)? else {
            // Members of a group are removed by the group.
            return self.lifecycle.resume_removal(Section::Snapshots, &request.snapshot_id);
        };
        if let Some(group) = &snapshot.group {
            let message = format!("snapshot {} belongs to group snapshot {group} and goes with it", snapshot.id);
            return Err(Error::invalid_argument(message));
        }
        self.replication.check_snapshot_free(&snapshot)?;
        let object = Draft { section: Section::Snapshots, id: snapshot.id.clone(), name: snapshot.name.clone() };
        self.lifecycle.remove(&object, Index::without_snapshot(Commit::new(), &snapshot))?;
        self.lifecycle.finish_removal(&object)
    }
}
