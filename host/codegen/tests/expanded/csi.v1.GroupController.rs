//! What the generator makes of one service: its own conversions, then its calls.
//!
//! It owns nothing and is never compiled; host/codegen/tests/golden.rs compares it, because a wrong
//! pair is easier to see in a diff than in a failing call.

record! {
    csi_v1_create_volume_group_snapshot_request_is_group_snapshots_create_group_snapshot_request: pb::csi::v1::CreateVolumeGroupSnapshotRequest, exported::group_snapshots::CreateGroupSnapshotRequest, request;
    name: field => name,
    source_volume_ids: field => source_volume_ids,
    secrets: field => secrets,
    parameters: field => parameters,
}

wrapper! {
    csi_v1_create_volume_group_snapshot_response_is_group_snapshots_group_snapshot: pb::csi::v1::CreateVolumeGroupSnapshotResponse, exported::group_snapshots::GroupSnapshot, answer;
    group_snapshot: required,
}

record! {
    csi_v1_delete_volume_group_snapshot_request_is_group_snapshots_delete_group_snapshot_request: pb::csi::v1::DeleteVolumeGroupSnapshotRequest, exported::group_snapshots::DeleteGroupSnapshotRequest, request;
    group_snapshot_id: field => group_snapshot_id,
    snapshot_ids: field => snapshot_ids,
    secrets: field => secrets,
}

record! {
    csi_v1_get_volume_group_snapshot_request_is_group_snapshots_get_group_snapshot_request: pb::csi::v1::GetVolumeGroupSnapshotRequest, exported::group_snapshots::GetGroupSnapshotRequest, request;
    group_snapshot_id: field => group_snapshot_id,
    snapshot_ids: field => snapshot_ids,
    secrets: field => secrets,
}

wrapper! {
    csi_v1_get_volume_group_snapshot_response_is_group_snapshots_group_snapshot: pb::csi::v1::GetVolumeGroupSnapshotResponse, exported::group_snapshots::GroupSnapshot, answer;
    group_snapshot: required,
}

record! {
    csi_v1_volume_group_snapshot_is_group_snapshots_group_snapshot: pb::csi::v1::VolumeGroupSnapshot, exported::group_snapshots::GroupSnapshot, answer;
    group_snapshot_id: field => group_snapshot_id,
    snapshots: field => snapshots,
    creation_time: required => creation_time,
    ready_to_use: field => ready_to_use,
}

call! {
    CreateVolumeGroupSnapshot: pb::csi::v1::CreateVolumeGroupSnapshotRequest => pb::csi::v1::CreateVolumeGroupSnapshotResponse,
    GroupSnapshots, request exported::group_snapshots::CreateGroupSnapshotRequest => exported::group_snapshots::GroupSnapshot, message
}

call! {
    DeleteVolumeGroupSnapshot: pb::csi::v1::DeleteVolumeGroupSnapshotRequest => pb::csi::v1::DeleteVolumeGroupSnapshotResponse,
    GroupSnapshots, request exported::group_snapshots::DeleteGroupSnapshotRequest => (), empty
}

call! {
    GetVolumeGroupSnapshot: pb::csi::v1::GetVolumeGroupSnapshotRequest => pb::csi::v1::GetVolumeGroupSnapshotResponse,
    GroupSnapshots, request exported::group_snapshots::GetGroupSnapshotRequest => exported::group_snapshots::GroupSnapshot, message
}
