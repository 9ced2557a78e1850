//! A volume that a node has already: how full it is, and making it larger there.
//!
//! The paths in these requests only say where the volume is thought to be, so any text is let through
//! (T1); node work is granted by none that is not in proper form.

use super::rules::{Breach, Verdict, capability, each, page, path, size, text};
use super::{Abilities, BadAnswer, Check, Invalid, listing};
use drivebay_proto::pb::csi::v1::volume_usage::Unit;
use drivebay_proto::pb::csi::v1::{
    NodeExpandVolumeRequest, NodeExpandVolumeResponse, NodeGetVolumeStatsRequest, NodeGetVolumeStatsResponse,
    VolumeUsage,
};

/// A usage names its unit, and a total of bytes is never 0; some file systems do not count inodes and
/// say 0 there (CSI, `VolumeUsage`).
fn usage(usage: &VolumeUsage) -> Verdict {
    let unit = match Unit::try_from(usage.unit) {
        Ok(Unit::Unknown) => return Err(Breach::missing("unit")),
        Ok(unit) => unit,
        Err(_) => return Err(Breach::new("unit", format!("has no value {}", usage.unit))),
    };
    size::not_negative("total", usage.total)?;
    size::not_negative("available", usage.available)?;
    size::not_negative("used", usage.used)?;
    if unit == Unit::Bytes && usage.total == 0 {
        return Err(Breach::missing("total"));
    }
    Ok(())
}

impl Check for NodeGetVolumeStatsRequest {
    type Answer = NodeGetVolumeStatsResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        path::place("volume_path", &self.volume_path)?;
        path::optional_place("staging_target_path", &self.staging_target_path)?;
        Ok(())
    }

    #[expect(deprecated, reason = "older clients still read the condition")]
    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        each("usage", &answer.usage, usage)?;
        page::unique("usage", answer.usage.iter().map(VolumeUsage::unit), |unit| unit.as_str_name())?;
        listing::condition(answer.volume_condition.as_ref())?;
        Ok(())
    }

    fn paths(&self) -> Vec<&str> {
        path::usable([&self.staging_target_path, &self.volume_path])
    }
}

impl Check for NodeExpandVolumeRequest {
    type Answer = NodeExpandVolumeResponse;

    fn check(&self, able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        path::place("volume_path", &self.volume_path)?;
        path::optional_place("staging_target_path", &self.staging_target_path)?;
        size::range("capacity_range", self.capacity_range.as_ref())?;
        capability::optional("volume_capability", self.volume_capability.as_ref(), able)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    /// 0 says that the size is not known (CSI, `NodeExpandVolumeResponse`). As with the controller's
    /// part, a volume that was too large before is no breach.
    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        size::not_negative("capacity_bytes", answer.capacity_bytes)?;
        if answer.capacity_bytes > 0 {
            let asked = self.capacity_range.as_ref();
            size::large_enough("capacity_bytes", answer.capacity_bytes, asked)?;
        }
        Ok(())
    }

    fn paths(&self) -> Vec<&str> {
        path::usable([&self.staging_target_path, &self.volume_path])
    }
}
