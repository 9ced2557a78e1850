//! Where calls come in: one line for each function of the contract. Nothing is decided here.

use drivebay_sdk::identity::{Description, Feature, Grant, Readiness, Want};
use drivebay_sdk::types::{ReclaimedSpace, ReplicationSource, Snapshot, StringMap, Volume, VolumeGroup};
use drivebay_sdk::{
    Attachment, Capacity, Expansion, FenceClients, Fencing, GroupSnapshots, Identity, KeyRotation, Modification,
    ReclaimSpace, Replication, ReplicationDestination, Result, SnapshotMetadata, Snapshots, VolumeGroupListing,
    VolumeGroupMembership, VolumeGroups, VolumeListing, Volumes, attachment, capacity, expansion, fence_clients,
    fencing, group_snapshots, key_rotation, modification, reclaim_space, replication, replication_destination,
    snapshot_metadata, snapshots, volume_group_listing, volume_group_membership, volume_groups, volume_listing,
    volumes,
};

use crate::backend::Backend;

/// The component.
pub(crate) struct Array;

/// Does one call.
fn call<T>(work: impl FnOnce(&Backend) -> Result<T>) -> Result<T> {
    work(&Backend::open()?)
}

impl Identity for Array {
    const NAME: &'static str = "array.drivebay.dev";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn describe() -> Result<Description> {
        call(|backend| Ok(describe(&backend.settings.url)))
    }

    fn probe() -> Result<Readiness> {
        call(|backend| backend.check_array().map(|()| Readiness::Ready))
    }
}

/// What the backend says of itself when the array is at this address.
pub(crate) fn describe(url: &str) -> Description {
    let features = [
        Feature::Clone,
        Feature::PublishReadonly,
        Feature::PublishedNodes,
        Feature::OnlineExpansion,
        Feature::OfflineExpansion,
        Feature::SingleNodeMultiWriter,
        Feature::OneGroupPerVolume,
        Feature::GroupKeepsVolumes,
    ];
    Description {
        name: Array::NAME.to_owned(),
        vendor_version: Array::VERSION.to_owned(),
        manifest: StringMap::new(),
        features: features.map(|feature| feature.as_str().to_owned()).to_vec(),
        state_version: Array::state_version(),
        wants: vec![
            Want::required(Grant::Http(url.to_owned()), "The array is driven over its REST interface."),
            Want::optional(Grant::Node, "Nodes connect and mount its disks; they need `attach` for iSCSI, too."),
        ],
    }
}

macro_rules! exported {
    ($($trait:ident { $($name:ident = $method:ident($($request:ty)?) -> $answer:ty;)+ })+) => {
        $(impl $trait for Array {
            $(exported!(@ $name $method ($($request)?) $answer);)+
        })+
    };
    (@ $name:ident $method:ident ($request:ty) $answer:ty) => {
        fn $name(request: $request) -> Result<$answer> {
            call(|backend| backend.$method(&request))
        }
    };
}

