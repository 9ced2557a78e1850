//! The rows of the Controller, Node and `GroupController` services of CSI.

use super::{
    attachment, expansion, group_snapshots, health, listing, node_info, node_publish, node_stage, snapshots, volumes,
};
use crate::call::{Area, serve};
use crate::locks::Key;
use crate::pb::csi::v1::*;
use crate::world::World;

/// A call that changes nothing, or whose change two callers may make at once.
pub(crate) fn nothing<Q>(_: &World, _: usize, _: &Q) -> Vec<Key> {
    Vec::new()
}

/// What a call changes, as a function of its request.
macro_rules! changes {
    ($($name:ident: $request:ty => $kind:literal $field:ident;)*) => {
        $(fn $name(_: &World, _: usize, request: &$request) -> Vec<Key> {
            vec![($kind, request.$field.clone())]
        })*
    };
}

changes! {
    a_new_volume: CreateVolumeRequest => "volume name" name;
    a_dead_volume: DeleteVolumeRequest => "volume" volume_id;
    an_attached_volume: ControllerPublishVolumeRequest => "volume" volume_id;
    a_detached_volume: ControllerUnpublishVolumeRequest => "volume" volume_id;
    a_modified_volume: ControllerModifyVolumeRequest => "volume" volume_id;
    a_larger_volume: ControllerExpandVolumeRequest => "volume" volume_id;
    a_new_snapshot: CreateSnapshotRequest => "snapshot name" name;
    a_dead_snapshot: DeleteSnapshotRequest => "snapshot" snapshot_id;
    a_new_group_snapshot: CreateVolumeGroupSnapshotRequest => "group snapshot name" name;
    a_dead_group_snapshot: DeleteVolumeGroupSnapshotRequest => "group snapshot" group_snapshot_id;
    a_staged_volume: NodeStageVolumeRequest => "staged volume" volume_id;
    an_unstaged_volume: NodeUnstageVolumeRequest => "staged volume" volume_id;
    a_published_volume: NodePublishVolumeRequest => "target" target_path;
    a_withdrawn_volume: NodeUnpublishVolumeRequest => "target" target_path;
    a_larger_file_system: NodeExpandVolumeRequest => "staged volume" volume_id;
}

serve! { "csi": controller_server::Controller, Area::Controller;
    [secret] create_volume(CreateVolumeRequest) -> CreateVolumeResponse, "controller.CREATE_DELETE_VOLUME", a_new_volume, volumes::create;
    [secret] delete_volume(DeleteVolumeRequest) -> DeleteVolumeResponse, "controller.CREATE_DELETE_VOLUME", a_dead_volume, volumes::delete;
    [secret] controller_publish_volume(ControllerPublishVolumeRequest) -> ControllerPublishVolumeResponse, "controller.PUBLISH_UNPUBLISH_VOLUME", an_attached_volume, attachment::publish;
    [secret] controller_unpublish_volume(ControllerUnpublishVolumeRequest) -> ControllerUnpublishVolumeResponse, "controller.PUBLISH_UNPUBLISH_VOLUME", a_detached_volume, attachment::unpublish;
    [secret] validate_volume_capabilities(ValidateVolumeCapabilitiesRequest) -> ValidateVolumeCapabilitiesResponse, "plugin.CONTROLLER_SERVICE", nothing, volumes::validate;
    [open] list_volumes(ListVolumesRequest) -> ListVolumesResponse, "controller.LIST_VOLUMES", nothing, listing::list;
    [open] controller_get_volume(ControllerGetVolumeRequest) -> ControllerGetVolumeResponse, "controller.GET_VOLUME", nothing, listing::get;
    [secret] controller_list_volume_health(ControllerListVolumeHealthRequest) -> ControllerListVolumeHealthResponse, "controller.LIST_VOLUME_HEALTH", nothing, health::list;
    [secret] controller_get_volume_health(ControllerGetVolumeHealthRequest) -> ControllerGetVolumeHealthResponse, "controller.LIST_VOLUME_HEALTH", nothing, health::get;
    [open] get_capacity(GetCapacityRequest) -> GetCapacityResponse, "controller.GET_CAPACITY", nothing, listing::capacity;
    [open] controller_get_capabilities(ControllerGetCapabilitiesRequest) -> ControllerGetCapabilitiesResponse, "plugin.CONTROLLER_SERVICE", nothing, listing::capabilities;
    [secret] create_snapshot(CreateSnapshotRequest) -> CreateSnapshotResponse, "controller.CREATE_DELETE_SNAPSHOT", a_new_snapshot, snapshots::create;
    [secret] delete_snapshot(DeleteSnapshotRequest) -> DeleteSnapshotResponse, "controller.CREATE_DELETE_SNAPSHOT", a_dead_snapshot, snapshots::delete;
    [secret] list_snapshots(ListSnapshotsRequest) -> ListSnapshotsResponse, "controller.LIST_SNAPSHOTS", nothing, snapshots::list;
    [secret] get_snapshot(GetSnapshotRequest) -> GetSnapshotResponse, "controller.GET_SNAPSHOT", nothing, snapshots::get;
    [secret] controller_expand_volume(ControllerExpandVolumeRequest) -> ControllerExpandVolumeResponse, "controller.EXPAND_VOLUME", a_larger_volume, expansion::controller;
    [secret] controller_modify_volume(ControllerModifyVolumeRequest) -> ControllerModifyVolumeResponse, "controller.MODIFY_VOLUME", a_modified_volume, volumes::modify;
}

