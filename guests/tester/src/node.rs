//! The node's side without any work on the node: nothing is mounted.

use drivebay_sdk::node::{NodeDescription, PublishVolumeRequest, UnpublishVolumeRequest};
use drivebay_sdk::node_expansion::ExpandVolumeRequest;
use drivebay_sdk::node_health::{GetStorageHealthRequest, GetVolumeHealthRequest, StorageHealth};
use drivebay_sdk::node_staging::{StageVolumeRequest, UnstageVolumeRequest};
use drivebay_sdk::node_stats::{GetVolumeStatsRequest, VolumeStats};
use drivebay_sdk::types::{CapacityRange, StringMap, UsageUnit, VolumeHealth, VolumeUsage};
use drivebay_sdk::{Node, NodeExpansion, NodeHealth, NodeStaging, NodeStats, Result};

use crate::records::{Kept, Record};
use crate::{Tester, act, health};

impl Node for Tester {
    fn get_node() -> Result<NodeDescription> {
        act::quietly("get-node", "host")?;
        Ok(NodeDescription {
            node_id: Some("tester-node".to_owned()),
            max_volumes_per_node: 0,
            accessible_topology: None,
        })
    }

    fn publish_volume(request: PublishVolumeRequest) -> Result<()> {
        act::enter("publish-volume", &request.volume_id, &request.secrets)?;
        Kept::get(&request.volume_id).map(drop)
    }

    fn unpublish_volume(request: UnpublishVolumeRequest) -> Result<()> {
        act::enter("unpublish-volume", &request.volume_id, &StringMap::new()).map(drop)
    }
}

impl NodeStaging for Tester {
    fn stage_volume(request: StageVolumeRequest) -> Result<()> {
        act::enter("stage-volume", &request.volume_id, &request.secrets)?;
        Kept::get(&request.volume_id).map(drop)
    }

    fn unstage_volume(request: UnstageVolumeRequest) -> Result<()> {
        act::enter("unstage-volume", &request.volume_id, &StringMap::new()).map(drop)
    }
}

impl NodeStats for Tester {
    fn get_volume_stats(request: GetVolumeStatsRequest) -> Result<VolumeStats> {
        act::enter("get-volume-stats", &request.volume_id, &StringMap::new())?;
        let total = Kept::get(&request.volume_id)?.volume.capacity_bytes;
        Ok(VolumeStats {
            usage: vec![VolumeUsage { available: total, total, used: 0, unit: UsageUnit::Bytes }],
            volume_condition: None,
        })
    }
}

impl NodeExpansion for Tester {
    fn expand_volume(request: ExpandVolumeRequest) -> Result<u64> {
        act::enter("node-expand-volume", &request.volume_id, &request.secrets)?;
        let bytes = Kept::get(&request.volume_id)?.volume.capacity_bytes;
        CapacityRange::choose(request.capacity_range, bytes, 1)
    }
}

impl NodeHealth for Tester {
    fn get_volume_health(request: GetVolumeHealthRequest) -> Result<VolumeHealth> {
        act::enter("node-volume-health", &request.volume_id, &StringMap::new())?;
        health::healthy(request.volume_id)
    }

    fn get_storage_health(request: GetStorageHealthRequest) -> Result<Vec<StorageHealth>> {
        act::enter("get-storage-health", "host", &request.secrets)?;
        Ok(Vec::new())
    }
}
