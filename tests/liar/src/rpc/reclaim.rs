//! Giving space back. Half of what a volume used is given back, each time.

use crate::call::{Area, Cx, serve};
use crate::checks;
use crate::locks::Key;
use crate::pb::reclaimspace::*;
use crate::refusal::{Answer, invalid, not_found};
use crate::world::World;

serve! { "reclaimspace": reclaim_space_controller_server::ReclaimSpaceController, Area::Controller;
    [secret] controller_reclaim_space(ControllerReclaimSpaceRequest) -> ControllerReclaimSpaceResponse, "reclaim-space.OFFLINE", a_volume, controller;
}

serve! { "reclaimspace": reclaim_space_node_server::ReclaimSpaceNode, Area::Node;
    [secret] node_reclaim_space(NodeReclaimSpaceRequest) -> NodeReclaimSpaceResponse, "reclaim-space.ONLINE", a_staged_volume, node;
}

fn a_volume(_: &World, _: usize, request: &ControllerReclaimSpaceRequest) -> Vec<Key> {
    vec![("volume", request.volume_id.clone())]
}

fn a_staged_volume(_: &World, _: usize, request: &NodeReclaimSpaceRequest) -> Vec<Key> {
    vec![("staged volume", request.volume_id.clone())]
}

/// Usage before and after.
fn usage(cx: &Cx<'_>, volume: &str) -> Answer<(Option<StorageConsumption>, Option<StorageConsumption>)> {
    let found = cx.world.site(cx.site).volumes.get(volume);
    let before = found.ok_or_else(|| not_found(format!("there is no volume {volume:?}")))?.capacity / 4;
    let told = |usage_bytes| Some(StorageConsumption { usage_bytes });
    Ok((told(before), told(before / 2)))
}

fn controller(cx: &mut Cx<'_>, request: &ControllerReclaimSpaceRequest) -> Answer<ControllerReclaimSpaceResponse> {
    if request.volume_id.is_empty() && cx.lies("X-117") {
        return Err(not_found("there is no volume without an id"));
    }
    checks::given("volume_id", &request.volume_id)?;
    if !cx.world.site(cx.site).volumes.contains_key(&request.volume_id) && cx.lies("X-116") {
        return Err(invalid(format!("{:?} is no id of this driver", request.volume_id)));
    }
    let (pre_usage, post_usage) = usage(cx, &request.volume_id)?;
    let negative = Some(StorageConsumption { usage_bytes: -1 }).filter(|_| cx.lies("X-118"));
    Ok(ControllerReclaimSpaceResponse { pre_usage, post_usage: negative.or(post_usage) })
}

fn node(cx: &mut Cx<'_>, request: &NodeReclaimSpaceRequest) -> Answer<NodeReclaimSpaceResponse> {
    checks::given("volume_id", &request.volume_id)?;
    if request.volume_path.is_empty() && (request.staging_target_path.is_empty() || cx.lies("X-119")) {
        return Err(invalid("volume_path is missing"));
    }
    let (pre_usage, post_usage) = usage(cx, &request.volume_id)?;
    Ok(NodeReclaimSpaceResponse { pre_usage, post_usage })
}
