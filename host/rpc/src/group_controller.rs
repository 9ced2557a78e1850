//! `csi.v1.GroupController`: one row an RPC.

use super::table::service;
use super::{Effect, Rpc};
use drivebay_admission::{LockSet, ObjectKind};
use drivebay_proto::pb::csi::v1::{self, group_controller_server};

service! {
    group_controller_server::GroupController => Front;
    facts {
        group_controller_get_capabilities: GroupControllerGetCapabilities, GroupControllerGetCapabilitiesRequest => GroupControllerGetCapabilitiesResponse, group_controller;
    }
    guest {
        create_volume_group_snapshot: CreateVolumeGroupSnapshotRequest => CreateVolumeGroupSnapshotResponse, Changes, |r| r
            .source_volume_ids
            .iter()
            .fold(LockSet::none().exclusive(ObjectKind::GroupSnapshotName, &r.name), |set, id| set.shared(ObjectKind::Volume, id)), makes |r| made(r);
        delete_volume_group_snapshot: DeleteVolumeGroupSnapshotRequest => DeleteVolumeGroupSnapshotResponse, Changes, |r| r
            .snapshot_ids
            .iter()
            .fold(LockSet::none().exclusive(ObjectKind::GroupSnapshot, &r.group_snapshot_id), |set, id| set.exclusive(ObjectKind::Snapshot, id)), [asks];
        get_volume_group_snapshot: GetVolumeGroupSnapshotRequest => GetVolumeGroupSnapshotResponse, Reads, |_| LockSet::none(), about |r| LockSet::none().shared(ObjectKind::GroupSnapshot, &r.group_snapshot_id);
    }
}

/// The group snapshot, and its snapshots.
fn made(answer: &v1::CreateVolumeGroupSnapshotResponse) -> LockSet {
    let Some(group) = &answer.group_snapshot else { return LockSet::none() };
    let set = LockSet::none().exclusive(ObjectKind::GroupSnapshot, &group.group_snapshot_id);
    group.snapshots.iter().fold(set, |set, made| set.exclusive(ObjectKind::Snapshot, &made.snapshot_id))
}
