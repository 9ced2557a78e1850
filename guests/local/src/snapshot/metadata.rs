//! Which blocks of a snapshot contain data, and which differ from another snapshot.
//!
//! The answer comes from the extents of the pool's file system, so most data is never read.

use drivebay_sdk::files::Extent;
use drivebay_sdk::snapshot_metadata::{BlockMetadata, BlockSize, GetAllocatedRequest, GetDeltaRequest, MetadataPage};
use drivebay_sdk::{Error, Result};
use local_pool::record::{Content, SnapshotRecord};
use local_pool::{IMAGE, Section, refusal};

use crate::backend::Backend;

impl Backend<'_> {
    /// `snapshot-metadata.get-allocated`.
    pub(crate) fn get_allocated(&self, request: &GetAllocatedRequest) -> Result<MetadataPage> {
        self.authorise(&request.secrets)?;
        let snapshot = self.pool.snapshot(&request.snapshot_id)?;
        let image = self.image_of(&snapshot, request.starting_offset)?;
        let page = self
            .host
            .allocated(&image, request.starting_offset, request.max_results.max(1))
            .map_err(refusal::of_host)?;
        Ok(page_of(&snapshot, request.starting_offset, &page.extents, page.next_offset))
    }

    /// `snapshot-metadata.get-delta`.
    pub(crate) fn get_delta(&self, request: &GetDeltaRequest) -> Result<MetadataPage> {
        self.authorise(&request.secrets)?;
        let base = self.pool.snapshot(&request.base_snapshot_id)?;
        let target = self.pool.snapshot(&request.target_snapshot_id)?;
        if base.source_volume != target.source_volume {
            let message = format!("snapshots {} and {} are of different volumes", base.id, target.id);
            return Err(Error::invalid_argument(message));
        }
        let base_image = self.image_of(&base, 0)?;
        let image = self.image_of(&target, request.starting_offset)?;
        let page = self
            .host
            .differences(&base_image, &image, request.starting_offset, request.max_results.max(1))
            .map_err(refusal::of_host)?;
        Ok(page_of(&target, request.starting_offset, &page.extents, page.next_offset))
    }

    fn image_of(&self, snapshot: &SnapshotRecord, offset: u64) -> Result<String> {
        if snapshot.content == Content::Directory {
            let message = format!("snapshot {} is of a directory, which has no blocks", snapshot.id);
            return Err(Error::failed_precondition(message));
        }
        if offset > snapshot.size_bytes {
            let message = format!("offset {offset} lies beyond the {} bytes of the volume", snapshot.size_bytes);
            return Err(Error::out_of_range(message));
        }
        Ok(self.pool.file(Section::Snapshots, &snapshot.id, IMAGE))
    }
}

/// A page of the part of the volume from `offset` on.
fn page_of(snapshot: &SnapshotRecord, offset: u64, extents: &[Extent], next_offset: Option<u64>) -> MetadataPage {
    let end = snapshot.size_bytes;
    let block = |extent: &Extent| {
        let from = extent.offset.max(offset);
        let to = extent.offset.saturating_add(extent.length).min(end);
        (from < to).then(|| BlockMetadata { byte_offset: from, size_bytes: to - from })
    };
    MetadataPage {
        block_metadata_type: BlockSize::VariableLength,
        volume_capacity_bytes: end,
        block_metadata: extents.iter().filter_map(block).collect(),
        next_offset: next_offset.filter(|next| *next < end),
    }
}