serve! { "csi": group_controller_server::GroupController, Area::Controller;
    [open] group_controller_get_capabilities(GroupControllerGetCapabilitiesRequest) -> GroupControllerGetCapabilitiesResponse, "plugin.GROUP_CONTROLLER_SERVICE", nothing, group_snapshots::capabilities;
    [secret] create_volume_group_snapshot(CreateVolumeGroupSnapshotRequest) -> CreateVolumeGroupSnapshotResponse, "group-snapshots.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT", a_new_group_snapshot, group_snapshots::create;
    [secret] delete_volume_group_snapshot(DeleteVolumeGroupSnapshotRequest) -> DeleteVolumeGroupSnapshotResponse, "group-snapshots.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT", a_dead_group_snapshot, group_snapshots::delete;
    [secret] get_volume_group_snapshot(GetVolumeGroupSnapshotRequest) -> GetVolumeGroupSnapshotResponse, "group-snapshots.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT", nothing, group_snapshots::get;
}

serve! { "csi": node_server::Node, Area::Node;
    [secret] node_stage_volume(NodeStageVolumeRequest) -> NodeStageVolumeResponse, "node.STAGE_UNSTAGE_VOLUME", a_staged_volume, node_stage::stage;
    [open] node_unstage_volume(NodeUnstageVolumeRequest) -> NodeUnstageVolumeResponse, "node.STAGE_UNSTAGE_VOLUME", an_unstaged_volume, node_stage::unstage;
    [secret] node_publish_volume(NodePublishVolumeRequest) -> NodePublishVolumeResponse, "", a_published_volume, node_publish::publish;
    [open] node_unpublish_volume(NodeUnpublishVolumeRequest) -> NodeUnpublishVolumeResponse, "", a_withdrawn_volume, node_publish::unpublish;
    [open] node_get_volume_stats(NodeGetVolumeStatsRequest) -> NodeGetVolumeStatsResponse, "node.GET_VOLUME_STATS", nothing, node_info::stats;
    [open] node_get_volume_health(NodeGetVolumeHealthRequest) -> NodeGetVolumeHealthResponse, "node.GET_VOLUME_HEALTH", nothing, health::on_node;
    [secret] node_get_storage_health(NodeGetStorageHealthRequest) -> NodeGetStorageHealthResponse, "node.GET_STORAGE_HEALTH", nothing, health::storage;
    [secret] node_expand_volume(NodeExpandVolumeRequest) -> NodeExpandVolumeResponse, "node.EXPAND_VOLUME", a_larger_file_system, expansion::node;
    [open] node_get_capabilities(NodeGetCapabilitiesRequest) -> NodeGetCapabilitiesResponse, "", nothing, node_info::capabilities;
    [open] node_get_info(NodeGetInfoRequest) -> NodeGetInfoResponse, "", nothing, node_info::info;
}
