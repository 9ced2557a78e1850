//! Looking volumes up.
//!
//! A page comes from the index, a single volume from its record. A listing looks for volumes that
//! an operator has placed since, which costs one look at one folder.

use drivebay_sdk::types::{VolumeCondition, VolumeHealthEntry, VolumeStatus};
use drivebay_sdk::volume_listing::{GetVolumeRequest, ListVolumesRequest, ListVolumesResponse, VolumeEntry};
use drivebay_sdk::{Result, listing};
use local_pool::record::VolumeRecord;

use crate::backend::Backend;
use crate::paging::{Cut, cut, limit};

impl Backend<'_> {
    /// `volume-listing.list-volumes`.
    pub(crate) fn list_volumes(&self, request: &ListVolumesRequest) -> Result<ListVolumesResponse> {
        let after = listing::start(request.starting_token.as_deref())?;
        self.index.open()?;
        if after.is_none() {
            self.index.refresh_placed()?;
        }
        let limit = limit(request.max_entries);
        let volumes = self.index.volumes(after, limit.saturating_add(1))?;
        let Cut { entries, next_token } = cut(volumes, limit, |volume| &volume.id);
        let entries = entries.iter().map(|volume| entry(volume, self.condition_in_time(volume))).collect();
        Ok(ListVolumesResponse { entries, next_token })
    }

    /// `volume-listing.get-volume`.
    pub(crate) fn get_volume(&self, request: &GetVolumeRequest) -> Result<VolumeEntry> {
        let volume = self.pool.volume(&request.volume_id)?;
        let ailments = self.ailments_of(&volume)?;
        Ok(entry(&volume, Some(condition(&ailments))))
    }

    /// Older clients learn of the condition from listings alone. A page that takes too long goes without.
    fn condition_in_time(&self, volume: &VolumeRecord) -> Option<VolumeCondition> {
        let ailments = if self.pool.is_out_of_time() { None } else { self.ailments_of(volume).ok() };
        ailments.map(|ailments| condition(&ailments))
    }
}

fn condition(ailments: &[VolumeHealthEntry]) -> VolumeCondition {
    VolumeCondition {
        abnormal: !ailments.is_empty(),
        message: ailments.first().map_or("healthy", |ailment| ailment.message.as_str()).to_owned(),
    }
}

fn entry(volume: &VolumeRecord, volume_condition: Option<VolumeCondition>) -> VolumeEntry {
    let nodes = volume.attachments.iter().map(|attachment| attachment.node.clone());
    VolumeEntry {
        volume: volume.to_volume(),
        status: VolumeStatus { published_node_ids: nodes.collect(), volume_condition },
    }
}
