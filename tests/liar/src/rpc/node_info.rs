//! What a node tells: itself, its capabilities, and how full a volume is.

use std::collections::BTreeMap;

use crate::call::Cx;
use crate::checks;
use crate::pb::csi::v1::volume_capability::AccessType;
use crate::pb::csi::v1::*;
use crate::refusal::{Answer, not_found};

/// A site is one zone.
pub(super) fn zone(name: &str) -> Topology {
    Topology { segments: BTreeMap::from([("liar.example/zone".to_owned(), name.to_owned())]) }
}

pub(super) fn capabilities(cx: &mut Cx<'_>, _: &NodeGetCapabilitiesRequest) -> Answer<NodeGetCapabilitiesResponse> {
    use node_service_capability::{Rpc, Type};
    let one = |number| NodeServiceCapability { r#type: Some(Type::Rpc(Rpc { r#type: number })) };
    Ok(NodeGetCapabilitiesResponse { capabilities: cx.layout.offered("node").into_iter().map(one).collect() })
}

pub(super) fn info(cx: &mut Cx<'_>, _: &NodeGetInfoRequest) -> Answer<NodeGetInfoResponse> {
    let site = cx.world.site(cx.site);
    let node_id = site.nodes.get(cx.node).map(|node| node.id.clone()).unwrap_or_default();
    let max_volumes_per_node = if cx.lies("X-10") { -1 } else { 0 };
    let known = cx.layout.has("plugin.VOLUME_ACCESSIBILITY_CONSTRAINTS");
    let accessible_topology = known.then(|| zone(site.name));
    Ok(NodeGetInfoResponse { node_id, max_volumes_per_node, accessible_topology })
}

/// How a volume is there at a path of this node.
pub(super) fn at(cx: &Cx<'_>, volume: &str, path: &str) -> Answer<VolumeCapability> {
    let node = cx.world.site(cx.site).nodes.get(cx.node);
    let published = node.and_then(|node| node.published.get(path)).filter(|published| published.volume == volume);
    let staged = node.and_then(|node| node.staged.get(volume)).filter(|staged| staged.path == path);
    let capability = published.map(|published| &published.capability).or(staged.map(|staged| &staged.capability));
    capability.cloned().ok_or_else(|| not_found(format!("the volume {volume:?} is not at {path:?}")))
}

pub(super) fn stats(cx: &mut Cx<'_>, request: &NodeGetVolumeStatsRequest) -> Answer<NodeGetVolumeStatsResponse> {
    use volume_usage::Unit;
    checks::given("volume_id", &request.volume_id)?;
    checks::given("volume_path", &request.volume_path)?;
    let known = cx.world.site(cx.site).volumes.contains_key(&request.volume_id);
    let capability = match at(cx, &request.volume_id, &request.volume_path) {
        Err(_) if known && cx.lies("X-48") => VolumeCapability::default(),
        found => found?,
    };
    let total = cx.world.site(cx.site).volumes.get(&request.volume_id).map_or(0, |volume| volume.capacity);
    let used = if cx.lies("X-47") { -1 } else { total / 8 };
    let bytes = VolumeUsage { available: total - total / 8, total, used, unit: Unit::Bytes.into() };
    let inodes = VolumeUsage { available: 1000, total: 1024, used: 24, unit: Unit::Inodes.into() };
    let block = matches!(capability.access_type, Some(AccessType::Block(_)));
    let usage =
        if block { vec![VolumeUsage { available: 0, used: used.min(0), ..bytes }] } else { vec![bytes, inodes] };
    Ok(NodeGetVolumeStatsResponse { usage, ..Default::default() })
}
