//! Messages that pass, with every field set, and backends that can do everything or nothing.

#![allow(clippy::unnecessary_wraps, reason = "message fields are optional, so what fills them is too")]

use std::collections::BTreeMap;

use prost_types::Timestamp;

use crate::{Abilities, Feature, Interface};
use drivebay_proto::pb::csi::v1::*;
use volume_capability::{AccessMode, AccessType, MountVolume, access_mode::Mode};

pub(super) fn everything() -> Abilities {
    Abilities::new(Interface::ALL, Feature::ALL.iter().copied())
}

pub(super) fn without(feature: Feature) -> Abilities {
    let kept = Feature::ALL.iter().copied().filter(|kept| *kept != feature);
    Abilities::new(Interface::ALL, kept)
}

pub(super) fn without_interface(interface: Interface) -> Abilities {
    let kept = Interface::ALL.into_iter().filter(|kept| *kept != interface);
    Abilities::new(kept, Feature::ALL.iter().copied())
}

pub(super) fn map(key: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(key.to_owned(), value.to_owned())])
}

/// A map with a value of so many bytes.
pub(super) fn heavy(bytes: usize) -> BTreeMap<String, String> {
    map("k", &"v".repeat(bytes))
}

pub(super) fn capability() -> VolumeCapability {
    VolumeCapability {
        access_type: Some(AccessType::Mount(MountVolume {
            fs_type: "ext4".into(),
            mount_flags: vec!["noatime".into()],
            volume_mount_group: "1000".into(),
        })),
        access_mode: Some(AccessMode { mode: Mode::SingleNodeWriter.into() }),
    }
}

pub(super) fn in_mode(mode: i32) -> VolumeCapability {
    VolumeCapability { access_mode: Some(AccessMode { mode }), ..capability() }
}

/// A capability that any backend can have.
pub(super) fn plain() -> VolumeCapability {
    let mount = MountVolume { volume_mount_group: String::new(), ..MountVolume::default() };
    VolumeCapability { access_type: Some(AccessType::Mount(mount)), ..capability() }
}

pub(super) fn range(required_bytes: i64, limit_bytes: i64) -> Option<CapacityRange> {
    Some(CapacityRange { required_bytes, limit_bytes })
}

pub(super) fn place(zone: &str) -> Topology {
    Topology { segments: map("example.com/zone", zone) }
}

pub(super) fn places() -> Option<TopologyRequirement> {
    Some(TopologyRequirement { requisite: vec![place("a"), place("b")], preferred: vec![place("b")] })
}

