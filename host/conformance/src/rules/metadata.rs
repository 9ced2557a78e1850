//! Which blocks of a snapshot are allocated, and which changed: the rules of the two streams. They speak of block
//! volumes alone. Before the snapshot the volume is published once and something is written, where that can be done.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;

use tonic::Code;

use super::rules;
use crate::trial::{Outcome, Received, Stop, Trial, block};
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::controller_service_capability::rpc::Type as Controller;
use crate::wire::proto::csi::v1::plugin_capability::service::Type as Plugin;
use crate::wire::proto::csi::v1::volume_capability::access_mode::Mode;

rules! {
    "X-76" => ordered, "X-77" => constant, "X-78" => sized, "X-79" => few_a_message, "X-80" => from_the_second,
    "X-81" => negative, "X-82" => above, "X-83" => unknown, "X-84" => delta, "X-85" => delta_unknown,
    "X-86" => delta_negative, "X-87" => delta_few_a_message,
}

const WRITER: Mode = Mode::SingleNodeWriter;

/// One message, whichever stream it is of.
#[derive(Debug, Clone)]
struct Part {
    kind: i32,
    capacity: i64,
    ranges: Vec<v1::BlockMetadata>,
}

impl From<&v1::GetMetadataAllocatedResponse> for Part {
    fn from(it: &v1::GetMetadataAllocatedResponse) -> Self {
        let (kind, capacity) = (it.block_metadata_type, it.volume_capacity_bytes);
        Self { kind, capacity, ranges: it.block_metadata.clone() }
    }
}

impl From<&v1::GetMetadataDeltaResponse> for Part {
    fn from(it: &v1::GetMetadataDeltaResponse) -> Self {
        let (kind, capacity) = (it.block_metadata_type, it.volume_capacity_bytes);
        Self { kind, capacity, ranges: it.block_metadata.clone() }
    }
}

fn parts<R>(got: &Received<Vec<R>>) -> Vec<Part>
where
    for<'a> Part: From<&'a R>,
{
    got.iter().map(Part::from).collect()
}

fn ranges(parts: &[Part]) -> Vec<v1::BlockMetadata> {
    parts.iter().flat_map(|part| part.ranges.iter().copied()).collect()
}

/// A block volume on which something is written, where the node and this machine can do that.
async fn written(t: Trial<'_>) -> Result<String, Stop> {
    t.needs_plugin(Plugin::SnapshotMetadataService)?;
    t.needs(Controller::CreateDeleteVolume)?;
    let request = v1::CreateVolumeRequest { volume_capabilities: vec![block(WRITER)], ..t.new_volume() };
    let answer = t.patient(request, &[Code::Aborted, Code::Unavailable]).await;
    if answer.code() == Code::InvalidArgument {
        return Err(Stop::Skip("the driver makes no block volumes, and the metadata are theirs".to_owned()));
    }
    let got = answer.given()?;
    let volume = got.part(|it| it.volume.clone(), "volume")?;
    match t.used(&volume, block(WRITER), write_some).await {
        Ok(()) | Err(Stop::Blocked(..) | Stop::Skip(_)) => Ok(volume.volume_id),
        Err(other) => Err(other),
    }
}

/// Writes a few blocks apart from each other, where the target is a device and may be written. What cannot be written
/// breaks no rule: then the driver decides what is allocated.
fn write_some(target: &Path) {
    const APART: u64 = 4 << 20;
    let is_device = std::fs::metadata(target).is_ok_and(|it| it.file_type().is_block_device());
    let opened = is_device.then(|| OpenOptions::new().write(true).open(target).ok()).flatten();
    if let Some(device) = opened {
        let written = (0..3).try_for_each(|number| device.write_all_at(&[0x5a; 4096], number * APART));
        let _ = written.and_then(|()| device.sync_all());
    }
}

async fn cut(t: Trial<'_>) -> Result<String, Stop> {
    let volume = written(t).await?;
    Ok(t.snapshot(&volume).await?.snapshot_id)
}

fn allocated(snapshot: &str) -> v1::GetMetadataAllocatedRequest {
    v1::GetMetadataAllocatedRequest { snapshot_id: snapshot.to_owned(), ..Default::default() }
}

/// The whole stream; without a range there is nothing to look at.
async fn stream(t: Trial<'_>) -> Result<(String, Received<Vec<v1::GetMetadataAllocatedResponse>>), Stop> {
    let snapshot = cut(t).await?;
    let got = t.stream(allocated(&snapshot)).await.ok()?;
    if ranges(&parts(&got)).is_empty() {
        return Err(Stop::Skip("the snapshot has no allocated blocks".to_owned()));
    }
    Ok((snapshot, got))
}

fn is_ordered<R>(got: &Received<R>, parts: &[Part]) -> Outcome {
    let all = ranges(parts);
    let apart = all.windows(2).all(|pair| match pair {
        [one, next] => one.byte_offset.saturating_add(one.size_bytes) <= next.byte_offset,
        _ => true,
    });
    got.check(apart, "entries overlap or do not increase")?;
    let end = parts.first().map_or(0, |part| part.capacity);
    let inside = all.iter().all(|it| it.byte_offset >= 0 && it.byte_offset.saturating_add(it.size_bytes) <= end);
    got.check(inside, "an entry lies outside the volume")
}

