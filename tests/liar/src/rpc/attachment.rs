//! Attaching volumes to nodes, as the controller sees it.

use std::collections::BTreeMap;

use crate::call::Cx;
use crate::checks;
use crate::pb::csi::v1::volume_capability::access_mode::Mode;
use crate::pb::csi::v1::*;
use crate::refusal::{Answer, exists, failed, not_found, not_now};
use crate::world::{Attachment, Volume};

/// Whether volumes in this mode may be used on several nodes at once.
fn on_many_nodes(mode: Mode) -> bool {
    matches!(mode, Mode::MultiNodeReaderOnly | Mode::MultiNodeSingleWriter | Mode::MultiNodeMultiWriter)
}

fn volume<'a>(cx: &'a mut Cx<'_>, id: &str) -> Answer<&'a mut Volume> {
    let found = cx.world.site_mut(cx.site).volumes.get_mut(id);
    found.ok_or_else(|| not_found(format!("there is no volume {id:?}")))
}

pub(super) fn publish(
    cx: &mut Cx<'_>,
    request: &ControllerPublishVolumeRequest,
) -> Answer<ControllerPublishVolumeResponse> {
    checks::given("volume_id", &request.volume_id)?;
    checks::given("node_id", &request.node_id)?;
    checks::capability(cx, request.volume_capability.as_ref())?;
    let wanted =
        Attachment { capability: request.volume_capability.clone().unwrap_or_default(), readonly: request.readonly };
    volume(cx, &request.volume_id)?;
    let (loose, site) = (cx.layout.loose, cx.world.site(cx.site));
    let node = site.nodes.iter().find(|node| node.id == request.node_id);
    let node = node.ok_or_else(|| not_found(format!("there is no node {:?}", request.node_id)))?;
    if site.is_fenced(node) {
        return Err(not_now(format!("the node {:?} is fenced", node.id)));
    }
    let [never_again, wrong_code, everywhere, no_name] = ["C-12", "X-36", "C-13", "E-04"].map(|id| cx.lies(id));
    let volume = volume(cx, &request.volume_id)?;
    if let Some(present) = volume.attached.get(&request.node_id) {
        if loose && reads(&wanted) {
            return Ok(published(&request.volume_id));
        }
        let words = || format!("the volume is attached to {:?} in another way", request.node_id);
        if *present != wanted && wrong_code {
            return Err(not_now(words()));
        }
        if *present != wanted || never_again {
            return Err(exists(words()));
        }
    } else if let Some((other, held)) = volume.attached.iter().next() {
        let shared = on_many_nodes(checks::mode(&held.capability)) && on_many_nodes(checks::mode(&wanted.capability));
        if !shared && !everywhere {
            let place = if no_name { "another node".to_owned() } else { format!("the node {other:?}") };
            return Err(not_now(format!("the volume is attached to {place}")));
        }
    }
    volume.attached.insert(request.node_id.clone(), wanted);
    Ok(published(&request.volume_id))
}

/// Whether nothing is to be written.
fn reads(attachment: &Attachment) -> bool {
    let mode = checks::mode(&attachment.capability);
    attachment.readonly || matches!(mode, Mode::SingleNodeReaderOnly | Mode::MultiNodeReaderOnly)
}

fn published(id: &str) -> ControllerPublishVolumeResponse {
    let publish_context = BTreeMap::from([("liar.example/path".to_owned(), format!("/dev/liar/{id}"))]);
    ControllerPublishVolumeResponse { publish_context }
}

pub(super) fn unpublish(
    cx: &mut Cx<'_>,
    request: &ControllerUnpublishVolumeRequest,
) -> Answer<ControllerUnpublishVolumeResponse> {
    checks::given("volume_id", &request.volume_id)?;
    let [forgets_the_rest, only_once, trips] = ["X-38", "X-37", "C-01"].map(|id| cx.lies(id));
    let Ok(volume) = volume(cx, &request.volume_id) else {
        return Ok(ControllerUnpublishVolumeResponse {});
    };
    if trips && std::mem::take(&mut volume.was_published) {
        return Err(failed("the volume cannot be detached yet"));
    }
    if request.node_id.is_empty() {
        if !forgets_the_rest {
            volume.attached.clear();
        }
    } else if volume.attached.remove(&request.node_id).is_none() && only_once {
        return Err(not_found(format!("the volume is not attached to {:?}", request.node_id)));
    }
    Ok(ControllerUnpublishVolumeResponse {})
}
