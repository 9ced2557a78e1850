//! Volumes from the node's side: the context says which disk one is, and the SDK does the rest.

use drivebay_sdk::disks;
use drivebay_sdk::encryption::rotate_passphrase;
use drivebay_sdk::key_rotation::RotateKeyRequest;
use drivebay_sdk::node::{PublishVolumeRequest, UnpublishVolumeRequest};
use drivebay_sdk::node_expansion::ExpandVolumeRequest;
use drivebay_sdk::node_health::{GetStorageHealthRequest, GetVolumeHealthRequest, StorageHealth};
use drivebay_sdk::node_staging::{StageVolumeRequest, UnstageVolumeRequest};
use drivebay_sdk::node_stats::{GetVolumeStatsRequest, VolumeStats};
use drivebay_sdk::types::VolumeHealth;
use drivebay_sdk::{KeyRotation, Node, NodeExpansion, NodeHealth, NodeStaging, NodeStats, Result};

use crate::Iscsi;
use crate::volume::disk;

impl NodeStaging for Iscsi {
    fn stage_volume(request: StageVolumeRequest) -> Result<()> {
        disks::stage(&request, disk(&request.volume_context, &request.secrets)?)
    }

    fn unstage_volume(request: UnstageVolumeRequest) -> Result<()> {
        disks::unstage(&request)
    }
}

impl Node for Iscsi {
    fn publish_volume(request: PublishVolumeRequest) -> Result<()> {
        disks::publish(&request)
    }

    fn unpublish_volume(request: UnpublishVolumeRequest) -> Result<()> {
        disks::unpublish(&request)
    }
}

impl NodeExpansion for Iscsi {
    fn expand_volume(request: ExpandVolumeRequest) -> Result<u64> {
        disks::expand(&request)
    }
}

impl NodeStats for Iscsi {
    fn get_volume_stats(request: GetVolumeStatsRequest) -> Result<VolumeStats> {
        disks::stats(&request)
    }
}

impl NodeHealth for Iscsi {
    fn get_volume_health(request: GetVolumeHealthRequest) -> Result<VolumeHealth> {
        disks::health(&request)
    }

    /// Each volume tells for itself how its paths are.
    fn get_storage_health(_: GetStorageHealthRequest) -> Result<Vec<StorageHealth>> {
        Ok(Vec::new())
    }
}

impl KeyRotation for Iscsi {
    fn rotate_key(request: RotateKeyRequest) -> Result<()> {
        rotate_passphrase(&request)
    }
}
