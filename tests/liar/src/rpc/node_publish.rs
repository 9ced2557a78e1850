//! Giving a volume to a workload at a path, and taking it back. The target is made and removed as a driver
//! does: a directory for a mount, a file for a block device.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::node_stage::{node, usable};
use crate::call::Cx;
use crate::checks;
use crate::pb::csi::v1::volume_capability::{AccessType, access_mode::Mode};
use crate::pb::csi::v1::*;
use crate::refusal::{Answer, Refusal, exists, failed, invalid, not_found, not_now};
use crate::world::Published;

pub(super) fn publish(cx: &mut Cx<'_>, request: &NodePublishVolumeRequest) -> Answer<NodePublishVolumeResponse> {
    checks::given("volume_id", &request.volume_id)?;
    checks::given("target_path", &request.target_path)?;
    checks::capability(cx, request.volume_capability.as_ref())?;
    let ephemeral = request.volume_context.get("csi.storage.k8s.io/ephemeral").is_some_and(|text| text == "true");
    if !ephemeral {
        usable(cx, &request.volume_id)?;
        must_be_staged(cx, request)?;
    }
    let foreign = |key: &String| key.starts_with("csi.storage.k8s.io/") || key.starts_with("storage.kubernetes.io/");
    if cx.lies("X-125") && request.volume_context.keys().any(foreign) {
        return Err(invalid("volume_context holds keys that this driver did not give"));
    }
    let wanted = Published {
        volume: request.volume_id.clone(),
        staging: request.staging_target_path.clone(),
        capability: request.volume_capability.clone().unwrap_or_default(),
        readonly: request.readonly,
    };
    judge(cx, &request.target_path, &wanted)?;
    let target = Path::new(&request.target_path);
    make(target, &wanted.capability).map_err(|error| failed(format!("cannot make {}: {error}", target.display())))?;
    if let Some(volume) = cx.world.site_mut(cx.site).volumes.get_mut(&request.volume_id) {
        volume.was_published = true;
    }
    let node = node(cx)?;
    if ephemeral {
        node.ephemeral.insert(request.volume_id.clone());
    }
    node.published.insert(request.target_path.clone(), wanted);
    Ok(NodePublishVolumeResponse {})
}

fn must_be_staged(cx: &mut Cx<'_>, request: &NodePublishVolumeRequest) -> Answer<()> {
    if !cx.layout.has("node.STAGE_UNSTAGE_VOLUME") {
        return Ok(());
    }
    if request.staging_target_path.is_empty() {
        let words = "staging_target_path is missing";
        return Err(if cx.lies("X-140") { invalid(words) } else { not_now(words) });
    }
    let [any, once] = ["X-44", "C-02"].map(|id| cx.lies(id));
    let node = node(cx)?;
    let staged = node.staged.get(&request.volume_id).filter(|staged| staged.path == request.staging_target_path);
    match staged {
        Some(staged) if once && staged.rounds > 0 => Err(failed("the volume was published before")),
        None if !any => Err(not_now(format!("the volume {:?} is not staged there", request.volume_id))),
        _ => Ok(()),
    }
}

/// The table of what a second publication on the same node means.
fn judge(cx: &mut Cx<'_>, target: &str, wanted: &Published) -> Answer<()> {
    let [never_again, any_change, many, multi_node, multi_writer, many_changed] =
        ["C-16", "C-16b", "C-17", "X-40", "X-41", "X-39"].map(|id| cx.lies(id));
    let node = node(cx)?;
    if let Some(present) = node.published.get(target) {
        let same = present == wanted;
        return if (same && !never_again) || (!same && any_change && present.volume == wanted.volume) {
            Ok(())
        } else {
            Err(exists(format!("at {target:?} the volume {:?} is published in another way", present.volume)))
        };
    }
    for present in node.published.values().filter(|present| present.volume == wanted.volume) {
        let second = match (mode_of(present), mode_of(wanted)) {
            (Many::Nodes, Many::Nodes) => !multi_node,
            (Many::Writers, Many::Writers) => !multi_writer,
            _ if present == wanted => many,
            _ => many_changed,
        };
        if !second {
            return Err(not_now(format!("the volume {:?} is published at another path of this node", wanted.volume)));
        }
    }
    Ok(())
}

/// Who may use a volume at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Many {
    Nodes,
    Writers,
    One,
}

fn mode_of(published: &Published) -> Many {
    match checks::mode(&published.capability) {
        Mode::MultiNodeReaderOnly | Mode::MultiNodeSingleWriter | Mode::MultiNodeMultiWriter => Many::Nodes,
        Mode::SingleNodeMultiWriter => Many::Writers,
        Mode::Unknown | Mode::SingleNodeWriter | Mode::SingleNodeReaderOnly | Mode::SingleNodeSingleWriter => Many::One,
    }
}

fn make(target: &Path, capability: &VolumeCapability) -> std::io::Result<()> {
    let made = match capability.access_type {
        Some(AccessType::Block(_)) => fs::File::create_new(target).map(drop),
        _ => fs::create_dir(target),
    };
    made.or_else(|error| if error.kind() == ErrorKind::AlreadyExists { Ok(()) } else { Err(error) })
}

pub(super) fn unpublish(cx: &mut Cx<'_>, request: &NodeUnpublishVolumeRequest) -> Answer<NodeUnpublishVolumeResponse> {
    checks::given("volume_id", &request.volume_id)?;
    checks::given("target_path", &request.target_path)?;
    let known = cx.world.site(cx.site).volumes.contains_key(&request.volume_id);
    let [only_once, stumbles] = ["X-45", "C-04"].map(|id| cx.lies(id));
    let stumbles = stumbles && !cx.layout.has("node.STAGE_UNSTAGE_VOLUME");
    let haunted = cx.world.haunted.remove(&request.target_path);
    let node = node(cx)?;
    if !known && !node.ephemeral.contains(&request.volume_id) {
        return Err(not_found(format!("there is no volume {:?}", request.volume_id)));
    }
    if haunted {
        return Ok(NodeUnpublishVolumeResponse {});
    }
    let here = node.published.get(&request.target_path).is_some_and(|there| there.volume == request.volume_id);
    if !here {
        let again = not_found(format!("the volume is not published at {:?}", request.target_path));
        return if only_once { Err(again) } else { Ok(NodeUnpublishVolumeResponse {}) };
    }
    if stumbles && node.grown.insert(request.target_path.clone()) {
        return Err(not_now("the volume was never staged"));
    }
    remove(Path::new(&request.target_path))?;
    node.published.remove(&request.target_path);
    node.ephemeral.remove(&request.volume_id);
    if let Some(staged) = node.staged.get_mut(&request.volume_id) {
        staged.rounds += 1;
    }
    Ok(NodeUnpublishVolumeResponse {})
}

fn remove(target: &Path) -> Answer<()> {
    let removed = if target.is_dir() { fs::remove_dir(target) } else { fs::remove_file(target) };
    let said = |error: std::io::Error| -> Refusal { failed(format!("cannot remove {}: {error}", target.display())) };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(said(error)),
        _ => Ok(()),
    }
}
