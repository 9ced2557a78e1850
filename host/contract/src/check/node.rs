//! Bringing a volume to a workload on this node and taking it away again.
//!
//! The paths in these requests are where the host will mount, so they are held to one form. What a
//! second, equal or differing call means is decided from the ledger, not here.

use std::collections::BTreeMap;

use super::rules::{Breach, Verdict, capability, path, size, text, topology};
use super::{Abilities, BadAnswer, Check, Invalid};
use crate::Interface;
use drivebay_proto::pb::csi::v1::{
    NodeGetInfoRequest, NodeGetInfoResponse, NodePublishVolumeRequest, NodePublishVolumeResponse,
    NodeStageVolumeRequest, NodeStageVolumeResponse, NodeUnpublishVolumeRequest, NodeUnpublishVolumeResponse,
    NodeUnstageVolumeRequest, NodeUnstageVolumeResponse,
};

/// The key by which kubelet marks a volume that lives only as long as its workload.
const EPHEMERAL: &str = "csi.storage.k8s.io/ephemeral";

fn is_ephemeral(context: &BTreeMap<String, String>) -> bool {
    context.get(EPHEMERAL).is_some_and(|value| value == "true")
}

impl Check for NodeStageVolumeRequest {
    type Answer = NodeStageVolumeResponse;

    fn check(&self, able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        path::target("staging_target_path", &self.staging_target_path)?;
        capability::needed("volume_capability", self.volume_capability.as_ref(), able)?;
        text::map("publish_context", &self.publish_context)?;
        text::map("volume_context", &self.volume_context)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, _answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        Ok(())
    }

    fn paths(&self) -> Vec<&str> {
        path::usable([&self.staging_target_path])
    }
}

impl Check for NodeUnstageVolumeRequest {
    type Answer = NodeUnstageVolumeResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        path::target("staging_target_path", &self.staging_target_path)?;
        Ok(())
    }

    fn check_answer(&self, _answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        Ok(())
    }

    fn paths(&self) -> Vec<&str> {
        path::usable([&self.staging_target_path])
    }
}

/// Where staging is done a published volume was staged before, unless it is ephemeral: kubelet never
/// stages those (T6). It is a precondition (CSI, `NodePublishVolume`), so what is wrong with the request itself
/// is said first.
fn staged(request: &NodePublishVolumeRequest, able: &Abilities) -> Verdict {
    const FIELD: &str = "staging_target_path";
    let demanded = able.exports(Interface::NodeStaging) && !is_ephemeral(&request.volume_context);
    if demanded && request.staging_target_path.is_empty() {
        return Err(Breach::precondition(FIELD, "is required: stage the volume first"));
    }
    path::optional_target(FIELD, &request.staging_target_path)
}

impl Check for NodePublishVolumeRequest {
    type Answer = NodePublishVolumeResponse;

    fn check(&self, able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        path::target("target_path", &self.target_path)?;
        capability::needed("volume_capability", self.volume_capability.as_ref(), able)?;
        staged(self, able)?;
        text::map("publish_context", &self.publish_context)?;
        text::map("volume_context", &self.volume_context)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, _answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        Ok(())
    }

    fn paths(&self) -> Vec<&str> {
        path::usable([&self.staging_target_path, &self.target_path])
    }
}

impl Check for NodeUnpublishVolumeRequest {
    type Answer = NodeUnpublishVolumeResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        path::target("target_path", &self.target_path)?;
        Ok(())
    }

    fn check_answer(&self, _answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        Ok(())
    }

    fn paths(&self) -> Vec<&str> {
        path::usable([&self.target_path])
    }
}

impl Check for NodeGetInfoRequest {
    type Answer = NodeGetInfoResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        Ok(())
    }

    /// A backend may leave the node's id to the operator, so an empty one is filled in elsewhere.
    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer> {
        text::optional_node_id("node_id", &answer.node_id)?;
        size::not_negative("max_volumes_per_node", answer.max_volumes_per_node)?;
        let place = answer.accessible_topology.as_ref();
        topology::answered_one("accessible_topology", place, able)?;
        Ok(())
    }
}
