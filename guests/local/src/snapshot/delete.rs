//! Deleting a snapshot of one volume.
//!
//! Volumes made from it have their own blocks or share them by count, so nothing depends on it.

use drivebay_sdk::snapshots::DeleteSnapshotRequest;
use drivebay_sdk::state::Commit;
use drivebay_sdk::{Error, Result};

use crate::backend::Backend;
use crate::pool::{Draft, Section};

impl Backend<'_> {
    /// `snapshots.delete-snapshot`.
    pub(crate) fn delete_snapshot(&self, request: &DeleteSnapshotRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        self.open_index()?;
        let Some(snapshot) = self.find_snapshot(&request.snapshot_id)? else {
            // Members of a group are removed by the group.
            return self.resume_removal(Section::Snapshots, &request.snapshot_id);
        };
        if let Some(group) = &snapshot.group {
            let message = format!("snapshot {} belongs to group snapshot {group} and goes with it", snapshot.id);
            return Err(Error::invalid_argument(message));
        }
        self.check_snapshot_free(&snapshot)?;
        let object = Draft { section: Section::Snapshots, id: snapshot.id.clone(), name: snapshot.name.clone() };
        self.remove(&object, Self::unindex_snapshot(Commit::new(), &snapshot))?;
        self.finish_removal(&object)
    }
}