exported! {
    Volumes {
        create_volume = create_volume(volumes::CreateVolumeRequest) -> Volume;
        delete_volume = delete_volume(volumes::DeleteVolumeRequest) -> ();
        validate_volume_capabilities = validate_volume(volumes::ValidateVolumeCapabilitiesRequest) -> volumes::Verdict;
    }
    VolumeListing {
        list_volumes = list_volumes(volume_listing::ListVolumesRequest) -> volume_listing::ListVolumesResponse;
        get_volume = get_volume(volume_listing::GetVolumeRequest) -> volume_listing::VolumeEntry;
    }
    Capacity {
        get_capacity = get_capacity(capacity::GetCapacityRequest) -> capacity::GetCapacityResponse;
    }
    Attachment {
        publish_volume = attach_volume(attachment::PublishVolumeRequest) -> StringMap;
        unpublish_volume = detach_volume(attachment::UnpublishVolumeRequest) -> ();
    }
    Expansion {
        expand_volume = expand_volume(expansion::ExpandVolumeRequest) -> expansion::ExpandVolumeResponse;
    }
    Modification {
        modify_volume = modify_volume(modification::ModifyVolumeRequest) -> ();
    }
    Snapshots {
        create_snapshot = create_snapshot(snapshots::CreateSnapshotRequest) -> Snapshot;
        delete_snapshot = delete_snapshot(snapshots::DeleteSnapshotRequest) -> ();
        list_snapshots = list_snapshots(snapshots::ListSnapshotsRequest) -> snapshots::ListSnapshotsResponse;
        get_snapshot = get_snapshot(snapshots::GetSnapshotRequest) -> Snapshot;
    }
    GroupSnapshots {
        create_group_snapshot =
            create_group_snapshot(group_snapshots::CreateGroupSnapshotRequest) -> group_snapshots::GroupSnapshot;
        delete_group_snapshot = delete_group_snapshot(group_snapshots::DeleteGroupSnapshotRequest) -> ();
        get_group_snapshot =
            get_group_snapshot(group_snapshots::GetGroupSnapshotRequest) -> group_snapshots::GroupSnapshot;
    }
    SnapshotMetadata {
        get_allocated = get_allocated(snapshot_metadata::GetAllocatedRequest) -> snapshot_metadata::MetadataPage;
        get_delta = get_delta(snapshot_metadata::GetDeltaRequest) -> snapshot_metadata::MetadataPage;
    }
    VolumeGroups {
        create_group = create_group(volume_groups::CreateGroupRequest) -> VolumeGroup;
        delete_group = delete_group(volume_groups::DeleteGroupRequest) -> ();
        members = members(String) -> Vec<String>;
        groups_of = groups_of(String) -> Vec<String>;
    }
    VolumeGroupMembership {
        modify_membership = modify_membership(volume_group_membership::ModifyMembershipRequest) -> VolumeGroup;
    }
    VolumeGroupListing {
        get_group = get_group(volume_group_listing::GetGroupRequest) -> VolumeGroup;
        list_groups = list_groups(volume_group_listing::ListGroupsRequest) -> volume_group_listing::ListGroupsResponse;
    }
    Replication {
        enable_replication = enable_replication(replication::EnableReplicationRequest) -> ();
        disable_replication = disable_replication(replication::DisableReplicationRequest) -> ();
        promote = promote(replication::PromoteRequest) -> ();
        demote = demote(replication::DemoteRequest) -> ();
        resync = resync(replication::ResyncRequest) -> bool;
        get_replication = get_replication(replication::GetReplicationRequest) -> replication::ReplicationStatus;
        state_of = state_of(ReplicationSource) -> replication::SourceState;
    }
    ReplicationDestination {
        get_destination =
            get_destination(replication_destination::GetDestinationRequest) -> replication_destination::ReplicationTarget;
    }
    Fencing {
        fence = fence(fencing::FenceRequest) -> ();
        unfence = unfence(fencing::FenceRequest) -> ();
        list_fences = list_fences(fencing::ListFencesRequest) -> Vec<String>;
    }
    FenceClients {
        get_fence_clients =
            get_fence_clients(fence_clients::GetFenceClientsRequest) -> Vec<fence_clients::FenceClient>;
    }
    ReclaimSpace {
        reclaim_space = reclaim_space(reclaim_space::ReclaimSpaceRequest) -> ReclaimedSpace;
    }
    KeyRotation {
        rotate_key = rotate_key(key_rotation::RotateKeyRequest) -> ();
    }
}

drivebay_sdk::export!(
    Array: identity, volumes, volume_listing, capacity, attachment, expansion, modification, snapshots,
    group_snapshots, snapshot_metadata, volume_groups, volume_group_membership, volume_group_listing, replication,
    replication_destination, fencing, fence_clients, reclaim_space, key_rotation, node, node_staging, node_expansion,
    node_stats
);
