//! Volumes looked up and listed in pages.

use drivebay_sdk::types::{StringMap, Volume, VolumeStatus};
use drivebay_sdk::volume_listing::{GetVolumeRequest, ListVolumesRequest, ListVolumesResponse, VolumeEntry};
use drivebay_sdk::{Result, VolumeListing, listing};

use crate::records::{Kept, Record};
use crate::volumes::spoil;
use crate::{Tester, act};

impl VolumeListing for Tester {
    fn list_volumes(request: ListVolumesRequest) -> Result<ListVolumesResponse> {
        let flaw = act::enter("list-volumes", "all", &StringMap::new())?;
        // Many backends give all they have when nobody says how much; the SDK would not.
        let most = request.max_entries.unwrap_or(u32::MAX);
        let entries = Kept::all()?.into_iter().map(|kept| entry(spoiled(kept.volume, &flaw)));
        let token = request.starting_token.as_deref();
        let page = listing::page(entries, |e| &e.volume.volume_id, Some(most), token)?;
        Ok(ListVolumesResponse { entries: page.entries, next_token: page.next_token })
    }

    fn get_volume(request: GetVolumeRequest) -> Result<VolumeEntry> {
        act::enter("get-volume", &request.volume_id, &StringMap::new())?;
        Ok(entry(Kept::get(&request.volume_id)?.volume))
    }
}

/// `FLAW ID`: this volume alone is spoiled.
fn spoiled(volume: Volume, flaw: &str) -> Volume {
    match flaw.split_once(' ') {
        Some((flaw, id)) if id == volume.volume_id => spoil(volume, flaw),
        _ => volume,
    }
}

fn entry(volume: Volume) -> VolumeEntry {
    VolumeEntry { volume, status: VolumeStatus { published_node_ids: Vec::new(), volume_condition: None } }
}
