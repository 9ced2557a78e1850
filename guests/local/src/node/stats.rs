//! How full a published volume is.
//!
//! An image tells its own numbers. A directory tells those of the pool: its size is a promise, and
//! what a workload there can really write is what the pool has left.

use drivebay_sdk::files::ErrorCode;
use drivebay_sdk::mounts::{Usage, UsageUnit};
use drivebay_sdk::node_stats::{GetVolumeStatsRequest, VolumeStats};
use drivebay_sdk::types::{self, VolumeCondition, VolumeUsage};
use drivebay_sdk::{Error, Result};
use local_pool::refusal;

use crate::backend::Backend;

impl Backend<'_> {
    /// `node-stats.get-volume-stats`.
    pub(crate) fn get_volume_stats(&self, request: &GetVolumeStatsRequest) -> Result<VolumeStats> {
        let (id, path) = (&request.volume_id, &request.volume_path);
        self.pool.find_any_volume(id)?.ok_or_else(|| refusal::no_volume(id))?;
        let usage = self.host.usage(id, path).map_err(|error| match error.code {
            ErrorCode::NotFound | ErrorCode::NotAllowed => {
                Error::not_found(format!("volume {id} is not published at the given path"))
            }
            _ => refusal::of_host(error),
        })?;
        let ailments = self.health_of(id)?.health_statuses;
        Ok(VolumeStats {
            usage: usage.iter().map(volume_usage).collect(),
            volume_condition: Some(VolumeCondition {
                abnormal: !ailments.is_empty(),
                message: ailments.first().map_or("healthy", |ailment| ailment.message.as_str()).to_owned(),
            }),
        })
    }
}

fn volume_usage(usage: &Usage) -> VolumeUsage {
    VolumeUsage {
        available: usage.available,
        total: usage.total,
        used: usage.used,
        unit: match usage.unit {
            UsageUnit::Bytes => types::UsageUnit::Bytes,
            UsageUnit::Inodes => types::UsageUnit::Inodes,
        },
    }
}
