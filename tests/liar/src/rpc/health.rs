//! Health: everything here is always well.

use crate::call::Cx;
use crate::checks;
use crate::pb::csi::v1::*;
use crate::refusal::{Answer, not_found, unimplemented};
use crate::world::page;

fn healthy(id: &str) -> VolumeHealth {
    VolumeHealth { volume_id: id.to_owned(), health_statuses: Vec::new() }
}

fn known(cx: &Cx<'_>, id: &str) -> Answer<VolumeHealth> {
    checks::given("volume_id", id)?;
    if cx.world.site(cx.site).volumes.contains_key(id) {
        return Ok(healthy(id));
    }
    let words = format!("there is no volume {id:?}");
    Err(if cx.lies("C-19") { unimplemented(words) } else { not_found(words) })
}

pub(super) fn list(
    cx: &mut Cx<'_>,
    request: &ControllerListVolumeHealthRequest,
) -> Answer<ControllerListVolumeHealthResponse> {
    checks::entries(request.max_entries, false)?;
    let unhealthy = cx.world.site(cx.site).volumes.iter().filter(|_| false);
    page(unhealthy, &request.starting_token, request.max_entries)?;
    Ok(ControllerListVolumeHealthResponse::default())
}

pub(super) fn get(
    cx: &mut Cx<'_>,
    request: &ControllerGetVolumeHealthRequest,
) -> Answer<ControllerGetVolumeHealthResponse> {
    Ok(ControllerGetVolumeHealthResponse { volume_health: Some(known(cx, &request.volume_id)?) })
}

pub(super) fn on_node(cx: &mut Cx<'_>, request: &NodeGetVolumeHealthRequest) -> Answer<NodeGetVolumeHealthResponse> {
    Ok(NodeGetVolumeHealthResponse { volume_health: Some(known(cx, &request.volume_id)?) })
}

pub(super) fn storage(_: &mut Cx<'_>, _: &NodeGetStorageHealthRequest) -> Answer<NodeGetStorageHealthResponse> {
    Ok(NodeGetStorageHealthResponse::default())
}
