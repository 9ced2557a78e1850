//! Usage of a published volume.
//!
//! An image has its own figures. For a directory they are those of the pool, because its size is not enforced.

use drivebay_sdk::node_stats::{GetVolumeStatsRequest, VolumeStats};
use drivebay_sdk::{Result, mounts};
use local_pool::refusal;

use crate::backend::Backend;
use crate::volume::conditions::condition;

impl Backend<'_> {
    /// `node-stats.get-volume-stats`.
    pub(crate) fn get_volume_stats(&self, request: &GetVolumeStatsRequest) -> Result<VolumeStats> {
        let (id, path) = (&request.volume_id, &request.volume_path);
        let (section, volume) = self.pool.find_any_volume(id)?.ok_or_else(|| refusal::no_volume(id))?;
        let usage = self.host.usage(id, path);
        let usage = usage.map_err(|error| mounts::not_published(id, error, refusal::of_host))?;
        let ailments = self.ailments_in(section, &volume)?;
        Ok(VolumeStats {
            usage: usage.into_iter().map(Into::into).collect(),
            volume_condition: Some(condition(&ailments)),
        })
    }
}
