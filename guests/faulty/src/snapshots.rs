//! Snapshots of nothing, and what their contents are said to be.

use drivebay_sdk::snapshot_metadata::{BlockMetadata, BlockSize, GetAllocatedRequest, GetDeltaRequest, MetadataPage};
use drivebay_sdk::snapshots::{
    CreateSnapshotRequest, DeleteSnapshotRequest, GetSnapshotRequest, ListSnapshotsRequest, ListSnapshotsResponse,
};
use drivebay_sdk::types::{Instant, Snapshot, StringMap};
use drivebay_sdk::{Error, Result, SnapshotMetadata, Snapshots};

use crate::{Faulty, act};

const SIZE: u64 = 1 << 20;
const BLOCK: u64 = 4_096;

impl Snapshots for Faulty {
    fn create_snapshot(request: CreateSnapshotRequest) -> Result<Snapshot> {
        let deed = act("snapshot", &request.secrets)?;
        let source = if deed == "other-source" { "id-of-another".to_owned() } else { request.source_volume_id };
        Ok(Snapshot {
            size_bytes: SIZE,
            snapshot_id: format!("snap-{}", request.name),
            source_volume_id: source,
            creation_time: Instant::now(),
            ready_to_use: true,
            group_snapshot_id: None,
            accessible_topology: Vec::new(),
        })
    }

    fn delete_snapshot(_: DeleteSnapshotRequest) -> Result<()> {
        Ok(())
    }

    fn list_snapshots(_: ListSnapshotsRequest) -> Result<ListSnapshotsResponse> {
        Ok(ListSnapshotsResponse { entries: Vec::new(), next_token: None })
    }

    fn get_snapshot(_: GetSnapshotRequest) -> Result<Snapshot> {
        Err(Error::not_found("it keeps nothing"))
    }
}

impl SnapshotMetadata for Faulty {
    fn get_allocated(request: GetAllocatedRequest) -> Result<MetadataPage> {
        page(request.starting_offset)
    }

    fn get_delta(request: GetDeltaRequest) -> Result<MetadataPage> {
        page(request.starting_offset)
    }
}

/// One block, or what the deed makes of it.
fn page(start: u64) -> Result<MetadataPage> {
    let deed = act("blocks", &StringMap::new())?;
    let at = |byte_offset: u64| BlockMetadata { byte_offset, size_bytes: BLOCK };
    let (block_metadata, next_offset) = match deed.as_str() {
        "wrong-order" => (vec![at(8 * BLOCK), at(4 * BLOCK)], None),
        "overlap" => (vec![at(start), at(start + BLOCK / 2)], None),
        "beyond" => (vec![at(4 * SIZE)], None),
        // The same page over and over: a stream without end.
        "standing" => (vec![at(start)], Some(start)),
        _ => (vec![at(start)], None),
    };
    Ok(MetadataPage {
        block_metadata_type: BlockSize::FixedLength,
        volume_capacity_bytes: SIZE,
        block_metadata,
        next_offset,
    })
}
