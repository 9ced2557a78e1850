//! Deleting a group with its volumes.
//!
//! First all members are looked at, and one that must stay refuses the whole. The group's record
//! goes last, so that a call that was killed goes on when it comes again.

use drivebay_sdk::state::Commit;
use drivebay_sdk::volume_groups::DeleteGroupRequest;
use drivebay_sdk::{Error, Reason, Result};

use super::membership;
use crate::backend::Backend;
use crate::pool::{Draft, Section};
use crate::record::{VolumeGroupRecord, VolumeRecord};

impl Backend<'_> {
    /// `volume-groups.delete-group`.
    pub(crate) fn delete_volume_group(&self, request: &DeleteGroupRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        self.open_index()?;
        let Some(group) = self.find_volume_group(&request.volume_group_id)? else {
            return self.resume_removal(Section::VolumeGroups, &request.volume_group_id);
        };
        let members = self.members_present(&group)?;
        self.check_deletable(&group, &members)?;
        members.iter().try_for_each(|member| self.delete_unused(member))?;
        // What a call before has taken away and not yet removed.
        group.members.iter().try_for_each(|id| self.resume_removal(Section::Volumes, id))?;
        let object = Draft { section: Section::VolumeGroups, id: group.id.clone(), name: group.name.clone() };
        self.remove(&object, Self::unindex_volume_group(Commit::new(), &group.id))?;
        self.finish_removal(&object)
    }

    fn check_deletable(&self, group: &VolumeGroupRecord, members: &[VolumeRecord]) -> Result<()> {
        if self.is_replicated(Section::VolumeGroups, &group.id)? {
            return Err(membership::replicated(&group.id));
        }
        for member in members {
            self.check_unused(member)?;
            self.check_not_replicated(&member.id)?;
            if let Some(snapshot) = self.indexed_snapshots_of(&member.id, None, 1)?.first() {
                let message = format!("volume {} of the group has snapshot {}", member.id, snapshot.id);
                return Err(Error::failed_precondition(message).with_reason(Reason::HasDependents));
            }
        }
        Ok(())
    }
}
