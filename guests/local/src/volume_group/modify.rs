//! Changing the members of a group.
//!
//! It is all or nothing: the members are in one record, which is replaced once. Members may leave a replicated group;
//! none may join.

use drivebay_sdk::types::VolumeGroup;
use drivebay_sdk::volume_group_membership::ModifyMembershipRequest;
use drivebay_sdk::{Error, Reason, Result};
use local_pool::Section;
use local_pool::record::VolumeGroupRecord;

use super::membership::{self, Change};
use super::terms;
use crate::backend::Backend;

impl Backend<'_> {
    /// `volume-group-membership.modify-membership`.
    pub(crate) fn modify_volume_group(&self, request: &ModifyMembershipRequest) -> Result<VolumeGroup> {
        self.authorise(&request.secrets)?;
        terms::max_volumes(&request.parameters)?;
        self.index.open()?;
        let id = &request.volume_group_id;
        self.pool.volume_group(id)?;
        self.in_turn(id, || {
            let group = self.pool.volume_group(id)?;
            let present: Vec<String> = self.pool.members_present(&group)?.into_iter().map(|member| member.id).collect();
            let change = membership::change(&present, &request.volume_ids);
            if change.is_none() {
                return self.show_group(&group);
            }
            self.check_change(&group, &change)?;
            self.carry_out_change(group, change)
        })
    }

    fn check_change(&self, group: &VolumeGroupRecord, change: &Change) -> Result<()> {
        for id in &change.joining {
            let other = self.pool.group_of(&self.pool.volume(id)?)?;
            if let Some(other) = other.filter(|other| other.id != group.id) {
                let message = membership::in_another(id, &other.id);
                return Err(Error::invalid_argument(message).with_reason(Reason::Incompatible));
            }
        }
        membership::check_size(change.members.len(), group.max_volumes)?;
        if !change.joining.is_empty() && self.replication.is_replicated(Section::VolumeGroups, &group.id)? {
            return Err(membership::replicated(&group.id));
        }
        self.replication.part(group, &change.leaving)
    }

    fn carry_out_change(&self, mut group: VolumeGroupRecord, change: Change) -> Result<VolumeGroup> {
        change.joining.iter().try_for_each(|id| self.index.set_group(id, Some(&group.id)))?;
        group.members = change.members;
        self.index.rewrite_group(&group)?;
        change.leaving.iter().try_for_each(|id| self.index.set_group(id, None))?;
        self.show_group(&group)
    }
}
