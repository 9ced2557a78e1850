//! `volumegroup.Controller`: one row an RPC, and the rules of membership that hold for every backend.
//! Who is in which group the backend is asked, under the locks on all that the request names; members
//! that it tells of are locked before anything is done.

use std::collections::BTreeSet;

use super::premise::{Known, Premise, Question, Resolution, Source};
use super::table::service;
use super::{Rpc, removal};
use drivebay_admission::{LockSet, ObjectKind};
use drivebay_contract::{Abilities, BadAnswer, Feature, Interface, Invalid};
use drivebay_error::{CallError, Decision, RefusalCode};
use drivebay_proto::pb::volumegroup::{self as v1, controller_server};

service! {
    controller_server::Controller => Front;
    facts {}
    guest {
        create_volume_group: CreateVolumeGroupRequest,
            |r| volumes(LockSet::none().exclusive(ObjectKind::VolumeGroupName, &r.name), &r.volume_ids),
            makes |r| r.volume_group.as_ref().map_or_else(LockSet::none, |made| group(&made.volume_group_id)),
            [folds asks];
        modify_volume_group_membership: ModifyVolumeGroupMembershipRequest,
            |r| volumes(group(&r.volume_group_id), &r.volume_ids), [folds asks];
        delete_volume_group: DeleteVolumeGroupRequest, |r| group(&r.volume_group_id), [asks];
        controller_get_volume_group: ControllerGetVolumeGroupRequest, |_| LockSet::none(),
            about |r| group(&r.volume_group_id);
        list_volume_groups: ListVolumeGroupsRequest, |_| LockSet::none();
    }
}

fn group(id: &str) -> LockSet {
    LockSet::none().exclusive(ObjectKind::VolumeGroup, id)
}

/// A volume that joins or leaves a group is changed by it.
fn volumes(set: LockSet, ids: &[String]) -> LockSet {
    ids.iter().fold(set, |set, id| set.exclusive(ObjectKind::Volume, id))
}

/// Asks where these volumes are, where a volume is in one group only.
fn whereabouts<'a>(ids: impl Iterator<Item = &'a String>, known: &Known, able: &Abilities) -> Vec<Question> {
    if !able.has(Feature::OneGroupPerVolume) {
        return Vec::new();
    }
    ids.filter(|id| !known.groups.contains_key(*id)).map(|id| Question::GroupsOf(id.clone())).collect()
}

impl Premise for v1::CreateVolumeGroupRequest {
    fn questions(&self, known: &Known, able: &Abilities) -> Vec<Question> {
        whereabouts(self.volume_ids.iter(), known, able)
    }

    /// Only the backend knows which group has the name, and a group that has it is the answer, though its members
    /// may have been moved to others since (G-02). So it is called, and blamed only where its answer has a volume in
    /// a group that the volume is not in.
    fn review(&self, known: &Known, answer: &Self::Answer) -> Result<(), BadAnswer> {
        let Some(made) = &answer.volume_group else { return Ok(()) };
        let others = made.volumes.iter().flat_map(|member| known.groups(&member.volume_id));
        others.into_iter().find(|other| **other != made.volume_group_id).map_or(Ok(()), |other| {
            let problem =
                format!("was made with a volume of volume group {other}, though a volume is in one group only");
            Err(BadAnswer { field: "volume-group".to_owned(), problem })
        })
    }
}

fn is_as_asked(request: &v1::ModifyVolumeGroupMembershipRequest, group: &v1::VolumeGroup) -> bool {
    let told: BTreeSet<_> = group.volumes.iter().map(|member| &member.volume_id).collect();
    told == request.volume_ids.iter().collect()
}

fn is_unchanged(request: &v1::ModifyVolumeGroupMembershipRequest, known: &Known) -> bool {
    let present: BTreeSet<_> = known.members(&request.volume_group_id).iter().collect();
    present == request.volume_ids.iter().collect()
}

