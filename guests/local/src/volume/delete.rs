//! `DeleteVolume`.
//!
//! A volume in use stays. Its snapshots and clones do not depend on it, so they may outlive it.

use drivebay_sdk::Result;
use drivebay_sdk::volumes::DeleteVolumeRequest;
use local_pool::record::VolumeRecord;
use local_pool::{Section, refusal};

use crate::backend::Backend;

impl Backend<'_> {
    /// `volumes.delete-volume`.
    pub(crate) fn delete_volume(&self, request: &DeleteVolumeRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        self.index.open()?;
        match self.pool.find_volume(&request.volume_id)? {
            Some(volume) => {
                self.check_free(&volume)?;
                self.remove_volume(&volume)
            }
            None => self.lifecycle.resume_removal(Section::Volumes, &request.volume_id),
        }
    }

    /// Refuses what others hold: a group that the volume is in, a site that it is copied to.
    fn check_free(&self, volume: &VolumeRecord) -> Result<()> {
        if let Some(group) = self.pool.group_of(volume)? {
            let message = format!("volume {} is in volume group {}; remove it from there first", volume.id, group.id);
            return Err(refusal::in_use(message));
        }
        self.replication.check_not_replicated(&volume.id)
    }
}
