//! `fence.FenceController`: one row an RPC. All fences of a backend are one object: two changes of
//! them at once could each undo the other's.

use super::Rpc;
use super::table::service;
use drivebay_admission::{LockSet, ObjectKind};
use drivebay_proto::pb::fence::{self as v1, fence_controller_server};

service! {
    fence_controller_server::FenceController => Front;
    facts {}
    guest {
        fence_cluster_network: FenceClusterNetworkRequest, |_| fences();
        unfence_cluster_network: UnfenceClusterNetworkRequest, |_| fences();
        list_cluster_fence: ListClusterFenceRequest, |_| LockSet::none();
        get_fence_clients: GetFenceClientsRequest, |_| LockSet::none();
    }
}

fn fences() -> LockSet {
    LockSet::none().exclusive(ObjectKind::Fences, "")
}
