//! Snapshots of several volumes at one moment.
//!
//! Whether the cut was consistent cannot be seen in an answer; that it is whole can: one member for
//! each volume, each belonging to the group.

use std::collections::BTreeSet;

use super::rules::{Breach, Under, Verdict, at_least_one, each, page, required, same, size, text};
use super::{Abilities, BadAnswer, Check, Invalid, snapshot};
use drivebay_proto::pb::csi::v1::{
    CreateVolumeGroupSnapshotRequest, CreateVolumeGroupSnapshotResponse, DeleteVolumeGroupSnapshotRequest,
    DeleteVolumeGroupSnapshotResponse, GetVolumeGroupSnapshotRequest, GetVolumeGroupSnapshotResponse, Snapshot,
    VolumeGroupSnapshot,
};

/// A group snapshot in an answer (CSI, `VolumeGroupSnapshot`).
fn object(group: &VolumeGroupSnapshot, able: &Abilities) -> Verdict {
    text::id("group_snapshot_id", &group.group_snapshot_id)?;
    size::moment("creation_time", group.creation_time.as_ref())?;
    let members = &group.snapshots;
    at_least_one("snapshots", members, |member| {
        snapshot::object(member, able)?;
        same("group_snapshot_id", &member.group_snapshot_id, &group.group_snapshot_id)
    })?;
    page::unique_texts("snapshots", members.iter().map(id))?;
    page::unique_texts("snapshots", members.iter().map(source))?;
    if group.ready_to_use == members.iter().all(|member| member.ready_to_use) {
        return Ok(());
    }
    Err(Breach::new("ready_to_use", "must be true when every member is ready, and only then"))
}

fn id(member: &Snapshot) -> &str {
    &member.snapshot_id
}

fn source(member: &Snapshot) -> &str {
    &member.source_volume_id
}

/// The members are those that were named, in any order.
fn members<'a>(group: &'a VolumeGroupSnapshot, key: fn(&'a Snapshot) -> &'a str, asked: &[String]) -> Verdict {
    let answered: BTreeSet<&str> = group.snapshots.iter().map(key).collect();
    if answered == asked.iter().map(String::as_str).collect() {
        return Ok(());
    }
    Err(Breach::new("snapshots", "are others than asked for"))
}

impl Check for CreateVolumeGroupSnapshotRequest {
    type Answer = CreateVolumeGroupSnapshotResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::name("name", &self.name)?;
        at_least_one("source_volume_ids", &self.source_volume_ids, |volume| text::id("", volume))?;
        let volumes = self.source_volume_ids.iter().map(String::as_str);
        page::unique_texts("source_volume_ids", volumes)?;
        text::map("parameters", &self.parameters)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer> {
        let group = required("group_snapshot", answer.group_snapshot.as_ref())?;
        object(group, able).under("group_snapshot")?;
        members(group, source, &self.source_volume_ids).under("group_snapshot")?;
        Ok(())
    }
}

impl Check for DeleteVolumeGroupSnapshotRequest {
    type Answer = DeleteVolumeGroupSnapshotResponse;

    /// Clients leave the members out for a group snapshot that they do not know (T2, T7).
    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::any_id("group_snapshot_id", &self.group_snapshot_id)?;
        each("snapshot_ids", &self.snapshot_ids, |member| text::any_id("", member))?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, _answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        Ok(())
    }
}

impl Check for GetVolumeGroupSnapshotRequest {
    type Answer = GetVolumeGroupSnapshotResponse;

    /// Clients leave the members out for a group snapshot that they do not know (T2).
    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("group_snapshot_id", &self.group_snapshot_id)?;
        each("snapshot_ids", &self.snapshot_ids, |member| text::id("", member))?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer> {
        let group = required("group_snapshot", answer.group_snapshot.as_ref())?;
        object(group, able).under("group_snapshot")?;
        same("group_snapshot.group_snapshot_id", &group.group_snapshot_id, &self.group_snapshot_id)?;
        if !self.snapshot_ids.is_empty() {
            members(group, id, &self.snapshot_ids).under("group_snapshot")?;
        }
        Ok(())
    }
}
