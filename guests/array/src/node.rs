//! Volumes on nodes: disks that are connected by iSCSI, in the words that attaching returned.
//!
//! Nothing is asked of the array here: a node needs no way to its interface, and no login but that of its initiator.

use drivebay_sdk::mounts::{self, Access, ErrorCode, MountRequest};
use drivebay_sdk::node::{PublishVolumeRequest, UnpublishVolumeRequest};
use drivebay_sdk::node_expansion::ExpandVolumeRequest;
use drivebay_sdk::node_staging::{StageVolumeRequest, UnstageVolumeRequest};
use drivebay_sdk::node_stats::{GetVolumeStatsRequest, VolumeStats};
use drivebay_sdk::types::{StringMap, VolumeCondition};
use drivebay_sdk::{Error, Node, NodeExpansion, NodeStaging, NodeStats, Result, attach};

use crate::exports::Array;

/// The words of the publish context.
pub(crate) const IQN: &str = "iqn";
pub(crate) const PORTALS: &str = "portals";
pub(crate) const IDENTITY: &str = "identity";
pub(crate) const NEW: &str = "new";
const LUN: &str = "lun";

const DEFAULT_FILE_SYSTEM: &str = "ext4";

fn find<'a>(map: &'a StringMap, key: &str) -> Option<&'a str> {
    map.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

/// Connects the disk that a publish context names.
fn connect(volume: &str, context: &StringMap, secrets: &StringMap, access: Access) -> Result<()> {
    let need = |key: &str| {
        let words =
            || Error::failed_precondition(format!("volume {volume} is not attached as a disk: {key} is missing"));
        find(context, key).ok_or_else(words)
    };
    let lun = need(LUN)?.parse().map_err(|_| Error::invalid_argument("the number of the disk is none"))?;
    let mut target = attach::iscsi(need(PORTALS)?.split(','), need(IQN)?, lun);
    if let Some((user, secret)) = find(secrets, "chap-user").zip(find(secrets, "chap-secret")) {
        target = target.chap(user, secret);
    }
    Ok(target.connect(volume, need(IDENTITY)?, access)?)
}

impl NodeStaging for Array {
    fn stage_volume(request: StageVolumeRequest) -> Result<()> {
        let (volume, capability) = (&request.volume_id, &request.volume_capability);
        let access = capability.access();
        connect(volume, &request.publish_context, &request.secrets, access)?;
        let Some(mount) = capability.mount() else { return Ok(()) };
        let file_system = mount.fs_type.as_deref().filter(|it| !it.is_empty()).unwrap_or(DEFAULT_FILE_SYSTEM);
        if find(&request.publish_context, NEW) == Some("true") && access == Access::ReadWrite {
            attach::make_file_system(volume, file_system)?;
        }
        let mut options = mount.mount_flags.clone();
        if file_system == "xfs" {
            // A copy has the UUID of its original, and both may be used on one node.
            options.push("nouuid".to_owned());
        }
        Ok(mounts::mount_device(&MountRequest {
            volume: volume.clone(),
            target: request.staging_target_path,
            file_system: file_system.to_owned(),
            options,
            access,
        })?)
    }

    fn unstage_volume(request: UnstageVolumeRequest) -> Result<()> {
        mounts::unmount(&request.volume_id, &request.staging_target_path)?;
        Ok(attach::disconnect(&request.volume_id)?)
    }
}

impl Node for Array {
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

impl NodeExpansion for Array {
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

impl NodeStats for Array {
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
