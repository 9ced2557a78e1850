//! The rules of a stream of block metadata, across all its pages.
//!
//! It remembers what later pages are compared with and nothing of the blocks themselves, so a stream
//! of any length costs a few numbers. It does not fetch pages. A backup that trusts a gap or an
//! overlap restores garbage, which is why no page goes out unchecked.

use super::BadAnswer;
use super::rules::{Breach, Verdict, each};
use drivebay_proto::pb::csi::v1::{
    BlockMetadata, BlockMetadataType, GetMetadataAllocatedResponse, GetMetadataDeltaResponse,
};

/// One message of a stream, whichever of the two RPCs it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct BlockPage<'a> {
    /// The number of a `BlockMetadataType`.
    pub kind: i32,
    /// Size of the volume in bytes.
    pub capacity: i64,
    /// The blocks in rising order.
    pub blocks: &'a [BlockMetadata],
}

impl<'a> From<&'a GetMetadataAllocatedResponse> for BlockPage<'a> {
    fn from(page: &'a GetMetadataAllocatedResponse) -> Self {
        Self { kind: page.block_metadata_type, capacity: page.volume_capacity_bytes, blocks: &page.block_metadata }
    }
}

impl<'a> From<&'a GetMetadataDeltaResponse> for BlockPage<'a> {
    fn from(page: &'a GetMetadataDeltaResponse) -> Self {
        Self { kind: page.block_metadata_type, capacity: page.volume_capacity_bytes, blocks: &page.block_metadata }
    }
}

/// Checks the pages of one stream, in their order.
#[derive(Clone, Debug)]
pub struct MetadataStream {
    /// The offset that the next page is asked for, in bytes.
    start: i64,
    /// Most blocks of one page; 0: any number.
    most: usize,
    /// Where the last block ended, in bytes.
    end: i64,
    /// Kind and capacity of the first page.
    first: Option<(BlockMetadataType, i64)>,
    /// The size of all blocks, where they have one.
    size: Option<i64>,
}

impl MetadataStream {
    /// A stream that starts at an offset in bytes and has at most `max_results` blocks in a page
    /// (0: any number), as the backend is asked for it.
    pub fn new(starting_offset: i64, max_results: i32) -> Self {
        Self {
            start: starting_offset,
            most: usize::try_from(max_results).unwrap_or(0),
            end: 0,
            first: None,
            size: None,
        }
    }

    /// Checks the next page and where it says the one after it starts, in bytes (none: it is the
    /// last). After an error the stream cannot go on.
    ///
    /// # Errors
    /// The first rule broken (CSI, `GetMetadataAllocated` and `GetMetadataDelta`).
    pub fn page(&mut self, page: BlockPage<'_>, next: Option<u64>) -> Result<(), BadAnswer> {
        let kind = self.constant(page)?;
        if self.most > 0 && page.blocks.len() > self.most {
            let (are, most) = (page.blocks.len(), self.most);
            let problem = format!("are {are}, but at most {most} were asked for");
            return Err(Breach::new("block_metadata", problem).into());
        }
        each("block_metadata", page.blocks, |block| self.block(block, kind, page.capacity))?;
        self.leads_on(next, page.capacity)?;
        Ok(())
    }

    /// Kind and capacity are known and the same in all pages; the stream starts within the volume.
    fn constant(&mut self, page: BlockPage<'_>) -> Result<BlockMetadataType, Breach> {
        let kind = match BlockMetadataType::try_from(page.kind) {
            Ok(BlockMetadataType::Unknown) => return Err(Breach::missing("block_metadata_type")),
            Ok(known) => known,
            Err(_) => {
                let problem = format!("has no value {}", page.kind);
                return Err(Breach::new("block_metadata_type", problem));
            }
        };
        if page.capacity <= 0 {
            return Err(Breach::new("volume_capacity_bytes", "must be more than 0"));
        }
        if self.start > page.capacity {
            let problem = "is less than the offset asked for: that is an error out-of-range";
            return Err(Breach::new("volume_capacity_bytes", problem));
        }
        match *self.first.get_or_insert((kind, page.capacity)) {
            (first, _) if first != kind => Err(Breach::new("block_metadata_type", "differs from the first page")),
            (_, first) if first != page.capacity => {
                Err(Breach::new("volume_capacity_bytes", "differs from the first page"))
            }
            _ => Ok(kind),
        }
    }

    fn block(&mut self, block: &BlockMetadata, kind: BlockMetadataType, capacity: i64) -> Verdict {
        if block.size_bytes <= 0 {
            return Err(Breach::new("size_bytes", "must be more than 0"));
        }
        if block.byte_offset < self.end {
            let problem = "must not be negative, nor before the end of the block before";
            return Err(Breach::new("byte_offset", problem));
        }
        let end = block.byte_offset.checked_add(block.size_bytes);
        let Some(end) = end.filter(|end| *end <= capacity) else {
            return Err(Breach::new("size_bytes", "ends beyond the volume"));
        };
        if end <= self.start {
            return Err(Breach::new("byte_offset", "ends before the offset asked for"));
        }
        if kind == BlockMetadataType::FixedLength && *self.size.get_or_insert(block.size_bytes) != block.size_bytes {
            let problem = "differs from the blocks before, but all should have one size";
            return Err(Breach::new("size_bytes", problem));
        }
        self.end = end;
        Ok(())
    }

    /// The next page starts behind this one and within the volume, or the stream would never end.
    fn leads_on(&mut self, next: Option<u64>, capacity: i64) -> Verdict {
        let Some(next) = next else {
            return Ok(());
        };
        let next = i64::try_from(next).ok().filter(|next| *next < capacity);
        let next = next.ok_or_else(|| Breach::new("next_offset", "lies beyond the volume"))?;
        if next <= self.start || next < self.end {
            let problem = "must lie behind the blocks of this page and its start";
            return Err(Breach::new("next_offset", problem));
        }
        self.start = next;
        Ok(())
    }
}
