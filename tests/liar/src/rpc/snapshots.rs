//! Snapshots of single volumes.

use prost_types::Timestamp;

use crate::call::Cx;
use crate::checks;
use crate::pb::csi::v1::{Snapshot as Shown, *};
use crate::refusal::{Answer, exists, invalid, not_found, not_now};
use crate::world::{Snapshot, Source, now, page};

/// The snapshot as answers show it.
pub(super) fn shown(id: &str, snapshot: &Snapshot) -> Shown {
    Shown {
        size_bytes: snapshot.size,
        snapshot_id: id.to_owned(),
        source_volume_id: snapshot.volume.clone(),
        creation_time: Some(snapshot.created),
        ready_to_use: snapshot.ready,
        group_snapshot_id: snapshot.group.clone(),
        accessible_topology: Vec::new(),
    }
}

/// A minute later.
fn later(time: Timestamp) -> Timestamp {
    Timestamp { seconds: time.seconds + 60, ..time }
}

/// Cuts a snapshot: of what is written, and the workload goes on writing.
pub(super) fn cut(cx: &mut Cx<'_>, volume: &str, name: &str, group: &str) -> Answer<(String, Snapshot)> {
    let site = cx.world.site_mut(cx.site);
    let found = site.volumes.get_mut(volume).ok_or_else(|| not_found(format!("there is no volume {volume:?}")))?;
    found.blocks.write(found.capacity);
    let snapshot = Snapshot {
        name: name.to_owned(),
        volume: volume.to_owned(),
        parameters: std::collections::BTreeMap::new(),
        size: found.capacity,
        created: now(),
        ready: true,
        group: group.to_owned(),
        blocks: found.blocks.clone(),
    };
    let id = site.issue("snap");
    site.snapshots.insert(id.clone(), snapshot.clone());
    Ok((id, snapshot))
}

pub(super) fn create(cx: &mut Cx<'_>, request: &CreateSnapshotRequest) -> Answer<CreateSnapshotResponse> {
    checks::name(cx, "name", &request.name, cx.lies("X-53"), false)?;
    checks::given("source_volume_id", &request.source_volume_id)?;
    checks::parameters(cx, &request.parameters)?;
    let site = cx.world.site(cx.site);
    let known = site.snapshots.iter().find(|(_, snapshot)| snapshot.name == request.name);
    if let Some((id, snapshot)) = known {
        if snapshot.volume != request.source_volume_id || snapshot.parameters != request.parameters {
            return Err(exists(format!("the name {:?} belongs to a snapshot that differs", request.name)));
        }
        let mut shown = shown(id, snapshot);
        if cx.lies("X-52") {
            shown.creation_time = shown.creation_time.map(later);
        }
        return Ok(CreateSnapshotResponse { snapshot: Some(shown) });
    }
    if !site.volumes.contains_key(&request.source_volume_id) && cx.lies("X-54") {
        return Err(not_now(format!("there is no volume {:?}", request.source_volume_id)));
    }
    let (id, snapshot) = cut(cx, &request.source_volume_id, &request.name, "")?;
    if let Some(kept) = cx.world.site_mut(cx.site).snapshots.get_mut(&id) {
        kept.parameters.clone_from(&request.parameters);
    }
    let mut shown = shown(&id, &snapshot);
    if cx.lies("X-51") {
        shown.size_bytes = -1;
    }
    Ok(CreateSnapshotResponse { snapshot: Some(shown) })
}

pub(super) fn delete(cx: &mut Cx<'_>, request: &DeleteSnapshotRequest) -> Answer<DeleteSnapshotResponse> {
    let id = &request.snapshot_id;
    checks::given("snapshot_id", id)?;
    let Some(snapshot) = cx.world.site(cx.site).snapshots.get(id) else {
        let was = cx.world.site(cx.site).dead_snapshots.contains(id);
        let lie = was && cx.lies("X-65");
        return if lie {
            Err(not_found(format!("there is no snapshot {id:?}")))
        } else {
            Ok(DeleteSnapshotResponse {})
        };
    };
    if !snapshot.group.is_empty() && cx.lies("X-75") {
        return Err(not_now("the snapshot is in a group"));
    }
    if !snapshot.group.is_empty() {
        return Err(invalid(format!("the snapshot {id:?} belongs to the group snapshot {:?}", snapshot.group)));
    }
    if cx.world.is_replicated(cx.site, &Source::Snapshot(id.clone())) {
        return Err(not_now(format!("the snapshot {id:?} is replicated")));
    }
    let site = cx.world.site_mut(cx.site);
    site.snapshots.remove(id);
    site.dead_snapshots.insert(id.clone());
    Ok(DeleteSnapshotResponse {})
}

pub(super) fn list(cx: &mut Cx<'_>, request: &ListSnapshotsRequest) -> Answer<ListSnapshotsResponse> {
    if cx.layout.dies && request.max_entries < 0 {
        std::process::exit(2);
    }
    checks::entries(request.max_entries, cx.lies("X-58"))?;
    let site = cx.world.site(cx.site);
    if cx.lies("X-55") && !request.snapshot_id.is_empty() && !site.snapshots.contains_key(&request.snapshot_id) {
        return Err(not_found(format!("there is no snapshot {:?}", request.snapshot_id)));
    }
    let any_source = request.source_volume_id.is_empty() || (request.max_entries == 0 && cx.lies("X-56"));
    let wanted = site.snapshots.iter().filter(|(id, snapshot)| {
        (request.snapshot_id.is_empty() || **id == request.snapshot_id)
            && (any_source || snapshot.volume == request.source_volume_id)
    });
    let (found, next_token) = page(wanted, &request.starting_token, request.max_entries)
        .map_err(|refusal| super::listing::token(refusal, cx.lies("X-59")))?;
    let mut entries: Vec<_> = found
        .into_iter()
        .map(|(id, snapshot)| list_snapshots_response::Entry { snapshot: Some(shown(id, snapshot)) })
        .collect();
    if cx.lies("X-57") && !request.starting_token.is_empty() {
        entries.clear();
    }
    Ok(ListSnapshotsResponse { entries, next_token })
}

pub(super) fn get(cx: &mut Cx<'_>, request: &GetSnapshotRequest) -> Answer<GetSnapshotResponse> {
    let id = &request.snapshot_id;
    checks::given("snapshot_id", id)?;
    let found = cx.world.site(cx.site).snapshots.get(id);
    let found = found.ok_or_else(|| not_found(format!("there is no snapshot {id:?}")))?;
    let mut shown = shown(id, found);
    if cx.lies("X-60") {
        shown.creation_time = shown.creation_time.map(later);
    }
    Ok(GetSnapshotResponse { snapshot: Some(shown) })
}
