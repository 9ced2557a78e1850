//! `fence.FenceController`: one row an RPC. All fences of a backend are one object: two changes of
//! them at once could each undo the other's.

use super::table::service;
use super::{Effect, Rpc};
use drivebay_admission::{LockSet, ObjectKind};
use drivebay_proto::pb::fence::{self as v1, fence_controller_server};

service! {
    fence_controller_server::FenceController => Front;
    facts {}
    guest {
        fence_cluster_network: FenceClusterNetworkRequest => FenceClusterNetworkResponse, Changes, |_| fences();
        unfence_cluster_network: UnfenceClusterNetworkRequest => UnfenceClusterNetworkResponse, Changes, |_| fences();
        list_cluster_fence: ListClusterFenceRequest => ListClusterFenceResponse, Reads, |_| LockSet::none();
        get_fence_clients: GetFenceClientsRequest => GetFenceClientsResponse, Reads, |_| LockSet::none();
    }
}

fn fences() -> LockSet {
    LockSet::none().exclusive(ObjectKind::Fences, "")
}
