//! Volumes on nodes: disks that are connected by iSCSI, in the words that attaching returned.
//!
//! Nothing is asked of the array here: a node needs no way to its interface, and no login but that of its initiator. Whether a
//! volume is encrypted says its own context, which the client keeps: it is no matter of what the array says at attaching.

use drivebay_sdk::disks::{self, Disk};
use drivebay_sdk::encryption::Encryption;
use drivebay_sdk::node::{PublishVolumeRequest, UnpublishVolumeRequest};
use drivebay_sdk::node_expansion::ExpandVolumeRequest;
use drivebay_sdk::node_staging::{StageVolumeRequest, UnstageVolumeRequest};
use drivebay_sdk::node_stats::{GetVolumeStatsRequest, VolumeStats};
use drivebay_sdk::parameters::find;
use drivebay_sdk::{Error, Node, NodeExpansion, NodeStaging, NodeStats, Result, attach};

use crate::exports::Array;

/// The words of the publish context.
pub(crate) const IQN: &str = "iqn";
pub(crate) const PORTALS: &str = "portals";
pub(crate) const IDENTITY: &str = "identity";
pub(crate) const NEW: &str = "new";
const LUN: &str = "lun";

/// The disk that the publish context names.
fn disk_of(request: &StageVolumeRequest) -> Result<Disk> {
    let (volume, context) = (&request.volume_id, &request.publish_context);
    let need = |key: &str| {
        let words =
            || Error::failed_precondition(format!("volume {volume} is not attached as a disk: {key} is missing"));
        find(context, key).ok_or_else(words)
    };
    let lun = need(LUN)?.parse().map_err(|_| Error::invalid_argument("the number of the disk is none"))?;
    Ok(Disk {
        target: attach::iscsi(need(PORTALS)?.split(','), need(IQN)?, lun).prove(&request.secrets).into(),
        identity: need(IDENTITY)?.to_owned(),
        is_new: find(context, NEW) == Some("true"),
        encryption: Encryption::find(&request.volume_context, &request.secrets)?,
    })
}

impl NodeStaging for Array {
    fn stage_volume(request: StageVolumeRequest) -> Result<()> {
        disks::stage(&request, disk_of(&request)?)
    }

    fn unstage_volume(request: UnstageVolumeRequest) -> Result<()> {
        disks::unstage(&request)
    }
}

impl Node for Array {
    fn publish_volume(request: PublishVolumeRequest) -> Result<()> {
        disks::publish(&request)
    }

    fn unpublish_volume(request: UnpublishVolumeRequest) -> Result<()> {
        disks::unpublish(&request)
    }
}

impl NodeExpansion for Array {
    fn expand_volume(request: ExpandVolumeRequest) -> Result<u64> {
        disks::expand(&request)
    }
}

impl NodeStats for Array {
    fn get_volume_stats(request: GetVolumeStatsRequest) -> Result<VolumeStats> {
        disks::stats(&request)
    }
}
