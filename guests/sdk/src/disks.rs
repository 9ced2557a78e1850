//! The node's side of volumes that are disks over a network: connected, encrypted and formatted where new, mounted, shown, grown,
//! measured, taken down.
//!
//! A vendor says where a volume's disk is ([`Disk`]) and hands the requests on. Owns the order of these steps and what a
//! client is told of them. Where the disk is comes from the vendor's words, and never from here.
//!
//! ```no_run
//! use drivebay_sdk::disks::{self, Disk};
//! use drivebay_sdk::node_staging::{StageVolumeRequest, UnstageVolumeRequest};
//! use drivebay_sdk::{NodeStaging, Result, attach};
//!
//! struct Array;
//!
//! impl NodeStaging for Array {
//!     fn stage_volume(request: StageVolumeRequest) -> Result<()> {
//!         let target = attach::iscsi(["10.20.0.5:3260"], "iqn.2026-11.example:array", 7).prove(&request.secrets);
//!         let identity = "naa.6001405d1eba00000000000000000007".to_owned();
//!         disks::stage(&request, Disk { target: target.into(), identity, is_new: true, encryption: None })
//!     }
//!
//!     fn unstage_volume(request: UnstageVolumeRequest) -> Result<()> {
//!         disks::unstage(&request)
//!     }
//! }
//! ```

use crate::attach::{self, Target};
use crate::encryption::Encryption;
use crate::mounts::{self, Access, ErrorCode, MountRequest};
use crate::node::{PublishVolumeRequest, UnpublishVolumeRequest};
use crate::node_expansion::ExpandVolumeRequest;
use crate::node_health::GetVolumeHealthRequest;
use crate::node_staging::{StageVolumeRequest, UnstageVolumeRequest};
use crate::node_stats::{GetVolumeStatsRequest, VolumeStats};
use crate::types::{MountVolume, VolumeCondition, VolumeHealth, VolumeHealthEntry, VolumeHealthErrorType};
use crate::{Error, Result};

/// The file system where the client names none.
const DEFAULT_FILE_SYSTEM: &str = "ext4";

/// A volume's disk. It holds secrets, so it does not show itself.
#[derive(Clone)]
pub struct Disk {
    /// Where it is connected, with the secrets of the call.
    pub target: Target,
    /// The disk's own name, as the array knows it: `naa.`, `eui.` or `t10.` and what follows by iSCSI; `uuid.`, `nguid.` or `eui.`
    /// by NVMe/TCP.
    pub identity: String,
    /// Nobody has written to it yet, so a file system may be made. Never true of a copy.
    pub is_new: bool,
    /// What it is encrypted by; none: it is used as it is.
    pub encryption: Option<Encryption>,
}

/// `node-staging.stage-volume`: connects the disk, unlocks it, and mounts it unless the workload gets it raw.
pub fn stage(request: &StageVolumeRequest, disk: Disk) -> Result<()> {
    let (volume, capability) = (&request.volume_id, &request.volume_capability);
    let access = capability.access();
    disk.target.connect(volume, disk.identity, access)?;
    if let Some(encryption) = &disk.encryption {
        encryption.unlock(volume, disk.is_new && access == Access::ReadWrite)?;
    }
    let Some(mount) = capability.mount() else { return Ok(()) };
    let file_system = file_system(mount);
    if disk.is_new && access == Access::ReadWrite {
        attach::make_file_system(volume, file_system)?;
    }
    Ok(mounts::mount_device(&MountRequest {
        volume: volume.clone(),
        target: request.staging_target_path.clone(),
        file_system: file_system.to_owned(),
        options: options(file_system, &mount.mount_flags),
        access,
    })?)
}

fn file_system(mount: &MountVolume) -> &str {
    mount.fs_type.as_deref().filter(|it| !it.is_empty()).unwrap_or(DEFAULT_FILE_SYSTEM)
}

