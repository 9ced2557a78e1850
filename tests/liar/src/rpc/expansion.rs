//! Growing volumes: at the controller, then on the node.

use crate::call::Cx;
use crate::checks;
use crate::pb::csi::v1::*;
use crate::refusal::{Answer, invalid, not_found, not_now, out_of_range};

pub(super) fn controller(
    cx: &mut Cx<'_>,
    request: &ControllerExpandVolumeRequest,
) -> Answer<ControllerExpandVolumeResponse> {
    let id = &request.volume_id;
    checks::given("volume_id", id)?;
    let range = request.capacity_range.as_ref().ok_or_else(|| invalid("capacity_range is missing"))?;
    checks::range(range, cx.lies("X-90"))?;
    let site = cx.world.site(cx.site);
    let Some(volume) = site.volumes.get(id) else {
        let words = format!("there is no volume {id:?}");
        return Err(if cx.lies("X-91") { invalid(words) } else { not_found(words) });
    };
    let enough = volume.capacity >= range.required_bytes;
    if enough && cx.lies("X-89") {
        return Err(out_of_range("the volume is as large already"));
    }
    if range.limit_bytes > 0 && volume.capacity > range.limit_bytes && !cx.lies("X-90") {
        return Err(out_of_range(format!("the volume has {} bytes already", volume.capacity)));
    }
    let offline = !cx.layout.has("expansion.ONLINE");
    if !enough && offline && site.in_use(id) && !cx.lies("X-93") {
        return Err(not_now(format!("the volume {id:?} is in use, and grows only while it is not")));
    }
    let capacity = volume.capacity.max(range.required_bytes);
    let node_expansion_required = cx.layout.has("node.EXPAND_VOLUME") || cx.lies("X-94");
    let kept = !cx.lies("X-92");
    if let Some(volume) = cx.world.site_mut(cx.site).volumes.get_mut(id).filter(|_| kept) {
        volume.capacity = capacity;
    }
    let capacity_bytes = if cx.lies("X-88") && !enough { capacity - 1 } else { capacity };
    Ok(ControllerExpandVolumeResponse { capacity_bytes, node_expansion_required })
}

pub(super) fn node(cx: &mut Cx<'_>, request: &NodeExpandVolumeRequest) -> Answer<NodeExpandVolumeResponse> {
    checks::given("volume_id", &request.volume_id)?;
    checks::given("volume_path", &request.volume_path)?;
    match &request.capacity_range {
        Some(range) => checks::range(range, false)?,
        None if cx.layout.loose => return Err(invalid("capacity_range is missing")),
        None => {}
    }
    super::node_info::at(cx, &request.volume_id, &request.volume_path)?;
    let only_once = cx.lies("X-95");
    let node = cx.node;
    let site = cx.world.site_mut(cx.site);
    let grown_before = site.nodes.get_mut(node).is_some_and(|node| !node.grown.insert(request.volume_id.clone()));
    if grown_before && only_once {
        return Err(not_now("the file system has grown already"));
    }
    let capacity_bytes = site.volumes.get(&request.volume_id).map(|volume| volume.capacity).unwrap_or_default();
    Ok(NodeExpandVolumeResponse { capacity_bytes })
}
