//! `csi.v1.GroupController`: one row an RPC, and who must name the members of a group snapshot.

use super::premise::{Known, Premise, Question, Resolution, Source};
use super::table::service;
use super::{Rpc, removal};
use drivebay_admission::{LockSet, ObjectKind};
use drivebay_contract::{Abilities, Invalid};
use drivebay_error::CallError;
use drivebay_proto::pb::csi::v1::{self, group_controller_server};

service! {
    group_controller_server::GroupController => Front;
    facts {
        group_controller_get_capabilities: GroupControllerGetCapabilities,
            GroupControllerGetCapabilitiesRequest => GroupControllerGetCapabilitiesResponse, group_controller;
    }
    guest {
        create_volume_group_snapshot: CreateVolumeGroupSnapshotRequest, |r| {
                let name = LockSet::none().exclusive(ObjectKind::GroupSnapshotName, &r.name);
                r.source_volume_ids.iter().fold(name, |set, id| set.shared(ObjectKind::Volume, id))
            },
            makes |r| made(r);
        delete_volume_group_snapshot: DeleteVolumeGroupSnapshotRequest, |r| {
                let group = LockSet::none().exclusive(ObjectKind::GroupSnapshot, &r.group_snapshot_id);
                r.snapshot_ids.iter().fold(group, |set, id| set.exclusive(ObjectKind::Snapshot, id))
            },
            [asks];
        get_volume_group_snapshot: GetVolumeGroupSnapshotRequest, |_| LockSet::none(),
            about |r| LockSet::none().shared(ObjectKind::GroupSnapshot, &r.group_snapshot_id), [asks];
    }
}

/// The group snapshot, and its snapshots.
fn made(answer: &v1::CreateVolumeGroupSnapshotResponse) -> LockSet {
    let Some(group) = &answer.group_snapshot else { return LockSet::none() };
    let set = LockSet::none().exclusive(ObjectKind::GroupSnapshot, &group.group_snapshot_id);
    group.snapshots.iter().fold(set, |set, made| set.exclusive(ObjectKind::Snapshot, &made.snapshot_id))
}

/// Members that a request leaves out: only of a group snapshot that there is must they be named (T2).
fn whether_it_is_there(
    (group, members): (&str, &[String]),
    secrets: &std::collections::BTreeMap<String, String>,
    known: &Known,
) -> Option<Question> {
    let is_open = members.is_empty() && known.has_group_snapshot.is_none();
    is_open.then(|| Question::GroupSnapshot(group.to_owned(), secrets.clone()))
}

fn named(members: &[String], known: &Known) -> Result<(), CallError> {
    if members.is_empty() && known.has_group_snapshot == Some(true) {
        let problem = "is required: name the snapshots of this group snapshot";
        return Err(Invalid::argument("snapshot_ids", problem).into());
    }
    Ok(())
}

impl Premise for v1::GetVolumeGroupSnapshotRequest {
    fn questions(&self, known: &Known, _able: &Abilities) -> Vec<Question> {
        let named = (self.group_snapshot_id.as_str(), self.snapshot_ids.as_slice());
        whether_it_is_there(named, &self.secrets, known).into_iter().collect()
    }

    fn judge(&self, known: &Known, _able: &Abilities) -> Result<Resolution<Self::Answer>, CallError> {
        named(&self.snapshot_ids, known)?;
        Ok(Resolution::Call)
    }
}

impl Premise for v1::DeleteVolumeGroupSnapshotRequest {
    fn questions(&self, known: &Known, able: &Abilities) -> Vec<Question> {
        let named = (self.group_snapshot_id.as_str(), self.snapshot_ids.as_slice());
        let there = whether_it_is_there(named, &self.secrets, known);
        let states =
            self.snapshot_ids.iter().filter_map(|id| removal::state(Source::Snapshot(id.clone()), known, able));
        there.into_iter().chain(states).collect()
    }

    fn judge(&self, known: &Known, _able: &Abilities) -> Result<Resolution<Self::Answer>, CallError> {
        named(&self.snapshot_ids, known)?;
        self.snapshot_ids.iter().try_for_each(|id| known.not_replicated(&Source::Snapshot(id.clone())))?;
        Ok(Resolution::Call)
    }
}