fn is_constant<R>(got: &Received<R>, parts: &[Part]) -> Outcome {
    let Some(first) = parts.first() else { return Ok(()) };
    got.check(first.kind != 0, "block_metadata_type is UNKNOWN")?;
    got.check(first.capacity > 0, "volume_capacity_bytes is not positive")?;
    let same = parts.iter().all(|part| part.kind == first.kind && part.capacity == first.capacity);
    got.check(same, "block_metadata_type or volume_capacity_bytes changes within the stream")
}

fn is_sized<R>(got: &Received<R>, parts: &[Part]) -> Outcome {
    let all = ranges(parts);
    got.check(all.iter().all(|it| it.size_bytes > 0), "an entry has no size")?;
    let fixed = parts.first().is_some_and(|part| part.kind == v1::BlockMetadataType::FixedLength as i32);
    let size = all.first().map_or(0, |it| it.size_bytes);
    got.check(!fixed || all.iter().all(|it| it.size_bytes == size), "FIXED_LENGTH, but the sizes differ")
}

async fn ordered(t: Trial<'_>) -> Outcome {
    let (_, got) = stream(t).await?;
    is_ordered(&got, &parts(&got))
}

async fn constant(t: Trial<'_>) -> Outcome {
    let (_, got) = stream(t).await?;
    is_constant(&got, &parts(&got))
}

async fn sized(t: Trial<'_>) -> Outcome {
    let (_, got) = stream(t).await?;
    is_sized(&got, &parts(&got))
}

async fn few_a_message(t: Trial<'_>) -> Outcome {
    let (snapshot, whole) = stream(t).await?;
    let request = v1::GetMetadataAllocatedRequest { max_results: 1, ..allocated(&snapshot) };
    let got = t.stream(request).await.ok()?;
    let few = parts(&got);
    got.check(few.iter().all(|part| part.ranges.len() <= 1), "a message has more entries than max_results")?;
    got.check(ranges(&few) == ranges(&parts(&whole)), "max_results changes the entries")
}

async fn from_the_second(t: Trial<'_>) -> Outcome {
    let (snapshot, whole) = stream(t).await?;
    let all = ranges(&parts(&whole));
    let Some(second) = all.get(1) else {
        return Err(Stop::Skip("the snapshot has one allocated range only".to_owned()));
    };
    let start = second.byte_offset;
    let request = v1::GetMetadataAllocatedRequest { starting_offset: start, ..allocated(&snapshot) };
    let got = t.stream(request).await.ok()?;
    let rest = ranges(&parts(&got));
    let first_ends = rest.first().is_some_and(|it| it.byte_offset.saturating_add(it.size_bytes) > start);
    got.check(first_ends, "the first entry ends before starting_offset")?;
    let covered = |wanted: &v1::BlockMetadata| {
        let end = wanted.byte_offset.saturating_add(wanted.size_bytes);
        rest.iter()
            .any(|it| it.byte_offset <= wanted.byte_offset && it.byte_offset.saturating_add(it.size_bytes) >= end)
    };
    got.check(all.iter().skip(1).all(covered), "an entry behind starting_offset is missing")
}

async fn negative(t: Trial<'_>) -> Outcome {
    let snapshot = cut(t).await?;
    let request = v1::GetMetadataAllocatedRequest { starting_offset: -1, ..allocated(&snapshot) };
    t.stream(request).await.is(&[Code::OutOfRange])
}

async fn above(t: Trial<'_>) -> Outcome {
    let snapshot = cut(t).await?;
    let request = v1::GetMetadataAllocatedRequest { starting_offset: 1 << 50, ..allocated(&snapshot) };
    t.stream(request).await.is(&[Code::OutOfRange])
}

async fn unknown(t: Trial<'_>) -> Outcome {
    t.needs_plugin(Plugin::SnapshotMetadataService)?;
    t.stream(allocated(&t.unknown())).await.is(&[Code::NotFound])
}

/// A question about what changed between two snapshots of one volume.
async fn two_cuts(t: Trial<'_>) -> Result<v1::GetMetadataDeltaRequest, Stop> {
    let volume = written(t).await?;
    let base_snapshot_id = t.snapshot(&volume).await?.snapshot_id;
    let target_snapshot_id = t.snapshot(&volume).await?.snapshot_id;
    Ok(v1::GetMetadataDeltaRequest { base_snapshot_id, target_snapshot_id, ..Default::default() })
}

async fn delta(t: Trial<'_>) -> Outcome {
    let got = t.stream(two_cuts(t).await?).await.ok()?;
    let parts = parts(&got);
    is_ordered(&got, &parts)?;
    is_constant(&got, &parts)?;
    is_sized(&got, &parts)
}

async fn delta_unknown(t: Trial<'_>) -> Outcome {
    let base_snapshot_id = t.unknown();
    let request = v1::GetMetadataDeltaRequest { base_snapshot_id, ..two_cuts(t).await? };
    t.stream(request).await.is(&[Code::NotFound])
}

async fn delta_negative(t: Trial<'_>) -> Outcome {
    let request = v1::GetMetadataDeltaRequest { starting_offset: -1, ..two_cuts(t).await? };
    t.stream(request).await.is(&[Code::OutOfRange])
}

async fn delta_few_a_message(t: Trial<'_>) -> Outcome {
    let request = two_cuts(t).await?;
    let whole = t.stream(request.clone()).await.given()?;
    let got = t.stream(v1::GetMetadataDeltaRequest { max_results: 1, ..request }).await.ok()?;
    let few = parts(&got);
    got.check(few.iter().all(|part| part.ranges.len() <= 1), "a message has more entries than max_results")?;
    got.check(ranges(&few) == ranges(&parts(&whole)), "max_results changes the entries")
}
