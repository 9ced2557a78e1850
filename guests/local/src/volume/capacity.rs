//! `GetCapacity`.
//!
//! Blocks that full volumes have reserved are not free, so the pool's free bytes are the answer. What thin volumes may
//! still grow by is not subtracted. For parameters or capabilities that are impossible here the capacity is zero.

use drivebay_sdk::Result;
use drivebay_sdk::capacity::{GetCapacityRequest, GetCapacityResponse};
use drivebay_sdk::types::VolumeCapability;
use local_pool::record::Kind;
use local_pool::refusal;

use super::plan;
use super::wish::{Options, Wish};
use crate::backend::Backend;
use crate::sizes;

impl Backend<'_> {
    /// `capacity.get-capacity`.
    pub(crate) fn get_capacity(&self, request: &GetCapacityRequest) -> Result<GetCapacityResponse> {
        self.pool.id()?;
        let elsewhere = request.accessible_topology.as_ref().is_some_and(|place| !self.settings.lies_in(place));
        let least = if elsewhere { None } else { self.least_bytes(request)? };
        let Some(least) = least else {
            return Ok(GetCapacityResponse {
                available_capacity: 0,
                maximum_volume_size: Some(0),
                minimum_volume_size: None,
            });
        };
        let available = self.host.space(&self.settings.pool).map_err(refusal::of_host)?.available_bytes;
        Ok(GetCapacityResponse {
            available_capacity: available,
            maximum_volume_size: Some(available - available % sizes::STEP),
            minimum_volume_size: Some(least),
        })
    }

    /// The size of the smallest volume as it is asked about; none: no such volume can be made here.
    fn least_bytes(&self, request: &GetCapacityRequest) -> Result<Option<u64>> {
        let Ok(options) = Options::read(&request.parameters, &Vec::new()) else {
            return Ok(None);
        };
        let wish = Wish {
            options,
            capabilities: &request.volume_capabilities,
            range: None,
            source: None,
            group: None,
            requirement: None,
            default_bytes: sizes::MINIMUM,
        };
        let of_file_system = options.kind != Some(Kind::Directory)
            && request.volume_capabilities.iter().any(|wanted| !VolumeCapability::is_block(wanted));
        let offered = if of_file_system { self.file_systems()? } else { Vec::new() };
        // Where no use is named, an image need not hold a file system.
        if request.volume_capabilities.is_empty() && options.kind != Some(Kind::Directory) {
            return Ok(Some(sizes::MINIMUM));
        }
        Ok(plan::decide(&wish, None, &offered).ok().map(|plan| plan.bytes))
    }
}
