//! A call of every RPC of `csi.v1` on given objects, with what must have happened before it. Judges no
//! answer; which of them exclude each other is in the table of rows.

use std::future::Future;
use std::pin::Pin;

use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::group_controller_client::GroupControllerClient;
use drivebay_proto::pb::csi::v1::identity_client::IdentityClient;
use drivebay_proto::pb::csi::v1::node_client::NodeClient;
use drivebay_proto::pb::csi::v1::snapshot_metadata_client::SnapshotMetadataClient;
use drivebay_proto::pb::csi::v1::{self, VolumeCapability};
use tonic::transport::Channel;
use tonic::{Request, Status};

use super::rows::Row;
use super::{MIB, block};
use crate::support::{PATIENCE, requests};

pub type Answer = Pin<Box<dyn Future<Output = Result<(), Status>> + Send>>;

/// The objects that all calls of a round are about.
#[derive(Debug, Clone)]
pub struct Objects {
    pub name: String,
    pub volume: String,
    pub snapshot: String,
    pub group: String,
    /// The snapshot that belongs to the group.
    pub member: String,
    pub staging: String,
    pub target: String,
    pub capability: VolumeCapability,
}

/// A call of a row.
pub struct Call {
    pub name: &'static str,
    /// Calls that bring about what it needs; by their names.
    pub before: &'static [&'static str],
    pub run: fn(Channel, Objects) -> Answer,
}

macro_rules! call {
    ($name:literal, [$($before:literal),*], $client:ident.$call:ident(|$o:ident| $request:expr)) => {
        Call {
            name: $name,
            before: &[$($before),*],
            run: |channel, $o| Box::pin(async move {
                let mut request = Request::new($request);
                // What is not refused at once would wait for the pool.
                request.set_timeout(PATIENCE);
                $client::new(channel).$call(request).await.map(drop)
            }),
        }
    };
}

fn create(o: &Objects, source: Option<v1::VolumeContentSource>) -> v1::CreateVolumeRequest {
    let bytes =
        if matches!(o.capability.access_type, Some(v1::volume_capability::AccessType::Block(_))) { 4 } else { 320 };
    v1::CreateVolumeRequest {
        volume_capabilities: vec![o.capability.clone()],
        volume_content_source: source,
        ..block(&o.name, bytes * MIB)
    }
}

