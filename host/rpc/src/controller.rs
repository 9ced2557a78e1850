//! `csi.v1.Controller`: one row an RPC.

use super::Rpc;
use super::table::service;
use drivebay_admission::{LockSet, ObjectKind};
use drivebay_proto::pb::csi::v1::volume_content_source::Type as Source;
use drivebay_proto::pb::csi::v1::{self, controller_server};

service! {
    controller_server::Controller => Front;
    facts {
        controller_get_capabilities: ControllerGetCapabilities,
            ControllerGetCapabilitiesRequest => ControllerGetCapabilitiesResponse, controller;
    }
    guest {
        create_volume: CreateVolumeRequest, |r| source_of(
                LockSet::none().exclusive(ObjectKind::VolumeName, &r.name),
                r.volume_content_source.as_ref().and_then(|s| s.r#type.as_ref()),
            ),
            makes |r| r.volume.as_ref().map_or_else(LockSet::none, |made| volume(&made.volume_id));
        delete_volume: DeleteVolumeRequest, |r| volume(&r.volume_id), [asks];
        controller_publish_volume: ControllerPublishVolumeRequest, |r| volume(&r.volume_id);
        controller_unpublish_volume: ControllerUnpublishVolumeRequest, |r| volume(&r.volume_id);
        validate_volume_capabilities: ValidateVolumeCapabilitiesRequest, |_| LockSet::none(),
            about |r| volume(&r.volume_id);
        list_volumes: ListVolumesRequest, |_| LockSet::none();
        controller_get_volume: ControllerGetVolumeRequest, |_| LockSet::none(),
            about |r| volume(&r.volume_id);
        controller_list_volume_health: ControllerListVolumeHealthRequest, |_| LockSet::none();
        controller_get_volume_health: ControllerGetVolumeHealthRequest, |_| LockSet::none(),
            about |r| volume(&r.volume_id);
        controller_modify_volume: ControllerModifyVolumeRequest, |r| volume(&r.volume_id);
        get_capacity: GetCapacityRequest, |_| LockSet::none();
        create_snapshot: CreateSnapshotRequest, |r| LockSet::none()
                .exclusive(ObjectKind::SnapshotName, &r.name)
                .shared(ObjectKind::Volume, &r.source_volume_id),
            makes |r| r.snapshot.as_ref().map_or_else(LockSet::none, |made| snapshot(&made.snapshot_id));
        delete_snapshot: DeleteSnapshotRequest, |r| snapshot(&r.snapshot_id), [asks];
        list_snapshots: ListSnapshotsRequest, |_| LockSet::none();
        get_snapshot: GetSnapshotRequest, |_| LockSet::none(),
            about |r| LockSet::none().shared(ObjectKind::Snapshot, &r.snapshot_id);
        controller_expand_volume: ControllerExpandVolumeRequest, |r| volume(&r.volume_id);
    }
}

pub(super) fn volume(id: &str) -> LockSet {
    LockSet::none().exclusive(ObjectKind::Volume, id)
}

fn snapshot(id: &str) -> LockSet {
    LockSet::none().exclusive(ObjectKind::Snapshot, id)
}

/// A source is read, not changed: many volumes can be made from it at once.
fn source_of(set: LockSet, source: Option<&Source>) -> LockSet {
    match source {
        Some(Source::Snapshot(snapshot)) => set.shared(ObjectKind::Snapshot, &snapshot.snapshot_id),
        Some(Source::Volume(volume)) => set.shared(ObjectKind::Volume, &volume.volume_id),
        None => set,
    }
}
