//! Snapshots of single volumes.

use drivebay_sdk::snapshots::{
    CreateSnapshotRequest, DeleteSnapshotRequest, GetSnapshotRequest, ListSnapshotsRequest, ListSnapshotsResponse,
};
use drivebay_sdk::state::{Commit, transact};
use drivebay_sdk::types::{Instant, Snapshot};
use drivebay_sdk::{Error, Result, Snapshots, listing};

use crate::records::{Kept, Record};
use crate::{Tester, act};

impl Snapshots for Tester {
    fn create_snapshot(request: CreateSnapshotRequest) -> Result<Snapshot> {
        let flaw = act::enter("create-snapshot", &request.name, &request.secrets)?;
        let source = &request.source_volume_id;
        let id = format!("snap-{}", request.name);
        let mut snapshot = transact(|| match Snapshot::find(&id)? {
            Some(found) if found.source_volume_id == *source => Ok((found, Commit::new())),
            Some(_) => Err(Error::already_exists(format!("{id} is of another volume"))),
            None => {
                let new = cut(&id, &Kept::get(source)?, None);
                let commit = new.put(&id, Commit::new());
                Ok((new, commit))
            }
        })?;
        if flaw == "source" {
            "vol-another".clone_into(&mut snapshot.source_volume_id);
        }
        Ok(snapshot)
    }

    fn delete_snapshot(request: DeleteSnapshotRequest) -> Result<()> {
        act::enter("delete-snapshot", &request.snapshot_id, &request.secrets)?;
        Snapshot::delete(&request.snapshot_id)
    }

    fn list_snapshots(request: ListSnapshotsRequest) -> Result<ListSnapshotsResponse> {
        act::enter("list-snapshots", "all", &request.secrets)?;
        let (source, id) = (request.source_volume_id, request.snapshot_id);
        let wanted = |snapshot: &Snapshot| {
            source.as_ref().is_none_or(|s| *s == snapshot.source_volume_id)
                && id.as_ref().is_none_or(|i| *i == snapshot.snapshot_id)
        };
        let snapshots = Snapshot::all()?.into_iter().filter(wanted);
        let token = request.starting_token.as_deref();
        let page = listing::page(snapshots, |s| &s.snapshot_id, request.max_entries, token)?;
        Ok(ListSnapshotsResponse { entries: page.entries, next_token: page.next_token })
    }

    fn get_snapshot(request: GetSnapshotRequest) -> Result<Snapshot> {
        act::enter("get-snapshot", &request.snapshot_id, &request.secrets)?;
        Snapshot::get(&request.snapshot_id)
    }
}

/// A snapshot of a volume as it is now.
pub(crate) fn cut(id: &str, of: &Kept, group: Option<&str>) -> Snapshot {
    Snapshot {
        size_bytes: of.volume.capacity_bytes,
        snapshot_id: id.to_owned(),
        source_volume_id: of.volume.volume_id.clone(),
        creation_time: Instant { nanoseconds: 0, ..Instant::now() },
        ready_to_use: true,
        group_snapshot_id: group.map(ToOwned::to_owned),
        accessible_topology: Vec::new(),
    }
}
