//! The component's exports: one line for each function of the contract.
//!
//! Every call starts by reading the settings; most check the pool first. The add-ons are in `addons`.

mod addons;

use drivebay_sdk::identity::{Description, Feature, Grant, Readiness, Want};
use drivebay_sdk::mounts::Access;
use drivebay_sdk::types::{Snapshot, StringMap, Volume, VolumeHealth};
use drivebay_sdk::{
    Attachment, Capacity, Expansion, GroupSnapshots, Identity, Modification, Node, NodeExpansion, NodeHealth,
    NodeStaging, NodeStats, Recovery, Result, SelfTest, SnapshotMetadata, Snapshots, VolumeHealthReport, VolumeListing,
    Volumes, attachment, capacity, expansion, group_snapshots, modification, node, node_expansion, node_health,
    node_staging, node_stats, snapshot_metadata, snapshots, volume_health, volume_listing, volumes,
};
use local_pool::disk::Sandbox;
use local_pool::host::Imports;

use crate::backend::Backend;
use crate::settings::Settings;

/// The component.
struct Local;

/// Does one call on a pool that is there.
fn call<T>(work: impl FnOnce(&Backend<'_>) -> Result<T>) -> Result<T> {
    Backend::run(&Imports, &Sandbox, |backend| {
        backend.pool.id()?;
        work(backend)
    })
}

/// Does one call that must work without the pool, or that begins with finding an object: only when it is not found is
/// the pool's id checked (`local-pool`, `objects`).
fn call_without_pool<T>(work: impl FnOnce(&Backend<'_>) -> Result<T>) -> Result<T> {
    Backend::run(&Imports, &Sandbox, work)
}

/// What the backend says of itself with these settings.
pub(crate) fn describe(settings: &Settings) -> Description {
    let mut features = vec![
        Feature::Clone,
        Feature::PublishReadonly,
        Feature::PublishedNodes,
        Feature::OnlineExpansion,
        Feature::OfflineExpansion,
        Feature::SingleNodeMultiWriter,
        Feature::MountGroup,
        Feature::OneGroupPerVolume,
        Feature::SnapshotReplication,
    ];
    if !settings.topology.is_empty() {
        features.extend([Feature::Topology, Feature::SnapshotTopology]);
    }
    Description {
        name: Local::NAME.to_owned(),
        vendor_version: Local::VERSION.to_owned(),
        manifest: vec![("pool-format".to_owned(), local_pool::record::FORMAT.to_string())],
        features: features.into_iter().map(|feature| feature.as_str().to_owned()).collect(),
        state_version: Local::state_version(),
        wants: wants(settings),
    }
}

fn wants(settings: &Settings) -> Vec<Want> {
    let pool = Grant::directory(settings.pool.as_str(), Access::ReadWrite);
    let mut wants = vec![
        Want::required(pool, "The pool: all volumes are kept there."),
        Want::optional(Grant::Node, "Needed on nodes, to mount volumes."),
    ];
    if let Some(link) = &settings.link {
        let link = Grant::directory(link.as_str(), Access::ReadWrite);
        wants.push(Want::optional(link, "The link: what is replicated travels through it; all else does without."));
    }
    wants
}

impl Identity for Local {
    const NAME: &'static str = "local.drivebay.dev";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn describe() -> Result<Description> {
        call_without_pool(|backend| Ok(describe(backend.settings)))
    }

    fn probe() -> Result<Readiness> {
        call_without_pool(|backend| backend.check_pool().map(|()| Readiness::Ready))
    }
}

impl Volumes for Local {
    fn create_volume(request: volumes::CreateVolumeRequest) -> Result<Volume> {
        call_without_pool(|backend| backend.create_volume(&request))
    }

    fn delete_volume(request: volumes::DeleteVolumeRequest) -> Result<()> {
        call(|backend| backend.delete_volume(&request))
    }

    fn validate_volume_capabilities(request: volumes::ValidateVolumeCapabilitiesRequest) -> Result<volumes::Verdict> {
        call_without_pool(|backend| backend.validate_volume(&request))
    }
}

impl VolumeListing for Local {
    fn list_volumes(request: volume_listing::ListVolumesRequest) -> Result<volume_listing::ListVolumesResponse> {
        call(|backend| backend.list_volumes(&request))
    }

    fn get_volume(request: volume_listing::GetVolumeRequest) -> Result<volume_listing::VolumeEntry> {
        call_without_pool(|backend| backend.get_volume(&request))
    }
}

impl Capacity for Local {
    fn get_capacity(request: capacity::GetCapacityRequest) -> Result<capacity::GetCapacityResponse> {
        call(|backend| backend.get_capacity(&request))
    }
}

impl Attachment for Local {
    fn publish_volume(request: attachment::PublishVolumeRequest) -> Result<StringMap> {
        call_without_pool(|backend| backend.attach_volume(&request))
    }

    fn unpublish_volume(request: attachment::UnpublishVolumeRequest) -> Result<()> {
        call_without_pool(|backend| backend.detach_volume(&request))
    }
}

impl Expansion for Local {
    fn expand_volume(request: expansion::ExpandVolumeRequest) -> Result<expansion::ExpandVolumeResponse> {
        call(|backend| backend.expand_volume(&request))
    }
}

impl Modification for Local {
    fn modify_volume(request: modification::ModifyVolumeRequest) -> Result<()> {
        call(|backend| backend.modify_volume(&request))
    }
}

impl VolumeHealthReport for Local {
    fn list_volume_health(
        request: volume_health::ListVolumeHealthRequest,
    ) -> Result<volume_health::ListVolumeHealthResponse> {
        call(|backend| backend.list_volume_health(&request))
    }

    fn get_volume_health(request: volume_health::GetVolumeHealthRequest) -> Result<VolumeHealth> {
        call(|backend| backend.get_volume_health(&request))
    }
}

impl Snapshots for Local {
    fn create_snapshot(request: snapshots::CreateSnapshotRequest) -> Result<Snapshot> {
        call(|backend| backend.create_snapshot(&request))
    }

    fn delete_snapshot(request: snapshots::DeleteSnapshotRequest) -> Result<()> {
        call(|backend| backend.delete_snapshot(&request))
    }

    fn list_snapshots(request: snapshots::ListSnapshotsRequest) -> Result<snapshots::ListSnapshotsResponse> {
        call(|backend| backend.list_snapshots(&request))
    }

    fn get_snapshot(request: snapshots::GetSnapshotRequest) -> Result<Snapshot> {
        call(|backend| backend.get_snapshot(&request))
    }
}

impl GroupSnapshots for Local {
    fn create_group_snapshot(
        request: group_snapshots::CreateGroupSnapshotRequest,
    ) -> Result<group_snapshots::GroupSnapshot> {
        call(|backend| backend.create_group_snapshot(&request))
    }

    fn delete_group_snapshot(request: group_snapshots::DeleteGroupSnapshotRequest) -> Result<()> {
        call(|backend| backend.delete_group_snapshot(&request))
    }

    fn get_group_snapshot(request: group_snapshots::GetGroupSnapshotRequest) -> Result<group_snapshots::GroupSnapshot> {
        call(|backend| backend.get_group_snapshot(&request))
    }
}

impl SnapshotMetadata for Local {
    fn get_allocated(request: snapshot_metadata::GetAllocatedRequest) -> Result<snapshot_metadata::MetadataPage> {
        call(|backend| backend.get_allocated(&request))
    }

    fn get_delta(request: snapshot_metadata::GetDeltaRequest) -> Result<snapshot_metadata::MetadataPage> {
        call(|backend| backend.get_delta(&request))
    }
}

impl Node for Local {
    fn get_node() -> Result<node::NodeDescription> {
        call_without_pool(|backend| Ok(backend.get_node()))
    }

    fn publish_volume(request: node::PublishVolumeRequest) -> Result<()> {
        call(|backend| backend.publish_volume(&request))
    }

    fn unpublish_volume(request: node::UnpublishVolumeRequest) -> Result<()> {
        call_without_pool(|backend| backend.unpublish_volume(&request))
    }
}

impl NodeStaging for Local {
    fn stage_volume(request: node_staging::StageVolumeRequest) -> Result<()> {
        call(|backend| backend.stage_volume(&request))
    }

    fn unstage_volume(request: node_staging::UnstageVolumeRequest) -> Result<()> {
        call_without_pool(|backend| backend.unstage_volume(&request))
    }
}

impl NodeStats for Local {
    fn get_volume_stats(request: node_stats::GetVolumeStatsRequest) -> Result<node_stats::VolumeStats> {
        call_without_pool(|backend| backend.get_volume_stats(&request))
    }
}

impl NodeExpansion for Local {
    fn expand_volume(request: node_expansion::ExpandVolumeRequest) -> Result<u64> {
        call(|backend| backend.expand_on_node(&request))
    }
}

impl NodeHealth for Local {
    fn get_volume_health(request: node_health::GetVolumeHealthRequest) -> Result<VolumeHealth> {
        call_without_pool(|backend| backend.get_node_volume_health(&request))
    }

    fn get_storage_health(request: node_health::GetStorageHealthRequest) -> Result<Vec<node_health::StorageHealth>> {
        call_without_pool(|backend| backend.get_storage_health(&request))
    }
}

impl Recovery for Local {
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method itself has one lifetime only")]
    fn recover() -> Result<()> {
        call_without_pool(|backend| backend.recover())
    }
}

impl SelfTest for Local {
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method itself has one lifetime only")]
    fn run_self_test() -> Result<()> {
        call_without_pool(|backend| backend.run_self_test())
    }
}

drivebay_sdk::export!(
    Local: identity, volumes, volume_listing, capacity, attachment, expansion, modification, volume_health,
    snapshots, group_snapshots, snapshot_metadata, node, node_staging, node_stats, node_expansion, node_health,
    replication, replication_destination, volume_groups, volume_group_membership, volume_group_listing, fencing,
    fence_clients, reclaim_space, node_reclaim_space, background, recovery, self_test,
);
