//! The exports of the add-ons and the background: one line for each function.

use drivebay_sdk::types::{Instant, ReclaimedSpace, ReplicationSource, VolumeGroup};
use drivebay_sdk::{
    Background, FenceClients, Fencing, NodeReclaimSpace, ReclaimSpace, Replication, ReplicationDestination, Result,
    VolumeGroupListing, VolumeGroupMembership, VolumeGroups, background, fence_clients, fencing, node_reclaim_space,
    reclaim_space, replication, replication_destination, volume_group_listing, volume_group_membership, volume_groups,
};

use super::{Local, call, call_without_pool};

impl Replication for Local {
    fn enable_replication(request: replication::EnableReplicationRequest) -> Result<()> {
        call(|backend| backend.enable_replication(request))
    }

    fn disable_replication(request: replication::DisableReplicationRequest) -> Result<()> {
        call(|backend| backend.disable_replication(&request))
    }

    fn promote(request: replication::PromoteRequest) -> Result<()> {
        call(|backend| backend.promote(&request))
    }

    fn demote(request: replication::DemoteRequest) -> Result<()> {
        call(|backend| backend.demote(&request))
    }

    fn resync(request: replication::ResyncRequest) -> Result<bool> {
        call(|backend| backend.resync(&request))
    }

    fn get_replication(request: replication::GetReplicationRequest) -> Result<replication::ReplicationStatus> {
        call(|backend| backend.get_replication(&request))
    }

    fn state_of(source: ReplicationSource) -> Result<replication::SourceState> {
        call(|backend| backend.replication.state_of(&source))
    }
}

impl ReplicationDestination for Local {
    fn get_destination(
        request: replication_destination::GetDestinationRequest,
    ) -> Result<replication_destination::ReplicationTarget> {
        call(|backend| backend.get_destination(&request))
    }
}

impl VolumeGroups for Local {
    fn create_group(request: volume_groups::CreateGroupRequest) -> Result<VolumeGroup> {
        call(|backend| backend.create_volume_group(&request))
    }

    fn delete_group(request: volume_groups::DeleteGroupRequest) -> Result<()> {
        call(|backend| backend.delete_volume_group(&request))
    }

    fn members(volume_group_id: String) -> Result<Vec<String>> {
        call(|backend| backend.group_members(&volume_group_id))
    }

    fn groups_of(volume_id: String) -> Result<Vec<String>> {
        call(|backend| backend.groups_of(&volume_id))
    }
}

impl VolumeGroupMembership for Local {
    fn modify_membership(request: volume_group_membership::ModifyMembershipRequest) -> Result<VolumeGroup> {
        call(|backend| backend.modify_volume_group(&request))
    }
}

impl VolumeGroupListing for Local {
    fn get_group(request: volume_group_listing::GetGroupRequest) -> Result<VolumeGroup> {
        call(|backend| backend.get_volume_group(&request))
    }

    fn list_groups(
        request: volume_group_listing::ListGroupsRequest,
    ) -> Result<volume_group_listing::ListGroupsResponse> {
        call(|backend| backend.list_volume_groups(&request))
    }
}

impl Fencing for Local {
    fn fence(request: fencing::FenceRequest) -> Result<()> {
        call(|backend| backend.fence(&request))
    }

    fn unfence(request: fencing::FenceRequest) -> Result<()> {
        call(|backend| backend.unfence(&request))
    }

    fn list_fences(request: fencing::ListFencesRequest) -> Result<Vec<String>> {
        call(|backend| backend.list_fences(&request))
    }
}

impl FenceClients for Local {
    fn get_fence_clients(request: fence_clients::GetFenceClientsRequest) -> Result<Vec<fence_clients::FenceClient>> {
        call(|backend| backend.get_fence_clients(&request))
    }
}

impl ReclaimSpace for Local {
    fn reclaim_space(request: reclaim_space::ReclaimSpaceRequest) -> Result<ReclaimedSpace> {
        call(|backend| backend.reclaim_space(&request))
    }
}

impl NodeReclaimSpace for Local {
    fn reclaim_space(request: node_reclaim_space::ReclaimSpaceRequest) -> Result<ReclaimedSpace> {
        call(|backend| backend.reclaim_on_node(&request))
    }
}

impl Background for Local {
    fn list_due(now: Instant) -> Result<background::DueWorks> {
        call_without_pool(|backend| backend.replication.list_due(now))
    }

    fn run_step(id: String) -> Result<background::Step> {
        call(|backend| backend.replication.run_step(&id))
    }
}
