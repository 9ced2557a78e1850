//! `DeleteVolume`.
//!
//! A volume in use stays. Its snapshots and clones do not depend on it, so they may outlive it.

use drivebay_sdk::Result;
use drivebay_sdk::state::Commit;
use drivebay_sdk::volumes::DeleteVolumeRequest;
use local_index::Index;
use local_pool::record::VolumeRecord;
use local_pool::{Draft, Section, refusal};

use crate::backend::Backend;

impl Backend<'_> {
    /// `volumes.delete-volume`.
    pub(crate) fn delete_volume(&self, request: &DeleteVolumeRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        self.index.open()?;
        match self.pool.find_volume(&request.volume_id)? {
            Some(volume) => {
                self.check_free(&volume)?;
                self.delete_unused(&volume)
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

    /// Deletes a volume that nobody uses, whatever group it is in.
    pub(crate) fn delete_unused(&self, volume: &VolumeRecord) -> Result<()> {
        self.contents.check_unused(volume)?;
        let object = Draft { section: Section::Volumes, id: volume.id.clone(), name: volume.name.clone() };
        self.lifecycle.remove(&object, Index::without_volume(Commit::new(), &volume.id))?;
        if let Err(in_use) = self.contents.check_unstaged(&volume.id) {
            self.lifecycle.restore(&object, Index::with_volume(Commit::new(), volume)?)?;
            return Err(in_use);
        }
        self.lifecycle.finish_removal(&object)
    }
}
