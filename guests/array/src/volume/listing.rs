//! Looking volumes up, page by page, and telling free space.
//!
//! Volumes that are still being made are left out: their creator has not been told of them.

use drivebay_sdk::Result;
use drivebay_sdk::capacity::{GetCapacityRequest, GetCapacityResponse};
use drivebay_sdk::listing;
use drivebay_sdk::types::{VolumeCondition, VolumeStatus};
use drivebay_sdk::volume_listing::{GetVolumeRequest, ListVolumesRequest, ListVolumesResponse, VolumeEntry};

use super::wish::is_possible;
use crate::array::{Page, Pool, Volume, escape};
use crate::backend::Backend;
use crate::refusal::{answered, no_volume};

/// The end of a path that lists a page; the token is the id of the last entry before it.
pub(crate) fn page_path(kind: &str, token: Option<&str>, most: Option<u32>) -> Result<String> {
    let after = escape(listing::start(token)?.unwrap_or_default());
    let limit = most.filter(|most| *most > 0).unwrap_or(listing::DEFAULT_ENTRIES).min(listing::DEFAULT_ENTRIES);
    Ok(format!("/v1/{kind}?limit={limit}&after={after}"))
}

/// The token for what follows the array's page.
pub(crate) fn token(next: Option<String>) -> Option<String> {
    next.map(|id| format!(">{id}"))
}

fn entry(volume: &Volume) -> VolumeEntry {
    let published_node_ids = volume.exports.iter().map(|export| export.host.clone()).collect();
    // Only volumes that are well are told of; older clients ask nothing else.
    let condition = VolumeCondition { abnormal: false, message: volume.state.clone() };
    VolumeEntry {
        volume: volume.told(),
        status: VolumeStatus { published_node_ids, volume_condition: Some(condition) },
    }
}

impl Backend {
    /// `volume-listing.list-volumes`.
    pub(crate) fn list_volumes(&self, request: &ListVolumesRequest) -> Result<ListVolumesResponse> {
        let path = page_path("volumes", request.starting_token.as_deref(), request.max_entries)?;
        let page: Page<Volume> = answered(self.reading_without()?.get(&path))?;
        let entries = page.entries.iter().filter(|volume| volume.state == "ready").map(entry).collect();
        Ok(ListVolumesResponse { entries, next_token: token(page.next) })
    }

    /// `volume-listing.get-volume`.
    pub(crate) fn get_volume(&self, request: &GetVolumeRequest) -> Result<VolumeEntry> {
        let volume = answered(self.reading_without()?.volume(&request.volume_id))?;
        if volume.state == "ready" { Ok(entry(&volume)) } else { Err(no_volume(&volume.id)) }
    }

    /// `capacity.get-capacity`.
    pub(crate) fn get_capacity(&self, request: &GetCapacityRequest) -> Result<GetCapacityResponse> {
        let pool: Pool = answered(self.reading_without()?.get("/v1/pool"))?;
        let free = if is_possible(&request.parameters, &request.volume_capabilities) { pool.free } else { 0 };
        Ok(GetCapacityResponse { available_capacity: free, maximum_volume_size: None, minimum_volume_size: None })
    }
}
