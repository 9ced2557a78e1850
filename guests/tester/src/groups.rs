//! Group snapshots: the members are snapshots that name the group.

use drivebay_sdk::group_snapshots::{
    CreateGroupSnapshotRequest, DeleteGroupSnapshotRequest, GetGroupSnapshotRequest, GroupSnapshot,
};
use drivebay_sdk::state::{Commit, transact};
use drivebay_sdk::types::Snapshot;
use drivebay_sdk::{Error, GroupSnapshots, Result};

use crate::records::{Kept, Record};
use crate::snapshots::cut;
use crate::{Tester, act};

impl GroupSnapshots for Tester {
    fn create_group_snapshot(request: CreateGroupSnapshotRequest) -> Result<GroupSnapshot> {
        act::enter("create-group-snapshot", &request.name, &request.secrets)?;
        let group = format!("group-{}", request.name);
        let members = transact(|| {
            let found = members(&group)?;
            if found.is_empty() {
                return cut_all(&group, &request.source_volume_ids);
            }
            let same = found.len() == request.source_volume_ids.len()
                && found.iter().all(|s| request.source_volume_ids.contains(&s.source_volume_id));
            if same {
                Ok((found, Commit::new()))
            } else {
                Err(Error::already_exists(format!("{group} has other volumes")))
            }
        })?;
        answer(group, members)
    }

    fn delete_group_snapshot(request: DeleteGroupSnapshotRequest) -> Result<()> {
        let group = &request.group_snapshot_id;
        act::enter("delete-group-snapshot", group, &request.secrets)?;
        members(group)?.iter().try_for_each(|member| Snapshot::delete(&member.snapshot_id))
    }

    fn get_group_snapshot(request: GetGroupSnapshotRequest) -> Result<GroupSnapshot> {
        let group = request.group_snapshot_id;
        act::enter("get-group-snapshot", &group, &request.secrets)?;
        let members = members(&group)?;
        answer(group, members)
    }
}

fn members(group: &str) -> Result<Vec<Snapshot>> {
    let mut all = Snapshot::all()?;
    all.retain(|snapshot| snapshot.group_snapshot_id.as_deref() == Some(group));
    Ok(all)
}

fn cut_all(group: &str, volumes: &[String]) -> Result<(Vec<Snapshot>, Commit)> {
    let (mut members, mut commit) = (Vec::new(), Commit::new());
    for volume in volumes {
        let id = format!("snap-{group}-{volume}");
        let member = cut(&id, &Kept::get(volume)?, Some(group));
        commit = member.put(&id, commit);
        members.push(member);
    }
    Ok((members, commit))
}

fn answer(group: String, members: Vec<Snapshot>) -> Result<GroupSnapshot> {
    let first = members.first().ok_or_else(|| Error::not_found(format!("there is no {group}")))?;
    Ok(GroupSnapshot {
        group_snapshot_id: group,
        creation_time: first.creation_time,
        ready_to_use: true,
        snapshots: members,
    })
}
