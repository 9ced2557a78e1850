//! Snapshots of several volumes at one moment.

use std::collections::BTreeSet;

use tonic::Code;

use super::rules;
use crate::trial::{Outcome, Pause, Stop, Trial};
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::group_controller_service_capability::rpc::Type as Group;
use crate::wire::proto::csi::v1::plugin_capability::service::Type as Plugin;

rules! {
    "X-66" => cut, "X-67" => cut_again, "X-68" => other_sources, "X-69" => of_unknown, "X-70" => got,
    "X-71" => got_unknown, "X-72" => got_mismatch, "X-73" => deleted_mismatch, "X-74" => deleted, "X-75" => member_deleted,
    "X-139" => deleted_without_members,
}

fn needs(t: Trial<'_>) -> Outcome {
    t.needs_plugin(Plugin::GroupControllerService)?;
    let name = Group::CreateDeleteGetVolumeGroupSnapshot;
    if t.here()?.abilities.group.contains(&name.into()) {
        return Ok(());
    }
    Err(Stop::Skip(format!("the group controller does not advertise {}", name.as_str_name())))
}

fn request(t: Trial<'_>, volumes: &[v1::Volume]) -> v1::CreateVolumeGroupSnapshotRequest {
    v1::CreateVolumeGroupSnapshotRequest {
        name: t.name(),
        source_volume_ids: volumes.iter().map(|it| it.volume_id.clone()).collect(),
        parameters: t.with().parameters.group_snapshot.clone(),
        ..Default::default()
    }
}

/// A group snapshot of two volumes that is ready to use.
async fn made(t: Trial<'_>) -> Result<v1::VolumeGroupSnapshot, Stop> {
    needs(t)?;
    let request = request(t, &t.volumes(2).await?);
    let mut pause = Pause::new(t.with().patience);
    loop {
        let got = t.given(request.clone()).await?;
        let none = || Stop::Blocked("the answer has no group snapshot".to_owned(), Some(got.at()));
        let group = got.group_snapshot.clone().ok_or_else(none)?;
        if group.ready_to_use || !pause.rest().await {
            return Ok(group);
        }
    }
}

fn members(of: &v1::VolumeGroupSnapshot) -> Vec<String> {
    of.snapshots.iter().map(|it| it.snapshot_id.clone()).collect()
}

fn get(of: &v1::VolumeGroupSnapshot) -> v1::GetVolumeGroupSnapshotRequest {
    let (group_snapshot_id, snapshot_ids) = (of.group_snapshot_id.clone(), members(of));
    v1::GetVolumeGroupSnapshotRequest { group_snapshot_id, snapshot_ids, ..Default::default() }
}

fn delete(of: &v1::VolumeGroupSnapshot) -> v1::DeleteVolumeGroupSnapshotRequest {
    let (group_snapshot_id, snapshot_ids) = (of.group_snapshot_id.clone(), members(of));
    v1::DeleteVolumeGroupSnapshotRequest { group_snapshot_id, snapshot_ids, ..Default::default() }
}

async fn cut(t: Trial<'_>) -> Outcome {
    needs(t)?;
    let volumes = t.volumes(2).await?;
    let got = t.ok(request(t, &volumes)).await?;
    let group = got.part(|it| it.group_snapshot.clone(), "group_snapshot")?;
    let sources: BTreeSet<_> = group.snapshots.iter().map(|it| it.source_volume_id.as_str()).collect();
    let wanted = volumes.iter().map(|it| it.volume_id.as_str()).collect();
    got.check(group.snapshots.len() == 2 && sources == wanted, "there is not one snapshot for each source")?;
    let named = group.snapshots.iter().all(|it| it.group_snapshot_id == group.group_snapshot_id);
    got.check(!group.group_snapshot_id.is_empty() && named, "a member does not name its group")
}

async fn cut_again(t: Trial<'_>) -> Outcome {
    needs(t)?;
    let request = request(t, &t.volumes(2).await?);
    let first = t.given(request.clone()).await?;
    let again = t.ok(request).await?;
    let id =
        |it: &v1::CreateVolumeGroupSnapshotResponse| it.group_snapshot.as_ref().map(|it| it.group_snapshot_id.clone());
    again.check(id(&first) == id(&again), "the same name has another group_snapshot_id now")
}

async fn other_sources(t: Trial<'_>) -> Outcome {
    needs(t)?;
    let volumes = t.volumes(3).await?;
    let mut request = request(t, &volumes);
    request.source_volume_ids.truncate(2);
    t.given(request.clone()).await?;
    request.source_volume_ids = volumes.iter().skip(1).map(|it| it.volume_id.clone()).collect();
    t.expect(request, &[Code::AlreadyExists]).await
}

async fn of_unknown(t: Trial<'_>) -> Outcome {
    needs(t)?;
    let mut request = request(t, &t.volumes(1).await?);
    request.source_volume_ids.push(t.unknown());
    t.expect(request, &[Code::NotFound, Code::InvalidArgument, Code::FailedPrecondition]).await
}

async fn got(t: Trial<'_>) -> Outcome {
    let group = made(t).await?;
    let got = t.ok(get(&group)).await?;
    let found = got.part(|it| it.group_snapshot.clone(), "group_snapshot")?;
    got.check(found.group_snapshot_id == group.group_snapshot_id, "the answer is about another group")?;
    let ids = |it: &v1::VolumeGroupSnapshot| members(it).into_iter().collect::<BTreeSet<_>>();
    got.check(ids(&found) == ids(&group), "the members are not those of CreateVolumeGroupSnapshot")?;
    let all = found.snapshots.iter().all(|it| it.ready_to_use);
    got.check(found.ready_to_use == all, "ready_to_use is not what the members are together")
}

async fn got_unknown(t: Trial<'_>) -> Outcome {
    needs(t)?;
    let snapshot_ids = vec![t.unknown()];
    let group_snapshot_id = t.unknown();
    let request = v1::GetVolumeGroupSnapshotRequest { group_snapshot_id, snapshot_ids, ..Default::default() };
    t.expect(request, &[Code::NotFound]).await
}

async fn got_mismatch(t: Trial<'_>) -> Outcome {
    let mut request = get(&made(t).await?);
    request.snapshot_ids.truncate(1);
    t.expect(request, &[Code::InvalidArgument]).await
}

async fn deleted_mismatch(t: Trial<'_>) -> Outcome {
    let mut request = delete(&made(t).await?);
    request.snapshot_ids.truncate(1);
    t.expect(request, &[Code::InvalidArgument]).await
}

async fn deleted_without_members(t: Trial<'_>) -> Outcome {
    let mut request = delete(&made(t).await?);
    request.snapshot_ids.clear();
    t.expect(request, &[Code::InvalidArgument]).await
}

async fn deleted(t: Trial<'_>) -> Outcome {
    let group = made(t).await?;
    t.ok(delete(&group)).await?;
    t.expect(get(&group), &[Code::NotFound]).await?;
    t.ok(delete(&group)).await.map(drop)
}

async fn member_deleted(t: Trial<'_>) -> Outcome {
    let group = made(t).await?;
    let bound = group.snapshots.iter().find(|it| !it.group_snapshot_id.is_empty());
    let bound = bound.ok_or_else(|| Stop::Skip("no member is bound to its group".to_owned()))?;
    let snapshot_id = bound.snapshot_id.clone();
    let codes = [Code::InvalidArgument, Code::Ok];
    t.expect(v1::DeleteSnapshotRequest { snapshot_id, ..Default::default() }, &codes).await
}
