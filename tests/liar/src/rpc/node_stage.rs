//! Making a volume ready on a node, and taking it back. Nothing is mounted: the staging directory is the
//! caller's, and what this driver would mount there nobody can ask for.

use crate::call::Cx;
use crate::checks;
use crate::pb::csi::v1::volume_capability::AccessType;
use crate::pb::csi::v1::*;
use crate::refusal::{Answer, exists, invalid, not_found, not_now};
use crate::world::{Node, Staged};

/// The volume must exist, and the node must not be fenced.
pub(super) fn usable(cx: &Cx<'_>, volume: &str) -> Answer<()> {
    let site = cx.world.site(cx.site);
    if !site.volumes.contains_key(volume) {
        return Err(not_found(format!("there is no volume {volume:?}")));
    }
    if site.nodes.get(cx.node).is_some_and(|node| site.is_fenced(node)) {
        return Err(not_now("this node is fenced"));
    }
    Ok(())
}

pub(super) fn node<'a>(cx: &'a mut Cx<'_>) -> Answer<&'a mut Node> {
    let number = cx.node;
    cx.world.site_mut(cx.site).nodes.get_mut(number).ok_or_else(|| not_now("there is no node here"))
}

pub(super) fn stage(cx: &mut Cx<'_>, request: &NodeStageVolumeRequest) -> Answer<NodeStageVolumeResponse> {
    checks::given("volume_id", &request.volume_id)?;
    checks::given("staging_target_path", &request.staging_target_path)?;
    checks::capability(cx, request.volume_capability.as_ref())?;
    usable(cx, &request.volume_id)?;
    let capability = request.volume_capability.clone().unwrap_or_default();
    checks::supported(&capability)?;
    if let Some(AccessType::Mount(mount)) = &capability.access_type
        && cx.lies("X-49")
        && !mount.volume_mount_group.is_empty()
    {
        return Err(invalid("volume_mount_group is not supported"));
    }
    let [never_again, any_change] = ["X-42", "X-43"].map(|id| cx.lies(id));
    let node = node(cx)?;
    let Some(present) = node.staged.get(&request.volume_id) else {
        let staged = Staged { path: request.staging_target_path.clone(), capability, rounds: 0 };
        node.staged.insert(request.volume_id.clone(), staged);
        return Ok(NodeStageVolumeResponse {});
    };
    let same = present.path == request.staging_target_path && present.capability == capability;
    if (same && never_again) || (!same && !any_change) {
        return Err(exists(format!("the volume is staged at {:?} in another way", present.path)));
    }
    Ok(NodeStageVolumeResponse {})
}

pub(super) fn unstage(cx: &mut Cx<'_>, request: &NodeUnstageVolumeRequest) -> Answer<NodeUnstageVolumeResponse> {
    checks::given("volume_id", &request.volume_id)?;
    checks::given("staging_target_path", &request.staging_target_path)?;
    if !cx.world.site(cx.site).volumes.contains_key(&request.volume_id) {
        return Err(not_found(format!("there is no volume {:?}", request.volume_id)));
    }
    let only_once = cx.lies("X-46");
    let node = node(cx)?;
    if node.published.values().any(|published| published.volume == request.volume_id) {
        return Err(not_now(format!("the volume {:?} is still published", request.volume_id)));
    }
    if node.staged.remove(&request.volume_id).is_none() && only_once {
        return Err(not_found(format!("the volume {:?} is not staged", request.volume_id)));
    }
    node.grown.remove(&request.volume_id);
    Ok(NodeUnstageVolumeResponse {})
}
