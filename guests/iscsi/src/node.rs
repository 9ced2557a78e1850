//! Volumes from the node's side: staging connects and mounts, publishing shows what is staged.

use drivebay_sdk::mounts::{self, Access, ErrorCode, MountRequest};
use drivebay_sdk::node::{PublishVolumeRequest, UnpublishVolumeRequest};
use drivebay_sdk::node_expansion::ExpandVolumeRequest;
use drivebay_sdk::node_health::{GetStorageHealthRequest, GetVolumeHealthRequest, StorageHealth};
use drivebay_sdk::node_staging::{StageVolumeRequest, UnstageVolumeRequest};
use drivebay_sdk::node_stats::{GetVolumeStatsRequest, VolumeStats};
use drivebay_sdk::types::{VolumeCondition, VolumeHealth, VolumeHealthEntry, VolumeHealthErrorType};
use drivebay_sdk::{Error, Node, NodeExpansion, NodeHealth, NodeStaging, NodeStats, Result, attach};

use crate::Iscsi;
use crate::volume::Disk;

const DEFAULT_FILE_SYSTEM: &str = "ext4";

impl NodeStaging for Iscsi {
    fn stage_volume(request: StageVolumeRequest) -> Result<()> {
        let (volume, capability) = (&request.volume_id, &request.volume_capability);
        let disk = Disk::read(&request.volume_context)?;
        let access = capability.access();
        disk.target(&request.secrets).connect(volume, &disk.identity, access)?;
        let Some(mount) = capability.mount() else { return Ok(()) };
        let file_system = mount.fs_type.as_deref().filter(|it| !it.is_empty()).unwrap_or(DEFAULT_FILE_SYSTEM);
        if disk.new && access == Access::ReadWrite {
            attach::make_file_system(volume, file_system)?;
        }
        Ok(mounts::mount_device(&MountRequest {
            volume: volume.clone(),
            target: request.staging_target_path,
            file_system: file_system.to_owned(),
            options: mount.mount_flags.clone(),
            access,
        })?)
    }

    fn unstage_volume(request: UnstageVolumeRequest) -> Result<()> {
        mounts::unmount(&request.volume_id, &request.staging_target_path)?;
        Ok(attach::disconnect(&request.volume_id)?)
    }
}

impl Node for Iscsi {
    fn publish_volume(request: PublishVolumeRequest) -> Result<()> {
        let access = Access::for_publish(request.readonly, &request.volume_capability);
        let (volume, target) = (&request.volume_id, &request.target_path);
        if request.volume_capability.is_block() {
            return Ok(mounts::publish_device(volume, target, access)?);
        }
        let staged = request.staging_target_path.as_deref();
        let staged = staged.ok_or_else(|| Error::failed_precondition(format!("volume {volume} is not staged")))?;
        Ok(mounts::bind_mounted(volume, staged, target, access)?)
    }

    fn unpublish_volume(request: UnpublishVolumeRequest) -> Result<()> {
        Ok(mounts::unmount(&request.volume_id, &request.target_path)?)
    }
}

impl NodeExpansion for Iscsi {
    fn expand_volume(request: ExpandVolumeRequest) -> Result<u64> {
        Ok(mounts::grow(&request.volume_id)?)
    }
}

/// What is wrong with a connected volume, in words; none: nothing.
fn complaint(volume: &str) -> Result<Option<String>> {
    match attach::get_health(volume) {
        Err(error) if error.code == ErrorCode::NotFound => {
            Err(Error::not_found(format!("volume {volume} is not connected on this node")))
        }
        health => Ok(health?.complaint()),
    }
}

impl NodeStats for Iscsi {
    fn get_volume_stats(request: GetVolumeStatsRequest) -> Result<VolumeStats> {
        let (id, path) = (&request.volume_id, &request.volume_path);
        let usage = mounts::get_usage(id, path).map_err(|error| match error.code {
            ErrorCode::NotFound | ErrorCode::NotAllowed => {
                Error::not_found(format!("volume {id} is not published at the given path"))
            }
            _ => error.into(),
        })?;
        let complaint = complaint(id)?;
        let condition = VolumeCondition {
            abnormal: complaint.is_some(),
            message: complaint.unwrap_or_else(|| "healthy".to_owned()),
        };
        Ok(VolumeStats { usage: usage.into_iter().map(Into::into).collect(), volume_condition: Some(condition) })
    }
}

impl NodeHealth for Iscsi {
    fn get_volume_health(request: GetVolumeHealthRequest) -> Result<VolumeHealth> {
        let entry = |message| VolumeHealthEntry {
            status: VolumeHealthErrorType::Degraded,
            reason: "PathsOrFileSystem".to_owned(),
            message,
        };
        let health_statuses = complaint(&request.volume_id)?.map(entry).into_iter().collect();
        Ok(VolumeHealth { volume_id: request.volume_id, health_statuses })
    }

    /// Each volume tells for itself how its paths are.
    fn get_storage_health(_: GetStorageHealthRequest) -> Result<Vec<StorageHealth>> {
        Ok(Vec::new())
    }
}
