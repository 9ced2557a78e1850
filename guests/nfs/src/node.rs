//! Volumes from the node's side: a volume's directory is mounted from the server where a workload wants it.
//!
//! Nothing is staged: the kernel shares one connection and one cache between the mounts of an export.

use drivebay_sdk::mounts::{self, Access, ErrorCode};
use drivebay_sdk::node::{PublishVolumeRequest, UnpublishVolumeRequest};
use drivebay_sdk::node_health::{GetStorageHealthRequest, GetVolumeHealthRequest, StorageHealth};
use drivebay_sdk::node_stats::{GetVolumeStatsRequest, VolumeStats};
use drivebay_sdk::parameters::find;
use drivebay_sdk::types::{StringMap, VolumeCondition, VolumeHealth, VolumeHealthEntry, VolumeHealthErrorType};
use drivebay_sdk::{Error, Node, NodeHealth, NodeStats, Result, attach};

use crate::Nfs;
use crate::record::objection;
use crate::settings::Settings;

const SERVER: &str = "server";
const EXPORT: &str = "export";
const SUBDIRECTORY: &str = "subdirectory";

/// What a node must know of a volume: all of it comes with every later request.
pub(crate) fn context_of(settings: &Settings, id: &str) -> StringMap {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    vec![pair(SERVER, &settings.server), pair(EXPORT, &settings.export), pair(SUBDIRECTORY, id)]
}

/// The share that a context names. Volumes that an administrator has written down by hand may lack the subdirectory,
/// and may name any server that the grant opens.
fn share_of(context: &StringMap) -> Result<attach::NfsShare> {
    let need = |key: &str| {
        find(context, key)
            .ok_or_else(|| Error::invalid_argument(format!("the volume's context does not say its {key}")))
    };
    let share = attach::nfs(need(SERVER)?, need(EXPORT)?);
    Ok(match find(context, SUBDIRECTORY) {
        Some(inner) => share.subdirectory(inner),
        None => share,
    })
}

impl Node for Nfs {
    fn publish_volume(request: PublishVolumeRequest) -> Result<()> {
        if let Some(why) = objection(&request.volume_capability) {
            return Err(Error::invalid_argument(why));
        }
        let share = share_of(&request.volume_context)?;
        let access = Access::for_publish(request.readonly, &request.volume_capability);
        let options = request.volume_capability.mount().map_or(&[][..], |mount| &mount.mount_flags);
        share.mount(request.volume_id, request.target_path, options, access)?;
        Ok(())
    }

    fn unpublish_volume(request: UnpublishVolumeRequest) -> Result<()> {
        Ok(mounts::unmount(&request.volume_id, &request.target_path)?)
    }
}

/// What was found out about a published volume.
enum Seen {
    Usage(Vec<mounts::Usage>),
    /// The server did not answer.
    Silent(String),
}

fn look(id: &str, path: &str) -> Result<Seen> {
    match mounts::get_usage(id, path) {
        Ok(usage) => Ok(Seen::Usage(usage)),
        Err(error) => match error.code {
            ErrorCode::Limit | ErrorCode::Failed => Ok(Seen::Silent(error.message)),
            _ => Err(mounts::not_published(id, error, Error::from)),
        },
    }
}

impl NodeStats for Nfs {
    fn get_volume_stats(request: GetVolumeStatsRequest) -> Result<VolumeStats> {
        let (usage, condition) = match look(&request.volume_id, &request.volume_path)? {
            Seen::Usage(usage) => (usage, VolumeCondition { abnormal: false, message: "healthy".to_owned() }),
            Seen::Silent(message) => (Vec::new(), VolumeCondition { abnormal: true, message }),
        };
        Ok(VolumeStats { usage: usage.into_iter().map(Into::into).collect(), volume_condition: Some(condition) })
    }
}

impl NodeHealth for Nfs {
    fn get_volume_health(request: GetVolumeHealthRequest) -> Result<VolumeHealth> {
        let mut health_statuses = Vec::new();
        if let Some(path) = &request.volume_publish_path
            && let Seen::Silent(message) = look(&request.volume_id, path)?
        {
            let status = VolumeHealthErrorType::Inaccessible;
            health_statuses.push(VolumeHealthEntry { status, reason: "ServerUnreachable".to_owned(), message });
        }
        Ok(VolumeHealth { volume_id: request.volume_id, health_statuses })
    }

    /// Each volume tells for itself whether its server answers.
    fn get_storage_health(_: GetStorageHealthRequest) -> Result<Vec<StorageHealth>> {
        Ok(Vec::new())
    }
}
