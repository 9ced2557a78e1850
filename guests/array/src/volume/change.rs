//! Growing volumes and changing their mutable parameters, and giving unused blocks back.

use drivebay_sdk::expansion::{ExpandVolumeRequest, ExpandVolumeResponse};
use drivebay_sdk::modification::ModifyVolumeRequest;
use drivebay_sdk::parameters::Parameters;
use drivebay_sdk::reclaim_space::ReclaimSpaceRequest;
use drivebay_sdk::types::{CapacityRange, ReclaimedSpace};
use drivebay_sdk::{Error, Result};

use super::path_of;
use super::wish::{Mutable, STEP};
use crate::array::{Answer, Array, Failure, Reclaimed, Volume, VolumeChange};
use crate::backend::Backend;
use crate::refusal::answered;

impl Backend {
    /// `expansion.expand-volume`. Nodes of this array see the new size by themselves.
    pub(crate) fn expand_volume(&self, request: &ExpandVolumeRequest) -> Result<ExpandVolumeResponse> {
        let array = self.changing(&request.secrets)?;
        let volume = answered(array.volume(&request.volume_id))?;
        let bytes = CapacityRange::choose(Some(request.capacity_range), volume.bytes, STEP)?.max(volume.bytes);
        if !request.capacity_range.contains(bytes) {
            return Err(Error::out_of_range(format!("volume {} has {} bytes already", volume.id, volume.bytes)));
        }
        let change = VolumeChange { bytes: Some(bytes), ..VolumeChange::default() };
        let grown = answered(array.change(&volume.id, &change, |volume| volume.bytes >= bytes))?;
        Ok(ExpandVolumeResponse { capacity_bytes: grown.bytes, node_expansion_required: false })
    }

    /// `modification.modify-volume`.
    pub(crate) fn modify_volume(&self, request: &ModifyVolumeRequest) -> Result<()> {
        let array = self.changing(&request.secrets)?;
        answered(array.volume(&request.volume_id))?;
        let mut parameters = Parameters::new(&request.mutable_parameters);
        let wanted = Mutable::take(&mut parameters)?;
        parameters.finish()?;
        answered(array.change(&request.volume_id, &wanted.change(), |volume| wanted.is_met_by(volume)))?;
        Ok(())
    }

    /// `reclaim-space.reclaim-space`.
    pub(crate) fn reclaim_space(&self, request: &ReclaimSpaceRequest) -> Result<ReclaimedSpace> {
        let array = self.changing(&request.secrets)?;
        let path = format!("{}/reclaim", path_of(&request.volume_id));
        let reclaim = || array.send::<(), Reclaimed>("POST", &path, None);
        // It may be done twice; the first answer's figures are lost then.
        let told = match reclaim() {
            Err(Failure::Unknown(_)) => reclaim(),
            told => told,
        };
        answered(told).map(|told| ReclaimedSpace { pre_usage: Some(told.before), post_usage: Some(told.after) })
    }
}

impl Array<'_> {
    fn change(&self, id: &str, change: &VolumeChange, is_so: impl Fn(&Volume) -> bool) -> Answer<Volume> {
        let look = || Ok(self.find_volume(id)?.filter(&is_so));
        self.settle(|array| array.send("PATCH", &path_of(id), Some(change)), look)
    }
}
