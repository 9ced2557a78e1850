//! Deleting a group with its volumes.
//!
//! All members are checked first; one that cannot be deleted refuses the whole. The group's record is removed last, so
//! an interrupted call continues when it is repeated. Snapshots of the volumes stay.

use drivebay_sdk::Result;
use drivebay_sdk::state::Commit;
use drivebay_sdk::volume_groups::DeleteGroupRequest;
use local_index::Index;
use local_pool::record::{VolumeGroupRecord, VolumeRecord};
use local_pool::{Draft, Section};

use super::membership;
use crate::backend::Backend;

impl Backend<'_> {
    /// `volume-groups.delete-group`.
    pub(crate) fn delete_volume_group(&self, request: &DeleteGroupRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        self.index.open()?;
        let Some(group) = self.pool.find_volume_group(&request.volume_group_id)? else {
            return self.lifecycle.resume_removal(Section::VolumeGroups, &request.volume_group_id);
        };
        let members = self.pool.members_present(&group)?;
        self.check_deletable(&group, &members)?;
        members.iter().try_for_each(|member| self.remove_volume(member))?;
        // What a call before has taken away and not yet removed.
        group.members.iter().try_for_each(|id| self.lifecycle.resume_removal(Section::Volumes, id))?;
        let object = Draft { section: Section::VolumeGroups, id: group.id.clone(), name: group.name.clone() };
        self.lifecycle.remove(&object, Index::without_group(Commit::new(), &group.id))?;
        self.lifecycle.finish_removal(&object)
    }

    fn check_deletable(&self, group: &VolumeGroupRecord, members: &[VolumeRecord]) -> Result<()> {
        if self.replication.is_replicated(Section::VolumeGroups, &group.id)? {
            return Err(membership::replicated(&group.id));
        }
        for member in members {
            self.contents.check_unused(member)?;
            self.replication.check_not_replicated(&member.id)?;
        }
        Ok(())
    }
}
