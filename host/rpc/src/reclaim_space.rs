//! `reclaimspace`: one row an RPC. Two services, because clients look for them at two places: on the
//! controller's side, and on the node, where the work may touch the paths of its request.

use super::Rpc;
use super::controller::volume;
use super::node::{other, staging};
use super::table::service;
use drivebay_admission::LockSet;
use drivebay_node::CallPath;
use drivebay_proto::pb::reclaimspace::{self as v1, reclaim_space_controller_server, reclaim_space_node_server};

service! {
    reclaim_space_controller_server::ReclaimSpaceController => Front;
    facts {}
    guest {
        controller_reclaim_space: ControllerReclaimSpaceRequest, |r| volume(&r.volume_id);
    }
}

service! {
    reclaim_space_node_server::ReclaimSpaceNode => Front;
    facts {}
    guest {
        node_reclaim_space: NodeReclaimSpaceRequest, |r| volume(&r.volume_id),
            paths |r| vec![other(&r.volume_path), staging(&r.staging_target_path)];
    }
}