pub(super) fn from_snapshot(id: &str) -> Option<VolumeContentSource> {
    let source = volume_content_source::SnapshotSource { snapshot_id: id.into() };
    Some(VolumeContentSource { r#type: Some(volume_content_source::Type::Snapshot(source)) })
}

pub(super) fn from_volume(id: &str) -> Option<VolumeContentSource> {
    let source = volume_content_source::VolumeSource { volume_id: id.into() };
    Some(VolumeContentSource { r#type: Some(volume_content_source::Type::Volume(source)) })
}

pub(super) fn create_volume() -> CreateVolumeRequest {
    CreateVolumeRequest {
        name: "pvc-1".into(),
        capacity_range: range(1 << 20, 1 << 21),
        volume_capabilities: vec![capability()],
        parameters: map("kind", "image"),
        secrets: map("user.name-1_a", "x"),
        volume_content_source: from_snapshot("s-1"),
        accessibility_requirements: places(),
        mutable_parameters: map("reserve", "thin"),
    }
}

pub(super) fn volume(id: &str) -> Volume {
    Volume {
        capacity_bytes: 1 << 20,
        volume_id: id.into(),
        volume_context: map("device", "7"),
        content_source: from_snapshot("s-1"),
        accessible_topology: vec![place("a")],
    }
}

pub(super) fn volume_made() -> CreateVolumeResponse {
    CreateVolumeResponse { volume: Some(volume("v-1")) }
}

pub(super) fn delete_volume() -> DeleteVolumeRequest {
    DeleteVolumeRequest { volume_id: "v-1".into(), secrets: map("key", "x") }
}

pub(super) fn validate() -> ValidateVolumeCapabilitiesRequest {
    ValidateVolumeCapabilitiesRequest {
        volume_id: "v-1".into(),
        volume_context: map("device", "7"),
        volume_capabilities: vec![capability()],
        parameters: map("kind", "image"),
        secrets: map("key", "x"),
        mutable_parameters: map("reserve", "thin"),
    }
}

pub(super) fn get_capacity() -> GetCapacityRequest {
    GetCapacityRequest {
        volume_capabilities: vec![capability()],
        parameters: map("kind", "image"),
        accessible_topology: Some(place("a")),
    }
}

pub(super) fn controller_expand() -> ControllerExpandVolumeRequest {
    ControllerExpandVolumeRequest {
        volume_id: "v-1".into(),
        capacity_range: range(1 << 21, 1 << 22),
        secrets: map("key", "x"),
        volume_capability: Some(capability()),
    }
}

pub(super) fn modify() -> ControllerModifyVolumeRequest {
    ControllerModifyVolumeRequest {
        volume_id: "v-1".into(),
        secrets: map("key", "x"),
        mutable_parameters: map("reserve", "full"),
    }
}

pub(super) fn controller_publish() -> ControllerPublishVolumeRequest {
    ControllerPublishVolumeRequest {
        volume_id: "v-1".into(),
        node_id: "worker-1".into(),
        volume_capability: Some(capability()),
        readonly: true,
        secrets: map("key", "x"),
        volume_context: map("device", "7"),
    }
}

pub(super) fn controller_unpublish() -> ControllerUnpublishVolumeRequest {
    ControllerUnpublishVolumeRequest { volume_id: "v-1".into(), node_id: "worker-1".into(), secrets: map("key", "x") }
}

pub(super) fn list_volumes() -> ListVolumesRequest {
    ListVolumesRequest { max_entries: 2, starting_token: "t-1".into() }
}

#[expect(deprecated, reason = "older clients still read the condition")]
pub(super) fn volumes_listed() -> ListVolumesResponse {
    let entry = |id| list_volumes_response::Entry {
        volume: Some(volume(id)),
        status: Some(list_volumes_response::VolumeStatus {
            published_node_ids: vec!["worker-1".into(), "worker-2".into()],
            volume_condition: Some(VolumeCondition { abnormal: false, message: "well".into() }),
        }),
    };
    ListVolumesResponse { entries: vec![entry("v-1"), entry("v-2")], next_token: "t-2".into() }
}

pub(super) fn get_volume() -> ControllerGetVolumeRequest {
    ControllerGetVolumeRequest { volume_id: "v-1".into() }
}

pub(super) fn create_snapshot() -> CreateSnapshotRequest {
    CreateSnapshotRequest {
        source_volume_id: "v-1".into(),
        name: "snapshot-1".into(),
        secrets: map("key", "x"),
        parameters: map("kind", "image"),
        accessibility_requirements: places(),
    }
}

pub(super) fn moment() -> Option<Timestamp> {
    Some(Timestamp { seconds: 1_750_000_000, nanos: 5 })
}

pub(super) fn snapshot(id: &str) -> Snapshot {
    Snapshot {
        size_bytes: 1 << 20,
        snapshot_id: id.into(),
        source_volume_id: "v-1".into(),
        creation_time: moment(),
        ready_to_use: true,
        group_snapshot_id: String::new(),
        accessible_topology: vec![place("a")],
    }
}

pub(super) fn delete_snapshot() -> DeleteSnapshotRequest {
    DeleteSnapshotRequest { snapshot_id: "s-1".into(), secrets: map("key", "x") }
}

pub(super) fn get_snapshot() -> GetSnapshotRequest {
    GetSnapshotRequest { snapshot_id: "s-1".into(), secrets: map("key", "x") }
}

pub(super) fn list_snapshots() -> ListSnapshotsRequest {
    ListSnapshotsRequest {
        max_entries: 2,
        source_volume_id: "v-1".into(),
        secrets: map("key", "x"),
        ..ListSnapshotsRequest::default()
    }
}

pub(super) fn create_group() -> CreateVolumeGroupSnapshotRequest {
    CreateVolumeGroupSnapshotRequest {
        name: "groupsnapshot-1".into(),
        source_volume_ids: vec!["v-1".into(), "v-2".into()],
        secrets: map("key", "x"),
        parameters: map("kind", "image"),
    }
}

pub(super) fn delete_group() -> DeleteVolumeGroupSnapshotRequest {
    DeleteVolumeGroupSnapshotRequest {
        group_snapshot_id: "g-1".into(),
        snapshot_ids: vec!["s-1".into(), "s-2".into()],
        secrets: map("key", "x"),
    }
}

pub(super) fn get_group() -> GetVolumeGroupSnapshotRequest {
    GetVolumeGroupSnapshotRequest {
        group_snapshot_id: "g-1".into(),
        snapshot_ids: vec!["s-2".into(), "s-1".into()],
        secrets: map("key", "x"),
    }
}

pub(super) fn group() -> Option<VolumeGroupSnapshot> {
    let member = |id, volume: &str| Snapshot {
        source_volume_id: volume.into(),
        group_snapshot_id: "g-1".into(),
        ..snapshot(id)
    };
    Some(VolumeGroupSnapshot {
        group_snapshot_id: "g-1".into(),
        snapshots: vec![member("s-1", "v-1"), member("s-2", "v-2")],
        creation_time: moment(),
        ready_to_use: true,
    })
}

pub(super) fn get_allocated() -> GetMetadataAllocatedRequest {
    GetMetadataAllocatedRequest {
        snapshot_id: "s-1".into(),
        starting_offset: 0,
        max_results: 2,
        secrets: map("key", "x"),
    }
}

pub(super) fn get_delta() -> GetMetadataDeltaRequest {
    GetMetadataDeltaRequest {
        base_snapshot_id: "s-1".into(),
        target_snapshot_id: "s-2".into(),
        starting_offset: 0,
        max_results: 2,
        secrets: map("key", "x"),
    }
}

pub(super) fn stage() -> NodeStageVolumeRequest {
    NodeStageVolumeRequest {
        volume_id: "v-1".into(),
        publish_context: map("lun", "3"),
        staging_target_path: "/var/lib/staging/v-1".into(),
        volume_capability: Some(capability()),
        secrets: map("key", "x"),
        volume_context: map("device", "7"),
    }
}

pub(super) fn unstage() -> NodeUnstageVolumeRequest {
    NodeUnstageVolumeRequest { volume_id: "v-1".into(), staging_target_path: "/var/lib/staging/v-1".into() }
}

pub(super) fn publish() -> NodePublishVolumeRequest {
    NodePublishVolumeRequest {
        volume_id: "v-1".into(),
        publish_context: map("lun", "3"),
        staging_target_path: "/var/lib/staging/v-1".into(),
        target_path: "/var/lib/pods/1/mount".into(),
        volume_capability: Some(capability()),
        readonly: true,
        secrets: map("key", "x"),
        volume_context: map("device", "7"),
    }
}

pub(super) fn unpublish() -> NodeUnpublishVolumeRequest {
    NodeUnpublishVolumeRequest { volume_id: "v-1".into(), target_path: "/var/lib/pods/1/mount".into() }
}

pub(super) fn stats() -> NodeGetVolumeStatsRequest {
    NodeGetVolumeStatsRequest {
        volume_id: "v-1".into(),
        volume_path: "/var/lib/pods/1/mount".into(),
        staging_target_path: "/var/lib/staging/v-1".into(),
    }
}

pub(super) fn node_expand() -> NodeExpandVolumeRequest {
    NodeExpandVolumeRequest {
        volume_id: "v-1".into(),
        volume_path: "/var/lib/pods/1/mount".into(),
        capacity_range: range(1 << 21, 0),
        staging_target_path: "/var/lib/staging/v-1".into(),
        volume_capability: Some(capability()),
        secrets: map("key", "x"),
    }
}

pub(super) fn list_health() -> ControllerListVolumeHealthRequest {
    ControllerListVolumeHealthRequest { max_entries: 2, starting_token: "t-1".into(), secrets: map("key", "x") }
}

pub(super) fn get_health() -> ControllerGetVolumeHealthRequest {
    ControllerGetVolumeHealthRequest { volume_id: "v-1".into(), secrets: map("key", "x") }
}

pub(super) fn node_health() -> NodeGetVolumeHealthRequest {
    NodeGetVolumeHealthRequest {
        volume_id: "v-1".into(),
        volume_publish_path: "/var/lib/pods/1/mount".into(),
        staging_target_path: "/var/lib/staging/v-1".into(),
    }
}

pub(super) fn storage_health() -> NodeGetStorageHealthRequest {
    NodeGetStorageHealthRequest { secrets: map("key", "x") }
}

pub(super) fn health(id: &str) -> VolumeHealth {
    let entry = |status: VolumeHealthErrorType, reason: &str| volume_health::VolumeHealthEntry {
        status: status.into(),
        reason: reason.into(),
        message: "one of two disks is gone".into(),
    };
    VolumeHealth {
        volume_id: id.into(),
        health_statuses: vec![
            entry(VolumeHealthErrorType::Degraded, "MirrorBroken"),
            entry(VolumeHealthErrorType::Inaccessible, "MirrorBroken"),
        ],
    }
}
