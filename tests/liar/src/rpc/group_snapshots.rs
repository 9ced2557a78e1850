//! Snapshots of several volumes that are cut as one.

use std::collections::BTreeSet;

use crate::call::Cx;
use crate::checks;
use crate::pb::csi::v1::*;
use crate::refusal::{Answer, exists, invalid, not_found};
use crate::world::{GroupSnapshot, now};

pub(super) fn capabilities(
    cx: &mut Cx<'_>,
    _: &GroupControllerGetCapabilitiesRequest,
) -> Answer<GroupControllerGetCapabilitiesResponse> {
    use group_controller_service_capability::{Rpc, Type};
    let one = |number| GroupControllerServiceCapability { r#type: Some(Type::Rpc(Rpc { r#type: number })) };
    let all = cx.layout.offered("group-snapshots").into_iter().map(one);
    Ok(GroupControllerGetCapabilitiesResponse { capabilities: all.collect() })
}

fn shown(cx: &Cx<'_>, id: &str, group: &GroupSnapshot) -> VolumeGroupSnapshot {
    let site = cx.world.site(cx.site);
    let members = group.snapshots.iter().filter_map(|member| Some((member, site.snapshots.get(member)?)));
    let snapshots: Vec<Snapshot> = members.map(|(member, found)| super::snapshots::shown(member, found)).collect();
    VolumeGroupSnapshot {
        group_snapshot_id: id.to_owned(),
        ready_to_use: snapshots.iter().all(|snapshot| snapshot.ready_to_use),
        snapshots,
        creation_time: Some(group.created),
    }
}

pub(super) fn create(
    cx: &mut Cx<'_>,
    request: &CreateVolumeGroupSnapshotRequest,
) -> Answer<CreateVolumeGroupSnapshotResponse> {
    checks::name(cx, "name", &request.name, false, false)?;
    if request.source_volume_ids.is_empty() {
        return Err(invalid("source_volume_ids are missing"));
    }
    checks::parameters(cx, &request.parameters)?;
    let mut volumes: BTreeSet<String> = request.source_volume_ids.iter().cloned().collect();
    let site = cx.world.site(cx.site);
    let known = site.group_snapshots.iter().find(|(_, group)| group.name == request.name);
    let same = known.is_some_and(|(_, group)| group.volumes == volumes && group.parameters == request.parameters);
    if let Some((id, group)) = known.filter(|_| !(same && cx.lies("X-67"))) {
        if !same && !cx.lies("X-68") {
            return Err(exists(format!("the name {:?} belongs to a group snapshot that differs", request.name)));
        }
        return Ok(CreateVolumeGroupSnapshotResponse { group_snapshot: Some(shown(cx, id, group)) });
    }
    if cx.lies("X-69") {
        volumes.retain(|volume| site.volumes.contains_key(volume));
    }
    if let Some(unknown) = volumes.iter().find(|volume| !site.volumes.contains_key(*volume)) {
        return Err(not_found(format!("there is no volume {unknown:?}")));
    }
    let id = cx.world.site_mut(cx.site).issue("groupsnap");
    let mut snapshots = Vec::new();
    for volume in &volumes {
        snapshots.push(super::snapshots::cut(cx, volume, &format!("{id} of {volume}"), &id)?.0);
    }
    let (name, parameters, created) = (request.name.clone(), request.parameters.clone(), now());
    let group = GroupSnapshot { name, volumes, parameters, snapshots, created };
    let mut answer = shown(cx, &id, &group);
    if cx.lies("X-66") {
        answer.snapshots.iter_mut().for_each(|snapshot| snapshot.group_snapshot_id.clear());
    }
    cx.world.site_mut(cx.site).group_snapshots.insert(id, group);
    Ok(CreateVolumeGroupSnapshotResponse { group_snapshot: Some(answer) })
}

/// The list in a request must be that of the members.
fn compare(group: &GroupSnapshot, given: &[String]) -> Answer<()> {
    let given: BTreeSet<&String> = given.iter().collect();
    let members: BTreeSet<&String> = group.snapshots.iter().collect();
    if given == members { Ok(()) } else { Err(invalid("snapshot_ids are not those of the group snapshot")) }
}

pub(super) fn delete(
    cx: &mut Cx<'_>,
    request: &DeleteVolumeGroupSnapshotRequest,
) -> Answer<DeleteVolumeGroupSnapshotResponse> {
    let id = &request.group_snapshot_id;
    checks::given("group_snapshot_id", id)?;
    let Some(group) = cx.world.site(cx.site).group_snapshots.get(id).cloned() else {
        return Ok(DeleteVolumeGroupSnapshotResponse {});
    };
    let none = request.snapshot_ids.is_empty();
    if none && !cx.lies("X-139") {
        return Err(invalid("snapshot_ids are missing"));
    }
    if !none && !cx.lies("X-73") {
        compare(&group, &request.snapshot_ids)?;
    }
    if cx.lies("X-74") {
        return Ok(DeleteVolumeGroupSnapshotResponse {});
    }
    let site = cx.world.site_mut(cx.site);
    site.group_snapshots.remove(id);
    site.snapshots.retain(|snapshot, _| !group.snapshots.contains(snapshot));
    Ok(DeleteVolumeGroupSnapshotResponse {})
}

pub(super) fn get(cx: &mut Cx<'_>, request: &GetVolumeGroupSnapshotRequest) -> Answer<GetVolumeGroupSnapshotResponse> {
    let id = &request.group_snapshot_id;
    checks::given("group_snapshot_id", id)?;
    let Some(group) = cx.world.site(cx.site).group_snapshots.get(id) else {
        let words = format!("there is no group snapshot {id:?}");
        let never_was = !id.contains("-groupsnap-");
        return Err(if never_was && cx.lies("X-71") { invalid(words) } else { not_found(words) });
    };
    if !cx.lies("X-72") {
        compare(group, &request.snapshot_ids)?;
    }
    let mut shown = shown(cx, id, group);
    if cx.lies("X-70") {
        shown.ready_to_use = false;
    }
    Ok(GetVolumeGroupSnapshotResponse { group_snapshot: Some(shown) })
}
