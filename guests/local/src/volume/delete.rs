//! Deleting volumes.
//!
//! Snapshots and clones share blocks with their source or have their own, never its file, so a
//! volume may go while they stay. What is in use stays.

use drivebay_sdk::Result;
use drivebay_sdk::state::Commit;
use drivebay_sdk::volumes::DeleteVolumeRequest;

use crate::backend::Backend;
use crate::pool::{Draft, Section};
use crate::record::VolumeRecord;
use crate::{ids, refusal};

impl Backend<'_> {
    /// `volumes.delete-volume`.
    pub(crate) fn delete_volume(&self, request: &DeleteVolumeRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        self.open_index()?;
        match self.find_volume(&request.volume_id)? {
            Some(volume) => {
                self.check_free(&volume)?;
                self.delete_unused(&volume)
            }
            None => self.resume_removal(Section::Volumes, &request.volume_id),
        }
    }

    /// Goes on with the removal of what has no record any more; success when nothing is there.
    pub(crate) fn resume_removal(&self, section: Section, id: &str) -> Result<()> {
        if !ids::is_well_formed(id) {
            return Ok(());
        }
        if let Some(object) = self.removal(section, id)? {
            return self.finish_removal(&object);
        }
        if !self.has_file(&self.deleted_file(section, id))? {
            return Ok(());
        }
        let object = Draft { section, id: id.to_owned(), name: String::new() };
        self.finish_removal(&object)
    }

    /// Refuses what others hold: a group that the volume is in, a site that it is copied to.
    fn check_free(&self, volume: &VolumeRecord) -> Result<()> {
        if let Some(group) = self.group_of(volume)? {
            let message = format!("volume {} is in volume group {}; remove it from there first", volume.id, group.id);
            return Err(refusal::in_use(message));
        }
        self.check_not_replicated(&volume.id)
    }

    /// Deletes a volume that nobody uses, whatever group it is in.
    pub(crate) fn delete_unused(&self, volume: &VolumeRecord) -> Result<()> {
        self.check_unused(volume)?;
        let object = Draft { section: Section::Volumes, id: volume.id.clone(), name: volume.name.clone() };
        self.remove(&object, Self::unindex_volume(Commit::new(), &volume.id))?;
        if let Err(in_use) = self.check_unstaged(&volume.id) {
            self.restore(&object, Self::index_volume(Commit::new(), volume)?)?;
            return Err(in_use);
        }
        self.finish_removal(&object)
    }
}
