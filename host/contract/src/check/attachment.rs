//! Connecting volumes with nodes from the controller's side.
//!
//! Nothing here concerns the node itself: its paths and its own calls have rules of their own.

use super::rules::{Breach, capability, text};
use super::{Abilities, BadAnswer, Check, Invalid};
use crate::Feature;
use drivebay_proto::pb::csi::v1::{
    ControllerPublishVolumeRequest, ControllerPublishVolumeResponse, ControllerUnpublishVolumeRequest,
    ControllerUnpublishVolumeResponse,
};

impl Check for ControllerPublishVolumeRequest {
    type Answer = ControllerPublishVolumeResponse;

    /// The volume's context is not compared with anything: clients add keys of their own (T4).
    fn check(&self, able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        text::node_id("node_id", &self.node_id)?;
        capability::needed("volume_capability", self.volume_capability.as_ref(), able)?;
        if self.readonly && !able.has(Feature::PublishReadonly) {
            return Err(Breach::lacks("readonly", Feature::PublishReadonly).into());
        }
        text::map("volume_context", &self.volume_context)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        text::context("publish_context", &answer.publish_context)?;
        Ok(())
    }
}

impl Check for ControllerUnpublishVolumeRequest {
    type Answer = ControllerUnpublishVolumeResponse;

    /// Taking away what never was there is success, as with deleting (T7).
    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::any_id("volume_id", &self.volume_id)?;
        text::optional_node_id("node_id", &self.node_id)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, _answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        Ok(())
    }
}
