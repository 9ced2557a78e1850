//! `ListSnapshots` an`d GetSnapsh`ot.
//!
//! Pages come from the index; one snapshot comes from its record.

use drivebay_sdk::snapshots::{GetSnapshotRequest, ListSnapshotsRequest, ListSnapshotsResponse};
use drivebay_sdk::types::Snapshot;
use drivebay_sdk::{Result, listing};
use local_pool::record::SnapshotRecord;

use crate::backend::Backend;
use crate::paging::{Cut, cut, limit};

impl Backend<'_> {
    /// `snapshots.list-snapshots`.
    pub(crate) fn list_snapshots(&self, request: &ListSnapshotsRequest) -> Result<ListSnapshotsResponse> {
        self.authorise(&request.secrets)?;
        let after = listing::start(request.starting_token.as_deref())?;
        let limit = limit(request.max_entries);
        let wanted = limit.saturating_add(1);
        let source = request.source_volume_id.as_deref().filter(|id| !id.is_empty());
        let found = match (request.snapshot_id.as_deref().filter(|id| !id.is_empty()), source) {
            (Some(id), source) => {
                let snapshot = self.pool.find_snapshot(id)?;
                let matching = |found: &SnapshotRecord| source.is_none_or(|source| found.source_volume == source);
                snapshot.filter(matching).into_iter().collect()
            }
            (None, Some(source)) => {
                self.index.open()?;
                self.index.snapshots_of(source, after, wanted)?
            }
            (None, None) => {
                self.index.open()?;
                self.index.snapshots(after, wanted)?
            }
        };
        let Cut { entries, next_token } = cut(found, limit, |snapshot| &snapshot.id);
        let entries = entries.iter().map(|snapshot| self.show_snapshot(snapshot)).collect::<Result<_>>()?;
        Ok(ListSnapshotsResponse { entries, next_token })
    }

    /// `snapshots.get-snapshot`.
    pub(crate) fn get_snapshot(&self, request: &GetSnapshotRequest) -> Result<Snapshot> {
        self.authorise(&request.secrets)?;
        self.show_snapshot(&self.pool.snapshot(&request.snapshot_id)?)
    }

    /// A snapshot as clients know it. A copy from another site is not ready before it is promoted.
    fn show_snapshot(&self, snapshot: &SnapshotRecord) -> Result<Snapshot> {
        Ok(Snapshot { ready_to_use: !self.replication.is_held(snapshot)?, ..snapshot.to_snapshot() })
    }
}