/// A call for every row of the table.
#[expect(clippy::too_many_lines, reason = "a table, one row a call")]
#[expect(unused_braces, reason = "a request that does not fit on its row is written as a block")]
pub fn calls() -> Vec<Call> {
    vec![
        call!("CreateVolume/new", [], ControllerClient.create_volume(|o| create(&o, None))),
        call!(
            "CreateVolume/restore",
            [],
            ControllerClient
                .create_volume(|o| { create(&o, requests::restore("", &o.snapshot).volume_content_source) })
        ),
        call!(
            "CreateVolume/clone",
            [],
            ControllerClient.create_volume(|o| { create(&o, requests::clone("", &o.volume).volume_content_source) })
        ),
        call!("DeleteVolume", [], ControllerClient.delete_volume(|o| requests::delete(&o.volume))),
        call!(
            "ControllerPublishVolume",
            [],
            ControllerClient.controller_publish_volume(|o| {
                v1::ControllerPublishVolumeRequest {
                    node_id: "n1".to_owned(),
                    volume_capability: Some(o.capability),
                    ..requests::attach(&o.volume)
                }
            })
        ),
        call!(
            "ControllerUnpublishVolume",
            ["ControllerPublishVolume"],
            ControllerClient.controller_unpublish_volume(|o| {
                v1::ControllerUnpublishVolumeRequest { node_id: "n1".to_owned(), ..requests::detach(&o.volume) }
            })
        ),
        call!(
            "ControllerModifyVolume",
            [],
            ControllerClient.controller_modify_volume(|o| {
                let full = [("reserve".to_owned(), "full".to_owned())].into();
                v1::ControllerModifyVolumeRequest { mutable_parameters: full, ..requests::modify(&o.volume) }
            })
        ),
        call!(
            "ControllerExpandVolume",
            [],
            ControllerClient.controller_expand_volume(|o| requests::expand(&o.volume, 400 * MIB))
        ),
        call!("CreateSnapshot", [], ControllerClient.create_snapshot(|o| requests::snapshot(&o.name, &o.volume))),
        call!("DeleteSnapshot", [], ControllerClient.delete_snapshot(|o| requests::delete_snapshot(&o.snapshot))),
        call!(
            "CreateVolumeGroupSnapshot",
            [],
            GroupControllerClient.create_volume_group_snapshot(|o| { requests::group_snapshot(&o.name, &[&o.volume]) })
        ),
        call!(
            "DeleteVolumeGroupSnapshot",
            [],
            GroupControllerClient
                .delete_volume_group_snapshot(|o| { requests::delete_group_snapshot(&o.group, &[&o.snapshot]) })
        ),
        call!(
            "NodeStageVolume",
            [],
            NodeClient.node_stage_volume(|o| v1::NodeStageVolumeRequest {
                staging_target_path: o.staging,
                volume_capability: Some(o.capability),
                ..requests::stage(&o.volume)
            })
        ),
        call!(
            "NodeUnstageVolume",
            ["NodeStageVolume"],
            NodeClient.node_unstage_volume(|o| {
                v1::NodeUnstageVolumeRequest { staging_target_path: o.staging, ..requests::unstage(&o.volume) }
            })
        ),
        call!(
            "NodePublishVolume",
            ["NodeStageVolume"],
            NodeClient.node_publish_volume(|o| {
                v1::NodePublishVolumeRequest {
                    staging_target_path: o.staging,
                    target_path: o.target,
                    volume_capability: Some(o.capability),
                    ..requests::publish(&o.volume)
                }
            })
        ),
        call!(
            "NodeUnpublishVolume",
            ["NodeStageVolume", "NodePublishVolume"],
            NodeClient.node_unpublish_volume(|o| {
                v1::NodeUnpublishVolumeRequest { target_path: o.target, ..requests::unpublish(&o.volume) }
            })
        ),
        call!(
            "NodeExpandVolume",
            ["NodeStageVolume", "ControllerExpandVolume"],
            NodeClient.node_expand_volume(|o| {
                v1::NodeExpandVolumeRequest {
                    volume_path: o.staging.clone(),
                    staging_target_path: o.staging,
                    capacity_range: Some(requests::size(400 * MIB)),
                    ..requests::node_expand(&o.volume)
                }
            })
        ),
        call!(
            "GetMetadataAllocated",
            [],
            SnapshotMetadataClient.get_metadata_allocated(|o| {
                v1::GetMetadataAllocatedRequest { snapshot_id: o.snapshot, ..Default::default() }
            })
        ),
        call!(
            "GetMetadataDelta",
            [],
            SnapshotMetadataClient.get_metadata_delta(|o| v1::GetMetadataDeltaRequest {
                base_snapshot_id: o.snapshot.clone(),
                target_snapshot_id: o.snapshot,
                ..Default::default()
            })
        ),
        call!("GetPluginInfo", [], IdentityClient.get_plugin_info(|_o| v1::GetPluginInfoRequest {})),
        call!(
            "GetPluginCapabilities",
            [],
            IdentityClient.get_plugin_capabilities(|_o| v1::GetPluginCapabilitiesRequest {})
        ),
        call!("Probe", [], IdentityClient.probe(|_o| v1::ProbeRequest {})),
        call!(
            "ValidateVolumeCapabilities",
            [],
            ControllerClient.validate_volume_capabilities(|o| requests::validate(&o.volume))
        ),
        call!("ListVolumes", [], ControllerClient.list_volumes(|_o| v1::ListVolumesRequest::default())),
        call!(
            "ControllerListVolumeHealth",
            [],
            ControllerClient.controller_list_volume_health(|_o| { v1::ControllerListVolumeHealthRequest::default() })
        ),
        call!(
            "ControllerGetVolumeHealth",
            [],
            ControllerClient.controller_get_volume_health(|o| {
                v1::ControllerGetVolumeHealthRequest { volume_id: o.volume, ..Default::default() }
            })
        ),
        call!("GetCapacity", [], ControllerClient.get_capacity(|_o| v1::GetCapacityRequest::default())),
        call!(
            "ControllerGetCapabilities",
            [],
            ControllerClient.controller_get_capabilities(|_o| { v1::ControllerGetCapabilitiesRequest {} })
        ),
        call!("ListSnapshots", [], ControllerClient.list_snapshots(|_o| v1::ListSnapshotsRequest::default())),
        call!(
            "GetSnapshot",
            [],
            ControllerClient
                .get_snapshot(|o| { v1::GetSnapshotRequest { snapshot_id: o.snapshot, ..Default::default() } })
        ),
        call!(
            "ControllerGetVolume",
            [],
            ControllerClient.controller_get_volume(|o| { v1::ControllerGetVolumeRequest { volume_id: o.volume } })
        ),
        call!(
            "GroupControllerGetCapabilities",
            [],
            GroupControllerClient
                .group_controller_get_capabilities(|_o| { v1::GroupControllerGetCapabilitiesRequest {} })
        ),
        call!(
            "GetVolumeGroupSnapshot",
            [],
            GroupControllerClient.get_volume_group_snapshot(|o| {
                v1::GetVolumeGroupSnapshotRequest {
                    group_snapshot_id: o.group,
                    snapshot_ids: vec![o.member],
                    ..Default::default()
                }
            })
        ),
        call!(
            "NodeGetVolumeStats",
            ["NodeStageVolume"],
            NodeClient.node_get_volume_stats(|o| v1::NodeGetVolumeStatsRequest {
                volume_id: o.volume,
                volume_path: o.staging,
                ..Default::default()
            })
        ),
        call!(
            "NodeGetVolumeHealth",
            [],
            NodeClient.node_get_volume_health(|o| {
                v1::NodeGetVolumeHealthRequest { volume_id: o.volume, ..Default::default() }
            })
        ),
        call!(
            "NodeGetStorageHealth",
            [],
            NodeClient.node_get_storage_health(|_o| v1::NodeGetStorageHealthRequest::default())
        ),
        call!("NodeGetCapabilities", [], NodeClient.node_get_capabilities(|_o| v1::NodeGetCapabilitiesRequest {})),
        call!("NodeGetInfo", [], NodeClient.node_get_info(|_o| v1::NodeGetInfoRequest {})),
    ]
}

pub fn call<'a>(calls: &'a [Call], row: &Row) -> &'a Call {
    calls.iter().find(|call| call.name == row.name()).unwrap_or_else(|| panic!("no call for {}", row.name()))
}
