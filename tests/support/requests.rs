//! Well-formed requests, each the plainest of its kind; tests change what they are about.

use drivebay_proto::pb::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume, access_mode::Mode};
use drivebay_proto::pb::csi::v1::{
    CapacityRange, ControllerExpandVolumeRequest, ControllerModifyVolumeRequest, ControllerPublishVolumeRequest,
    ControllerUnpublishVolumeRequest, CreateSnapshotRequest, CreateVolumeGroupSnapshotRequest, CreateVolumeRequest,
    DeleteSnapshotRequest, DeleteVolumeGroupSnapshotRequest, DeleteVolumeRequest, NodeExpandVolumeRequest,
    NodePublishVolumeRequest, NodeStageVolumeRequest, NodeUnpublishVolumeRequest, NodeUnstageVolumeRequest,
    ValidateVolumeCapabilitiesRequest, VolumeCapability, VolumeContentSource, volume_content_source as source,
};

pub const GIB: i64 = 1 << 30;

pub fn capability() -> VolumeCapability {
    VolumeCapability {
        access_mode: Some(AccessMode { mode: Mode::SingleNodeWriter.into() }),
        access_type: Some(AccessType::Mount(MountVolume::default())),
    }
}

pub fn size(required: i64) -> CapacityRange {
    CapacityRange { required_bytes: required, limit_bytes: 0 }
}

pub fn create(name: &str) -> CreateVolumeRequest {
    CreateVolumeRequest {
        name: name.to_owned(),
        capacity_range: Some(size(GIB)),
        volume_capabilities: vec![capability()],
        ..Default::default()
    }
}

pub fn restore(name: &str, snapshot: &str) -> CreateVolumeRequest {
    let snapshot = source::SnapshotSource { snapshot_id: snapshot.to_owned() };
    let source = VolumeContentSource { r#type: Some(source::Type::Snapshot(snapshot)) };
    CreateVolumeRequest { volume_content_source: Some(source), ..create(name) }
}

pub fn clone(name: &str, volume: &str) -> CreateVolumeRequest {
    let volume = source::VolumeSource { volume_id: volume.to_owned() };
    let source = VolumeContentSource { r#type: Some(source::Type::Volume(volume)) };
    CreateVolumeRequest { volume_content_source: Some(source), ..create(name) }
}

pub fn delete(volume: &str) -> DeleteVolumeRequest {
    DeleteVolumeRequest { volume_id: volume.to_owned(), ..Default::default() }
}

pub fn validate(volume: &str) -> ValidateVolumeCapabilitiesRequest {
    ValidateVolumeCapabilitiesRequest {
        volume_id: volume.to_owned(),
        volume_capabilities: vec![capability()],
        ..Default::default()
    }
}

pub fn attach(volume: &str) -> ControllerPublishVolumeRequest {
    ControllerPublishVolumeRequest {
        volume_id: volume.to_owned(),
        node_id: "tester-node".to_owned(),
        volume_capability: Some(capability()),
        ..Default::default()
    }
}

pub fn detach(volume: &str) -> ControllerUnpublishVolumeRequest {
    ControllerUnpublishVolumeRequest {
        volume_id: volume.to_owned(),
        node_id: "tester-node".to_owned(),
        ..Default::default()
    }
}

pub fn expand(volume: &str, required: i64) -> ControllerExpandVolumeRequest {
    ControllerExpandVolumeRequest {
        volume_id: volume.to_owned(),
        capacity_range: Some(size(required)),
        ..Default::default()
    }
}

pub fn modify(volume: &str) -> ControllerModifyVolumeRequest {
    ControllerModifyVolumeRequest {
        volume_id: volume.to_owned(),
        mutable_parameters: [("speed".to_owned(), "high".to_owned())].into(),
        ..Default::default()
    }
}

pub fn snapshot(name: &str, volume: &str) -> CreateSnapshotRequest {
    CreateSnapshotRequest { name: name.to_owned(), source_volume_id: volume.to_owned(), ..Default::default() }
}

pub fn delete_snapshot(snapshot: &str) -> DeleteSnapshotRequest {
    DeleteSnapshotRequest { snapshot_id: snapshot.to_owned(), ..Default::default() }
}

pub fn group_snapshot(name: &str, volumes: &[&str]) -> CreateVolumeGroupSnapshotRequest {
    CreateVolumeGroupSnapshotRequest {
        name: name.to_owned(),
        source_volume_ids: volumes.iter().map(|id| (*id).to_owned()).collect(),
        ..Default::default()
    }
}

pub fn delete_group_snapshot(group: &str, snapshots: &[&str]) -> DeleteVolumeGroupSnapshotRequest {
    DeleteVolumeGroupSnapshotRequest {
        group_snapshot_id: group.to_owned(),
        snapshot_ids: snapshots.iter().map(|id| (*id).to_owned()).collect(),
        ..Default::default()
    }
}

pub fn stage(volume: &str) -> NodeStageVolumeRequest {
    NodeStageVolumeRequest {
        volume_id: volume.to_owned(),
        staging_target_path: "/nowhere/staging".to_owned(),
        volume_capability: Some(capability()),
        ..Default::default()
    }
}

pub fn unstage(volume: &str) -> NodeUnstageVolumeRequest {
    NodeUnstageVolumeRequest { volume_id: volume.to_owned(), staging_target_path: "/nowhere/staging".to_owned() }
}

pub fn publish(volume: &str) -> NodePublishVolumeRequest {
    NodePublishVolumeRequest {
        volume_id: volume.to_owned(),
        staging_target_path: "/nowhere/staging".to_owned(),
        target_path: "/nowhere/target".to_owned(),
        volume_capability: Some(capability()),
        ..Default::default()
    }
}

pub fn unpublish(volume: &str) -> NodeUnpublishVolumeRequest {
    NodeUnpublishVolumeRequest { volume_id: volume.to_owned(), target_path: "/nowhere/target".to_owned() }
}

pub fn node_expand(volume: &str) -> NodeExpandVolumeRequest {
    NodeExpandVolumeRequest {
        volume_id: volume.to_owned(),
        volume_path: "/nowhere/target".to_owned(),
        ..Default::default()
    }
}
