//! Upkeep of volumes: giving unused space back, and new keys.
//!
//! Both are held to what the client in the field sends, which is less than the contract demands and
//! asks for more than a backend advertises (T3).

use super::rules::{Breach, Verdict, capability, path, size, text};
use super::{Abilities, BadAnswer, Check, Invalid};
use drivebay_proto::pb::encryptionkeyrotation::{EncryptionKeyRotateRequest, EncryptionKeyRotateResponse};
use drivebay_proto::pb::reclaimspace::{
    ControllerReclaimSpaceRequest, ControllerReclaimSpaceResponse, NodeReclaimSpaceRequest, NodeReclaimSpaceResponse,
    StorageConsumption,
};

fn usage(field: &str, usage: Option<&StorageConsumption>) -> Verdict {
    usage.map_or(Ok(()), |usage| size::not_negative(&format!("{field}.usage_bytes"), usage.usage_bytes))
}

impl Check for ControllerReclaimSpaceRequest {
    type Answer = ControllerReclaimSpaceResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        text::map("parameters", &self.parameters)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        usage("pre_usage", answer.pre_usage.as_ref())?;
        usage("post_usage", answer.post_usage.as_ref())?;
        Ok(())
    }
}

impl Check for NodeReclaimSpaceRequest {
    type Answer = NodeReclaimSpaceResponse;

    /// One path suffices, and the mode of access may be one that was never advertised (T3).
    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        if self.volume_path.is_empty() && self.staging_target_path.is_empty() {
            return Err(Breach::new("volume_path", "is required where no staging_target_path is given").into());
        }
        path::optional_place("volume_path", &self.volume_path)?;
        path::optional_place("staging_target_path", &self.staging_target_path)?;
        capability::optional_form("volume_capability", self.volume_capability.as_ref())?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        usage("pre_usage", answer.pre_usage.as_ref())?;
        usage("post_usage", answer.post_usage.as_ref())?;
        Ok(())
    }

    fn paths(&self) -> Vec<&str> {
        path::usable([&self.staging_target_path, &self.volume_path])
    }
}

impl Check for EncryptionKeyRotateRequest {
    type Answer = EncryptionKeyRotateResponse;

    /// No path need be given, and of the capability only the mode is looked at (T3).
    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        path::optional_place("volume_path", &self.volume_path)?;
        capability::optional_mode("volume_capability", self.volume_capability.as_ref())?;
        text::secret("encryption_key", &self.encryption_key)?;
        text::map("parameters", &self.parameters)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, _answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        Ok(())
    }

    fn paths(&self) -> Vec<&str> {
        path::usable([&self.volume_path])
    }
}
