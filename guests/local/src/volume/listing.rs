//! `ListVolumes` an`d GetVolu`me.
//!
//! A page comes from the index, a single volume from its record. The first page also looks for volumes that an
//! operator has placed in the pool, which takes one look at one folder.

use drivebay_sdk::types::{VolumeCondition, VolumeStatus};
use drivebay_sdk::volume_listing::{GetVolumeRequest, ListVolumesRequest, ListVolumesResponse, VolumeEntry};
use drivebay_sdk::{Result, listing};
use local_pool::record::VolumeRecord;

use super::conditions::condition;
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
        let conditions = self.conditions(after, &entries)?;
        let entries = entries.iter().zip(conditions).map(|(volume, condition)| entry(volume, condition)).collect();
        Ok(ListVolumesResponse { entries, next_token })
    }

    /// `volume-listing.get-volume`.
    pub(crate) fn get_volume(&self, request: &GetVolumeRequest) -> Result<VolumeEntry> {
        let volume = self.pool.volume(&request.volume_id)?;
        let ailments = self.ailments_of(&volume)?;
        Ok(entry(&volume, Some(condition(&ailments))))
    }
}

fn entry(volume: &VolumeRecord, volume_condition: Option<VolumeCondition>) -> VolumeEntry {
    let nodes = volume.attachments.iter().map(|attachment| attachment.node.clone());
    VolumeEntry {
        volume: volume.to_volume(),
        status: VolumeStatus { published_node_ids: nodes.collect(), volume_condition },
    }
}