impl Premise for v1::ModifyVolumeGroupMembershipRequest {
    /// The members first; then what the group looks like if nothing changes, or where those are who
    /// join. Of a group that is not there nothing more is asked (G-09).
    fn questions(&self, known: &Known, able: &Abilities) -> Vec<Question> {
        let group = &self.volume_group_id;
        let present = match known.members.get(group) {
            None => return vec![Question::Members(group.clone())],
            Some(None) => return Vec::new(),
            Some(Some(present)) => present,
        };
        if !is_unchanged(self, known) {
            return whereabouts(self.volume_ids.iter().filter(|id| !present.contains(id)), known, able);
        }
        let is_told = able.exports(Interface::VolumeGroupListing) && known.described.is_none();
        is_told.then(|| Question::Description(group.clone(), self.secrets.clone())).into_iter().collect()
    }

    fn further_locks(&self, known: &Known) -> LockSet {
        volumes(LockSet::none(), known.members(&self.volume_group_id))
    }

    /// Clients send the present list over and over, so that costs no work. A backend that cannot
    /// describe its groups is called all the same: the answer must name the members. So is one whose group
    /// has changed since it told the members: volumes are made in groups, and nobody locks what they join.
    fn judge(&self, known: &Known, _able: &Abilities) -> Result<Resolution<Self::Answer>, CallError> {
        if known.lacks_group(&self.volume_group_id) {
            return Err(Decision::NotFound(format!("there is no volume group {}", self.volume_group_id)).into());
        }
        if let Some(described) = known.described.as_ref().filter(|group| is_as_asked(self, group)) {
            return Ok(Resolution::Done(v1::ModifyVolumeGroupMembershipResponse {
                volume_group: Some(described.clone()),
            }));
        }
        let other = |id: &&String| known.groups(id).iter().any(|group| *group != self.volume_group_id);
        match self.volume_ids.iter().enumerate().find(|(_, id)| other(id)) {
            Some((at, volume)) => Err(Invalid::argument(
                format!("volume_ids[{at}]"),
                format!(
                    "volume {volume} is in volume group {}, and a volume can be in one group only",
                    known.groups(volume).join(", ")
                ),
            )
            .into()),
            None => Ok(Resolution::Call),
        }
    }
}

impl Premise for v1::DeleteVolumeGroupRequest {
    /// The members, and whether the group or one of them is replicated.
    fn questions(&self, known: &Known, able: &Abilities) -> Vec<Question> {
        let group = &self.volume_group_id;
        if !known.members.contains_key(group) {
            return vec![Question::Members(group.clone())];
        }
        let members = known.members(group).iter().cloned().map(Source::Volume);
        let all = std::iter::once(Source::Group(group.clone())).chain(members);
        all.filter_map(|source| removal::state(source, known, able)).collect()
    }

    fn further_locks(&self, known: &Known) -> LockSet {
        volumes(LockSet::none(), known.members(&self.volume_group_id))
    }

    /// The volumes go with their group, unless the backend keeps them: then only an empty group goes
    /// (D4, G-12, G-14).
    fn judge(&self, known: &Known, able: &Abilities) -> Result<Resolution<Self::Answer>, CallError> {
        let group = &self.volume_group_id;
        let members = known.members(group);
        if able.has(Feature::GroupKeepsVolumes) && !members.is_empty() {
            let words = format!("volume group {group} has {} volumes; remove them from it first", members.len());
            return Err(Decision::FailedPrecondition(words).into());
        }
        known.not_replicated(&Source::Group(group.clone()))?;
        members.iter().try_for_each(|id| known.not_replicated(&Source::Volume(id.clone())))?;
        Ok(Resolution::Call)
    }

    /// What is not there is deleted (G-11).
    fn forgiven(&self, code: RefusalCode) -> Option<Self::Answer> {
        (code == RefusalCode::NotFound).then(v1::DeleteVolumeGroupResponse::default)
    }
}
