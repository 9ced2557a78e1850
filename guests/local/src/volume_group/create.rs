//! Creating volume groups, and joining one when a volume is created.
//!
//! A member's record names the group before the group's record names the member, and only the latter counts. A crash
//! in between changes nothing.

use drivebay_sdk::state::Commit;
use drivebay_sdk::types::VolumeGroup;
use drivebay_sdk::volume_groups::CreateGroupRequest;
use drivebay_sdk::{Error, Reason, Result};
use local_index::Index;
use local_pool::record::{FORMAT, VolumeGroupRecord};
use local_pool::{Claim, Draft, Section, refusal};

use super::{membership, terms};
use crate::backend::Backend;

impl Backend<'_> {
    /// `volume-groups.create-group`.
    pub(crate) fn create_volume_group(&self, request: &CreateGroupRequest) -> Result<VolumeGroup> {
        self.authorise(&request.secrets)?;
        let max_volumes = terms::max_volumes(&request.parameters)?;
        self.index.open()?;
        if let Some(id) = self.pool.find_named(Section::VolumeGroups, &request.name)? {
            return self.same_volume_group(&id, max_volumes, &request.volume_ids);
        }
        let members = membership::change(&[], &request.volume_ids).members;
        membership::check_size(members.len(), max_volumes)?;
        for id in &members {
            if let Some(other) = self.pool.group_of(&self.pool.volume(id)?)? {
                let message = membership::in_another(id, &other.id);
                return Err(Error::failed_precondition(message).with_reason(Reason::Incompatible));
            }
        }
        let draft = match self.lifecycle.claim(Section::VolumeGroups, &request.name, None)? {
            Claim::Standing(id) => return self.same_volume_group(&id, max_volumes, &request.volume_ids),
            Claim::Fresh(draft) | Claim::Resumed(draft) => draft,
        };
        let group = self.lifecycle.carry_out(&draft, || self.fill_group(&draft, &members, max_volumes).map(Some))?;
        self.lifecycle.publish(&draft, &group, Index::with_group(Commit::new(), &group)?)?;
        self.show_group(&group)
    }

    fn fill_group(&self, draft: &Draft, members: &[String], max_volumes: usize) -> Result<VolumeGroupRecord> {
        members.iter().try_for_each(|id| self.index.set_group(id, Some(&draft.id)))?;
        Ok(VolumeGroupRecord {
            format: FORMAT,
            id: draft.id.clone(),
            name: draft.name.clone(),
            members: members.to_vec(),
            made_with: members.to_vec(),
            max_volumes,
            created: self.host.now(),
        })
    }

    /// The group that a new volume's parameter means, by its id or its name. `not-found`: there is
    /// none; `resource-exhausted`: it is full; `failed-precondition`: it is replicated as it is.
    pub(crate) fn group_to_join(&self, wanted: &str) -> Result<VolumeGroupRecord> {
        let group = self.named_group(wanted)?;
        let present = self.pool.members_present(&group)?.len();
        membership::check_size(present.saturating_add(1), group.max_volumes)?;
        if self.replication.is_replicated(Section::VolumeGroups, &group.id)? {
            return Err(membership::replicated(&group.id));
        }
        Ok(group)
    }

    /// A group by its id or its name.
    pub(crate) fn named_group(&self, wanted: &str) -> Result<VolumeGroupRecord> {
        if let Some(group) = self.pool.find_volume_group(wanted)? {
            return Ok(group);
        }
        let named = self.pool.find_named(Section::VolumeGroups, wanted)?;
        let group = named.map(|id| self.pool.find_volume_group(&id)).transpose()?.flatten();
        group.ok_or_else(|| refusal::no_volume_group(wanted))
    }

    /// Puts a volume that has no record yet into a group: the record makes it exist as a member.
    pub(crate) fn join_group(&self, volume: &str, group: &str) -> Result<()> {
        self.in_turn(group, || {
            let mut record = self.group_to_join(group)?;
            if record.members.iter().any(|member| member == volume) {
                return Ok(());
            }
            record.members = self.pool.members_present(&record)?.into_iter().map(|member| member.id).collect();
            record.members.push(volume.to_owned());
            self.index.rewrite_group(&record)
        })
    }

    /// The group that has the name already. Its members may have changed since, so others than the present ones are
    /// no difference, unless one is in another group and was never meant for this one.
    fn same_volume_group(&self, id: &str, max_volumes: usize, volumes: &[String]) -> Result<VolumeGroup> {
        let group = self.pool.volume_group(id)?;
        if group.max_volumes != max_volumes {
            let message = format!("volume group {id} has this name and another value of max-volumes");
            return Err(Error::already_exists(message).with_reason(Reason::Incompatible));
        }
        for volume in volumes.iter().filter(|id| !group.made_with.contains(id)) {
            let other = self.pool.find_volume(volume)?.map(|volume| self.pool.group_of(&volume)).transpose()?.flatten();
            if let Some(other) = other.filter(|other| other.id != group.id) {
                let taken = membership::in_another(volume, &other.id);
                let message = format!("volume group {id} has this name, and {taken}");
                return Err(Error::already_exists(message).with_reason(Reason::Incompatible));
            }
        }
        let index = self.index.missing_group(&group)?;
        self.lifecycle.settle_standing(Section::VolumeGroups, &group.name, index)?;
        self.show_group(&group)
    }
}
