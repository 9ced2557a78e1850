//! Lasting groups of volumes.
//!
//! Lists of members are sets: they were folded before (`compat`), and an answer's order means nothing.
//! Whether volumes fit together is the backend's to say.

use std::collections::BTreeSet;

use super::flaws::{Entries, Flaw};
use super::rules::{Breach, Under, Verdict, each, page, required, same, text};
use super::{Abilities, BadAnswer, Check, Invalid, volume};
use drivebay_proto::pb::volumegroup::{
    ControllerGetVolumeGroupRequest, ControllerGetVolumeGroupResponse, CreateVolumeGroupRequest,
    CreateVolumeGroupResponse, DeleteVolumeGroupRequest, DeleteVolumeGroupResponse, ListVolumeGroupsRequest,
    ListVolumeGroupsResponse, ModifyVolumeGroupMembershipRequest, ModifyVolumeGroupMembershipResponse, VolumeGroup,
    list_volume_groups_response,
};

/// A group in an answer, with all its members (G-17, G-22).
fn object(group: &VolumeGroup, able: &Abilities) -> Verdict {
    text::id("volume_group_id", &group.volume_group_id)?;
    text::context("volume_group_context", &group.volume_group_context)?;
    each("volumes", &group.volumes, |member| volume::object(member, able))?;
    page::unique_texts("volumes", group.volumes.iter().map(|member| member.volume_id.as_str()))
}

/// The group that an answer is about.
fn answered<'a>(group: Option<&'a VolumeGroup>, able: &Abilities) -> Result<&'a VolumeGroup, Breach> {
    let group = required("volume_group", group)?;
    object(group, able).under("volume_group")?;
    Ok(group)
}

/// An answer about a group tells about that one.
fn about(asked: &str, group: &VolumeGroup) -> Verdict {
    same("volume_group.volume_group_id", &group.volume_group_id, asked)
}

impl Check for CreateVolumeGroupRequest {
    type Answer = CreateVolumeGroupResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::name("name", &self.name)?;
        each("volume_ids", &self.volume_ids, |id| text::id("", id))?;
        text::map("parameters", &self.parameters)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    /// The members are not compared: a group that is there already may have changed since (G-02).
    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer> {
        answered(answer.volume_group.as_ref(), able)?;
        Ok(())
    }
}

impl Check for ModifyVolumeGroupMembershipRequest {
    type Answer = ModifyVolumeGroupMembershipResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_group_id", &self.volume_group_id)?;
        each("volume_ids", &self.volume_ids, |id| text::id("", id))?;
        text::map("parameters", &self.parameters)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    /// The members are those that were asked for (G-06, G-07).
    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer> {
        let group = answered(answer.volume_group.as_ref(), able)?;
        about(&self.volume_group_id, group)?;
        let told: BTreeSet<_> = group.volumes.iter().map(|member| &member.volume_id).collect();
        if told == self.volume_ids.iter().collect() {
            return Ok(());
        }
        Err(Breach::new("volume_group.volumes", "are others than asked for").into())
    }
}

impl Check for DeleteVolumeGroupRequest {
    type Answer = DeleteVolumeGroupResponse;

    /// Deleting what never was is success, whatever it is called (G-11; T7 holds here too).
    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::any_id("volume_group_id", &self.volume_group_id)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, _answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        Ok(())
    }
}

impl Check for ControllerGetVolumeGroupRequest {
    type Answer = ControllerGetVolumeGroupResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_group_id", &self.volume_group_id)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer> {
        about(&self.volume_group_id, answered(answer.volume_group.as_ref(), able)?)?;
        Ok(())
    }
}

impl Check for ListVolumeGroupsRequest {
    type Answer = ListVolumeGroupsResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        page::limit("max_entries", self.max_entries)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn bounded(self) -> Self {
        Self { max_entries: page::bounded(self.max_entries), ..self }
    }

    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer> {
        let asked = page::Asked { most: self.max_entries, token: &self.starting_token };
        asked.answered(answer.entries.len(), &answer.next_token)?;
        each("entries", &answer.entries, |entry| answered(entry.volume_group.as_ref(), able).map(drop))?;
        let groups = answer.entries.iter().filter_map(|entry| entry.volume_group.as_ref());
        page::unique_texts("entries", groups.map(|group| group.volume_group_id.as_str()))?;
        Ok(())
    }

    fn can_be_sifted(&self) -> bool {
        true
    }

    fn sift(&self, answer: &mut Self::Answer, able: &Abilities) -> Vec<Flaw> {
        let rule = |entry: &_| answered(group(entry), able).map(drop);
        Entries { id, rule: &rule, mend: &mend }.sift(&mut answer.entries)
    }
}

const fn group(entry: &list_volume_groups_response::Entry) -> Option<&VolumeGroup> {
    entry.volume_group.as_ref()
}

fn id(entry: &list_volume_groups_response::Entry) -> &str {
    group(entry).map_or("", |group| group.volume_group_id.as_str())
}

/// Takes away what is wrong with a group and its members. None of them is left out: G-17.
fn mend(entry: &mut list_volume_groups_response::Entry) {
    let Some(group) = &mut entry.volume_group else { return };
    if text::context("", &group.volume_group_context).is_err() {
        group.volume_group_context.clear();
    }
    group.volumes.iter_mut().for_each(volume::mend);
}
