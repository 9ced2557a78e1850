//! Snapshots of several volumes at one moment.

use std::collections::BTreeSet;

use drivebay_sdk::group_snapshots::{
    CreateGroupSnapshotRequest, DeleteGroupSnapshotRequest, GetGroupSnapshotRequest, GroupSnapshot,
};
use drivebay_sdk::{Error, Reason, Result};
use serde::Serialize;

use crate::array::{Answer, Array, Cut, Snapshot, escape};
use crate::backend::Backend;
use crate::refusal::{answered, no_volume};
use crate::snapshot::{instant, no_parameters};
use crate::volume::name_of;

#[derive(Serialize)]
struct Wanted<'a> {
    name: &'a str,
    volumes: &'a [String],
}

fn path_of(id: &str) -> String {
    format!("/v1/group-snapshots/{}", escape(id))
}

fn set(ids: &[String]) -> BTreeSet<&str> {
    ids.iter().map(String::as_str).collect()
}

fn told(cut: &Cut) -> GroupSnapshot {
    GroupSnapshot {
        group_snapshot_id: cut.id.clone(),
        snapshots: cut.members.iter().map(Snapshot::told).collect(),
        creation_time: instant(cut.members.iter().map(|member| member.created).max().unwrap_or_default()),
        ready_to_use: cut.members.iter().all(|member| member.state == "ready"),
    }
}

/// Refuses a list of members that is another one; none was given by clients that do not know them.
fn check_members(cut: &Cut, given: &[String]) -> Result<()> {
    let members: Vec<String> = cut.members.iter().map(|member| member.id.clone()).collect();
    if given.is_empty() || set(given) == set(&members) {
        return Ok(());
    }
    Err(Error::invalid_argument(format!("group snapshot {} has other snapshots than these", cut.id)))
}

impl Array<'_> {
    fn cut_together(&self, name: &str, volumes: &[String]) -> Answer<Cut> {
        let named = || self.named::<Cut>("group-snapshots", name);
        let cut = if let Some(cut) = named()? {
            cut
        } else {
            for volume in volumes {
                self.find_volume(volume)?.ok_or_else(|| no_volume(volume))?;
            }
            let wanted = Wanted { name, volumes };
            self.settle(|array| array.send("POST", "/v1/group-snapshots", Some(&wanted)), named)?
        };
        if set(&cut.volumes) != set(volumes) {
            let words = format!("group snapshot {} has this name and is of other volumes", cut.id);
            return Err(Error::already_exists(words).with_reason(Reason::Incompatible).into());
        }
        self.await_job(cut.job.as_deref(), "the group snapshot")?;
        let whole = self.find::<Cut>(&path_of(&cut.id))?;
        let whole = whole.filter(|cut| cut.members.iter().all(|member| member.state == "ready"));
        Ok(whole.ok_or_else(|| Error::unavailable(format!("group snapshot {} is not cut yet", cut.id)))?)
    }
}

impl Backend {
    /// `group-snapshots.create-group-snapshot`.
    pub(crate) fn create_group_snapshot(&self, request: &CreateGroupSnapshotRequest) -> Result<GroupSnapshot> {
        let array = self.changing(&request.secrets)?;
        no_parameters(&request.parameters)?;
        let cut = answered(array.cut_together(&name_of(&request.name), &request.source_volume_ids))?;
        Ok(told(&cut))
    }

    /// `group-snapshots.delete-group-snapshot`.
    pub(crate) fn delete_group_snapshot(&self, request: &DeleteGroupSnapshotRequest) -> Result<()> {
        let array = self.changing(&request.secrets)?;
        let path = path_of(&request.group_snapshot_id);
        let Some(cut) = answered(array.find::<Cut>(&path))? else {
            return Ok(());
        };
        check_members(&cut, &request.snapshot_ids)?;
        answered(array.delete(&path))
    }

    /// `group-snapshots.get-group-snapshot`.
    pub(crate) fn get_group_snapshot(&self, request: &GetGroupSnapshotRequest) -> Result<GroupSnapshot> {
        let array = self.reading(&request.secrets)?;
        let cut: Cut = answered(array.get(&path_of(&request.group_snapshot_id)))?;
        check_members(&cut, &request.snapshot_ids)?;
        Ok(told(&cut))
    }
}