/// The client's options, and `nouuid` for XFS: a copy has the UUID of its original, and both may be used on one node. It
/// is given for every disk, because an array copies disks that no driver knows of, and because the original must
/// not be refused once a copy of it is mounted. Nothing is lost by it: what XFS would notice, one disk under two names,
/// the host excludes by the disk's identity.
fn options(file_system: &str, asked: &[String]) -> Vec<String> {
    const NO_UUID: &str = "nouuid";
    let mut options = asked.to_vec();
    if file_system == "xfs" && !options.iter().any(|option| option == NO_UUID) {
        options.push(NO_UUID.to_owned());
    }
    options
}

/// `node-staging.unstage-volume`: unmounts and disconnects the disk.
pub fn unstage(request: &UnstageVolumeRequest) -> Result<()> {
    mounts::unmount(&request.volume_id, &request.staging_target_path)?;
    Ok(attach::disconnect(&request.volume_id)?)
}

/// `node.publish-volume`: shows what is staged, or the disk itself.
pub fn publish(request: &PublishVolumeRequest) -> Result<()> {
    let access = Access::for_publish(request.readonly, &request.volume_capability);
    let (volume, target) = (&request.volume_id, &request.target_path);
    if request.volume_capability.is_block() {
        return Ok(mounts::publish_device(volume, target, access)?);
    }
    let staged = request.staging_target_path.as_deref();
    let staged = staged.ok_or_else(|| Error::failed_precondition(format!("volume {volume} is not staged")))?;
    Ok(mounts::bind_mounted(volume, staged, target, access)?)
}

/// `node.unpublish-volume`.
pub fn unpublish(request: &UnpublishVolumeRequest) -> Result<()> {
    Ok(mounts::unmount(&request.volume_id, &request.target_path)?)
}

/// `node-expansion.expand-volume`: every path, the device, the file system. Returns bytes.
pub fn expand(request: &ExpandVolumeRequest) -> Result<u64> {
    Ok(mounts::grow(&request.volume_id)?)
}

/// `node-stats.get-volume-stats`: how full it is, and whether its paths and its file system are well.
pub fn stats(request: &GetVolumeStatsRequest) -> Result<VolumeStats> {
    let (volume, path) = (&request.volume_id, &request.volume_path);
    let usage = mounts::get_usage(volume, path).map_err(|error| mounts::not_published(volume, error, Error::from))?;
    let complaint = complaint(volume)?;
    let condition =
        VolumeCondition { abnormal: complaint.is_some(), message: complaint.unwrap_or_else(|| "healthy".to_owned()) };
    Ok(VolumeStats { usage: usage.into_iter().map(Into::into).collect(), volume_condition: Some(condition) })
}

/// `node-health.get-volume-health`: the same words.
pub fn health(request: &GetVolumeHealthRequest) -> Result<VolumeHealth> {
    let entry = |message| VolumeHealthEntry {
        status: VolumeHealthErrorType::Degraded,
        reason: "PathsOrFileSystem".to_owned(),
        message,
    };
    let health_statuses = complaint(&request.volume_id)?.map(entry).into_iter().collect();
    Ok(VolumeHealth { volume_id: request.volume_id.clone(), health_statuses })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn words(all: &[&str]) -> Vec<String> {
        all.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn xfs_is_mounted_beside_its_copies() {
        assert_eq!(options("xfs", &words(&["noatime"])), ["noatime", "nouuid"]);
        assert_eq!(options("xfs", &words(&["nouuid"])), ["nouuid"], "no option is given twice");
        assert_eq!(options("ext4", &words(&["noatime"])), ["noatime"], "others do not know it");
    }

    #[test]
    fn a_client_that_names_no_file_system_gets_ext4() {
        for (asked, expected) in [(None, "ext4"), (Some(""), "ext4"), (Some("xfs"), "xfs")] {
            let fs_type = asked.map(str::to_owned);
            let mount = MountVolume { fs_type, mount_flags: Vec::new(), volume_mount_group: None };
            assert_eq!(file_system(&mount), expected);
        }
    }
}
