//! Health of volumes: always good.

use drivebay_sdk::types::VolumeHealth;
use drivebay_sdk::volume_health::{GetVolumeHealthRequest, ListVolumeHealthRequest, ListVolumeHealthResponse};
use drivebay_sdk::{Result, VolumeHealthReport};

use crate::records::{Kept, Record};
use crate::{Tester, act};

impl VolumeHealthReport for Tester {
    fn list_volume_health(request: ListVolumeHealthRequest) -> Result<ListVolumeHealthResponse> {
        act::enter("list-volume-health", "all", &request.secrets)?;
        Ok(ListVolumeHealthResponse { entries: Vec::new(), next_token: None })
    }

    fn get_volume_health(request: GetVolumeHealthRequest) -> Result<VolumeHealth> {
        act::enter("get-volume-health", &request.volume_id, &request.secrets)?;
        healthy(request.volume_id)
    }
}

pub(crate) fn healthy(volume_id: String) -> Result<VolumeHealth> {
    Kept::get(&volume_id)?;
    Ok(VolumeHealth { volume_id, health_statuses: Vec::new() })
}
