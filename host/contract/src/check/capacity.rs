//! Sizes from the controller's side: how much is free, and making a volume larger.
//!
//! Whether a size can be had is the backend's to say; here only what was asked and what was answered
//! are held together.

use super::rules::{Breach, capability, each, required, size, text, topology};
use super::{Abilities, BadAnswer, Check, Invalid};
use drivebay_proto::pb::csi::v1::volume_capability::access_mode::Mode;
use drivebay_proto::pb::csi::v1::{
    ControllerExpandVolumeRequest, ControllerExpandVolumeResponse, GetCapacityRequest, GetCapacityResponse,
};

impl Check for GetCapacityRequest {
    type Answer = GetCapacityResponse;

    fn check(&self, able: &Abilities) -> Result<(), Invalid> {
        each("volume_capabilities", &self.volume_capabilities, |wanted| capability::open_mode(wanted, able))?;
        topology::asked("accessible_topology", self.accessible_topology.as_ref(), able)?;
        text::map("parameters", &self.parameters)?;
        Ok(())
    }

    /// A mode that an older client leaves open is the one that every backend has.
    fn bounded(mut self) -> Self {
        let modes = self.volume_capabilities.iter_mut().filter_map(|wanted| wanted.access_mode.as_mut());
        for open in modes.filter(|mode| mode.mode() == Mode::Unknown) {
            open.set_mode(Mode::SingleNodeWriter);
        }
        self
    }

    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        size::not_negative("available_capacity", answer.available_capacity)?;
        size::not_negative("maximum_volume_size", answer.maximum_volume_size.unwrap_or(0))?;
        size::not_negative("minimum_volume_size", answer.minimum_volume_size.unwrap_or(0))?;
        Ok(())
    }
}

impl Check for ControllerExpandVolumeRequest {
    type Answer = ControllerExpandVolumeResponse;

    fn check(&self, able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        required("capacity_range", self.capacity_range.as_ref())?;
        size::range("capacity_range", self.capacity_range.as_ref())?;
        capability::optional("volume_capability", self.volume_capability.as_ref(), able)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    /// A volume above the limit is no breach: one that was that large before is success (CSI,
    /// `ControllerExpandVolume`), and the answer does not tell which it is.
    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        if answer.capacity_bytes <= 0 {
            return Err(Breach::new("capacity_bytes", "must be more than 0").into());
        }
        let asked = self.capacity_range.as_ref();
        size::large_enough("capacity_bytes", answer.capacity_bytes, asked)?;
        Ok(())
    }
}
