//! Which blocks of a snapshot are written, and which differ from an earlier one: streams of a few messages.

use std::pin::Pin;

use tokio_stream::Stream;
use tonic::{Request, Response, Status};

use super::rows::nothing;
use crate::call::{Area, Cx, Endpoint, Row};
use crate::checks;
use crate::pb::csi::v1::snapshot_metadata_server::SnapshotMetadata;
use crate::pb::csi::v1::volume_capability::AccessType;
use crate::pb::csi::v1::*;
use crate::refusal::{Answer, invalid, not_found, out_of_range};
use crate::world::{BLOCK, Snapshot};

/// How many blocks a message holds when the client does not say.
const MESSAGE: usize = 8;
const GATE: &str = "plugin.SNAPSHOT_METADATA_SERVICE";

type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl SnapshotMetadata for Endpoint {
    type GetMetadataAllocatedStream = Messages<GetMetadataAllocatedResponse>;
    type GetMetadataDeltaStream = Messages<GetMetadataDeltaResponse>;

    async fn get_metadata_allocated(
        &self,
        request: Request<GetMetadataAllocatedRequest>,
    ) -> Result<Response<Self::GetMetadataAllocatedStream>, Status> {
        let row = Row {
            service: "csi",
            rpc: "get_metadata_allocated",
            area: Area::Controller,
            gate: GATE,
            secrets: |request: &GetMetadataAllocatedRequest| Some(&request.secrets),
            changes: nothing,
            work: allocated,
        };
        self.stream(&row, request.get_ref()).await
    }

    async fn get_metadata_delta(
        &self,
        request: Request<GetMetadataDeltaRequest>,
    ) -> Result<Response<Self::GetMetadataDeltaStream>, Status> {
        let row = Row {
            service: "csi",
            rpc: "get_metadata_delta",
            area: Area::Controller,
            gate: GATE,
            secrets: |request: &GetMetadataDeltaRequest| Some(&request.secrets),
            changes: nothing,
            work: delta,
        };
        self.stream(&row, request.get_ref()).await
    }
}

impl Endpoint {
    async fn stream<Q, A>(&self, row: &Row<Q, Vec<A>>, request: &Q) -> Result<Response<Messages<A>>, Status>
    where
        Q: Sync,
        A: Send + 'static,
    {
        let messages = self.attempt(row, request).await.map_err(|refusal| self.status(row, request, refusal))?;
        Ok(Response::new(Box::pin(tokio_stream::iter(messages.into_iter().map(Ok)))))
    }
}

fn snapshot<'a>(cx: &'a Cx<'_>, id: &str, wrong_code: bool) -> Answer<&'a Snapshot> {
    let words = format!("there is no snapshot {id:?}");
    let site = cx.world.site(cx.site);
    let found = site.snapshots.get(id);
    let found = found.ok_or_else(|| if wrong_code { invalid(words) } else { not_found(words) })?;
    let is_block = |one: &VolumeCapability| matches!(one.access_type, Some(AccessType::Block(_)));
    let volume = site.volumes.get(&found.volume);
    if cx.layout.loose && volume.is_some_and(|volume| !volume.ask.capabilities.iter().all(is_block)) {
        return Err(invalid("only block volumes have metadata"));
    }
    Ok(found)
}

/// Checks where to begin, and drops what lies before.
fn from(offset: i64, capacity: i64, negative: bool, above: bool, blocks: &[i64]) -> Answer<Vec<BlockMetadata>> {
    if (offset < 0 && !negative) || (offset > capacity && !above) {
        return Err(out_of_range(format!("starting_offset is not within 0 to {capacity}")));
    }
    let all = blocks.iter().map(|number| BlockMetadata { byte_offset: number * BLOCK, size_bytes: BLOCK });
    Ok(all.filter(|block| block.byte_offset + block.size_bytes > offset).collect())
}

fn messages(blocks: &[BlockMetadata], most: i32) -> Vec<Vec<BlockMetadata>> {
    let most = usize::try_from(most).ok().filter(|most| *most > 0).unwrap_or(MESSAGE).min(MESSAGE);
    blocks.chunks(most).map(<[BlockMetadata]>::to_vec).collect()
}

/// Moves the last block half a block before the end of the one before it.
fn overlap(blocks: &mut [BlockMetadata]) {
    if let [.., before, last] = blocks {
        last.byte_offset = before.byte_offset + BLOCK / 2;
    }
}

fn allocated(cx: &mut Cx<'_>, request: &GetMetadataAllocatedRequest) -> Answer<Vec<GetMetadataAllocatedResponse>> {
    checks::given("snapshot_id", &request.snapshot_id)?;
    let snapshot = snapshot(cx, &request.snapshot_id, cx.lies("X-83"))?;
    let numbers = snapshot.blocks.allocated();
    let mut blocks = from(request.starting_offset, snapshot.size, cx.lies("X-81"), cx.lies("X-82"), &numbers)?;
    if cx.lies("X-80") && request.starting_offset > 0 && !blocks.is_empty() {
        blocks.remove(0);
    }
    if cx.lies("X-76") {
        overlap(&mut blocks);
    }
    if let Some(last) = blocks.last_mut().filter(|_| cx.lies("X-78")) {
        last.size_bytes = BLOCK / 2;
    }
    let most = if cx.lies("X-79") { 0 } else { request.max_results };
    let block_metadata_type = BlockMetadataType::FixedLength.into();
    let one = |(number, block_metadata): (usize, Vec<BlockMetadata>)| {
        let shrinks = number > 0 && cx.lies("X-77");
        let volume_capacity_bytes = if shrinks { snapshot.size - 1 } else { snapshot.size };
        GetMetadataAllocatedResponse { block_metadata_type, volume_capacity_bytes, block_metadata }
    };
    Ok(messages(&blocks, most).into_iter().enumerate().map(one).collect())
}

fn delta(cx: &mut Cx<'_>, request: &GetMetadataDeltaRequest) -> Answer<Vec<GetMetadataDeltaResponse>> {
    checks::given("base_snapshot_id", &request.base_snapshot_id)?;
    checks::given("target_snapshot_id", &request.target_snapshot_id)?;
    let base = snapshot(cx, &request.base_snapshot_id, cx.lies("X-85"))?;
    let target = snapshot(cx, &request.target_snapshot_id, false)?;
    if base.volume != target.volume {
        return Err(invalid("the two snapshots are not of one volume"));
    }
    let numbers = target.blocks.changed_since(&base.blocks);
    let mut blocks = from(request.starting_offset, target.size, cx.lies("X-86"), false, &numbers)?;
    if cx.lies("X-84") {
        overlap(&mut blocks);
    }
    let most = if cx.lies("X-87") { 0 } else { request.max_results };
    let (block_metadata_type, volume_capacity_bytes) = (BlockMetadataType::FixedLength.into(), target.size);
    let one = |block_metadata| GetMetadataDeltaResponse { block_metadata_type, volume_capacity_bytes, block_metadata };
    Ok(messages(&blocks, most).into_iter().map(one).collect())
}
