//! Group snapshots: one moment, all or nothing.

use drivebay_sdk::group_snapshots::{DeleteGroupSnapshotRequest, GetGroupSnapshotRequest, GroupSnapshot};
use drivebay_sdk::types::{Snapshot, VolumeContentSource};
use drivebay_sdk::{ErrorCode, Result};

use super::World;
use super::crash::assert_clean;
use super::requests::*;

fn cut(world: &World, volumes: &[&str]) -> Result<GroupSnapshot> {
    world.call(|backend| backend.create_group_snapshot(&group_of("group", volumes)))
}

fn staged(world: &World, name: &str) -> String {
    let id = world.create(&create(name)).unwrap().volume_id;
    world.stage(&id, mount()).unwrap();
    id
}

#[test]
fn all_are_frozen_before_the_first_is_cut_and_thawed_after_the_last() {
    let world = World::new();
    let (a, b) = (staged(&world, "a"), staged(&world, "b"));
    let idle = world.create(&create("idle")).unwrap().volume_id;
    let group = cut(&world, &[&a, &b, &idle]).unwrap();
    let history = world.devices.history.borrow().clone();
    assert_eq!(history, [format!("freeze {a}"), format!("freeze {b}"), format!("thaw {a}"), format!("thaw {b}")]);
    assert_eq!(group.snapshots.len(), 3);
    let of_group = |snapshot: &Snapshot| snapshot.group_snapshot_id.as_deref() == Some(&group.group_snapshot_id);
    assert!(group.ready_to_use && group.snapshots.iter().all(of_group));
    assert_eq!(cut(&world, &[&idle, &b, &a]).unwrap(), group, "the order of the volumes means nothing");
    assert_eq!(cut(&world, &[&a, &b]).unwrap_err().code, ErrorCode::AlreadyExists);
    assert_eq!(world.snapshots().len(), 3);
    let member = group.snapshots[0].snapshot_id.clone();
    assert_eq!(world.delete_snapshot(&member).unwrap_err().code, ErrorCode::InvalidArgument);
    world.create(&create_from("back", VolumeContentSource::Snapshot(member))).unwrap();
}

#[test]
fn members_are_found_and_go_with_their_group() {
    let world = World::new();
    let a = staged(&world, "a");
    let group = cut(&world, &[&a]).unwrap();
    let get = |ids: &[&str]| {
        let request = GetGroupSnapshotRequest {
            group_snapshot_id: group.group_snapshot_id.clone(),
            snapshot_ids: ids.iter().map(|id| (*id).to_owned()).collect(),
            secrets: Vec::new(),
        };
        world.call(|backend| backend.get_group_snapshot(&request))
    };
    assert_eq!(get(&[]).unwrap(), group);
    assert_eq!(get(&[&group.snapshots[0].snapshot_id]).unwrap(), group);
    assert_eq!(get(&["other"]).unwrap_err().code, ErrorCode::InvalidArgument);
    let delete = |ids: &[&str]| {
        let request = DeleteGroupSnapshotRequest {
            group_snapshot_id: group.group_snapshot_id.clone(),
            snapshot_ids: ids.iter().map(|id| (*id).to_owned()).collect(),
            secrets: Vec::new(),
        };
        world.call(|backend| backend.delete_group_snapshot(&request))
    };
    assert_eq!(delete(&["other"]).unwrap_err().code, ErrorCode::InvalidArgument);
    delete(&[]).unwrap();
    delete(&[]).unwrap();
    assert_eq!(get(&[]).unwrap_err().code, ErrorCode::NotFound);
    assert!(world.snapshots().is_empty());
    assert_clean(&world, "after the group is gone");
}

#[test]
fn one_thawed_too_early_voids_the_cut() {
    let world = World::new();
    let a = staged(&world, "a");
    world.devices.thaws_early.set(true);
    assert_eq!(cut(&world, &[&a]).unwrap_err().code, ErrorCode::Unavailable);
    assert!(world.snapshots().is_empty());
    assert_clean(&world, "after the void cut");
}

#[test]
fn a_raw_device_in_use_is_refused_and_nothing_is_frozen() {
    let world = World::new();
    let a = staged(&world, "a");
    let raw = world.create(&create_block("raw")).unwrap().volume_id;
    world.stage(&raw, block()).unwrap();
    world.publish(&raw, "/pods/raw", block()).unwrap();
    let refused = cut(&world, &[&a, &raw]).unwrap_err();
    assert_eq!(refused.code, ErrorCode::FailedPrecondition);
    assert!(refused.message.contains("raw device") && refused.message.contains(&raw), "{}", refused.message);
    assert!(world.devices.history.borrow().is_empty());
    world.unpublish(&raw, "/pods/raw").unwrap();
    cut(&world, &[&a, &raw]).unwrap();
}

#[test]
fn unknown_members_are_not_found() {
    let world = World::new();
    let a = staged(&world, "a");
    assert_eq!(cut(&world, &[&a, "nobody"]).unwrap_err().code, ErrorCode::NotFound);
    assert_clean(&world, "after the refusal");
}

#[test]
fn without_shared_blocks_idle_volumes_are_cut_by_copies() {
    let world = World::new();
    world.pool.shares_blocks.set(false);
    let ids: Vec<String> = ["a", "b"].iter().map(|name| world.create(&create(name)).unwrap().volume_id).collect();
    world.jobs.slowness.set(2);
    assert_eq!(cut(&world, &[&ids[0], &ids[1]]).unwrap_err().code, ErrorCode::Unavailable);
    assert!(world.snapshots().is_empty());
    assert_eq!(cut(&world, &[&ids[0], &ids[1]]).unwrap().snapshots.len(), 2);
    world.stage(&ids[0], mount()).unwrap();
    let again = world.call(|backend| backend.create_group_snapshot(&group_of("late", &[&ids[0]])));
    assert_eq!(again.unwrap_err().code, ErrorCode::FailedPrecondition);
    assert_clean(&world, "at the end");
}
