//! Blocks of snapshots: one block, always the same.

use drivebay_sdk::snapshot_metadata::{BlockMetadata, BlockSize, GetAllocatedRequest, GetDeltaRequest, MetadataPage};
use drivebay_sdk::types::Snapshot;
use drivebay_sdk::{Result, SnapshotMetadata};

use crate::records::Record;
use crate::{Tester, act};

impl SnapshotMetadata for Tester {
    fn get_allocated(request: GetAllocatedRequest) -> Result<MetadataPage> {
        act::enter("get-allocated", &request.snapshot_id, &request.secrets)?;
        page(&request.snapshot_id)
    }

    fn get_delta(request: GetDeltaRequest) -> Result<MetadataPage> {
        act::enter("get-delta", &request.target_snapshot_id, &request.secrets)?;
        page(&request.target_snapshot_id)
    }
}

fn page(id: &str) -> Result<MetadataPage> {
    Ok(MetadataPage {
        block_metadata_type: BlockSize::FixedLength,
        volume_capacity_bytes: Snapshot::get(id)?.size_bytes,
        block_metadata: vec![BlockMetadata { byte_offset: 0, size_bytes: 4_096 }],
        next_offset: None,
    })
}
