//! Telling how much space the pool has.
//!
//! Blocks that full volumes have set aside are taken already, so the pool's free bytes are what is
//! left. What thin volumes may still grow by is not subtracted: it is nobody's until it is written.

use drivebay_sdk::Result;
use drivebay_sdk::capacity::{GetCapacityRequest, GetCapacityResponse};
use drivebay_sdk::types::VolumeCapability;

use super::fit;
use super::wish::Options;
use crate::backend::Backend;
use crate::record::Kind;
use crate::{refusal, sizes};

impl Backend<'_> {
    /// `capacity.get-capacity`.
    pub(crate) fn get_capacity(&self, request: &GetCapacityRequest) -> Result<GetCapacityResponse> {
        let options = Options::read(&request.parameters, &Vec::new())?;
        self.pool_id()?;
        let elsewhere = request.accessible_topology.as_ref().is_some_and(|place| !self.settings.lies_in(place));
        let available =
            if elsewhere { 0 } else { self.host.space(&self.settings.pool).map_err(refusal::of_host)?.available_bytes };
        Ok(GetCapacityResponse {
            available_capacity: available,
            maximum_volume_size: Some(available - available % sizes::STEP),
            minimum_volume_size: Some(self.minimum(options, &request.volume_capabilities)?),
        })
    }

    fn minimum(&self, options: Options, capabilities: &[VolumeCapability]) -> Result<u64> {
        let asked = capabilities.iter().filter_map(VolumeCapability::mount).find_map(fit::asked_file_system);
        match asked {
            Some(name) if options.kind != Some(Kind::Directory) => {
                let offered = self.file_systems()?;
                let needed = offered.iter().find(|(offered, _)| offered == name).map(|(_, bytes)| *bytes);
                Ok(needed.unwrap_or_default().max(sizes::MINIMUM))
            }
            _ => Ok(sizes::MINIMUM),
        }
    }
}
