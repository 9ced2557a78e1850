//! Volume groups: membership, limits, pages, deletion with their volumes, killed at every step.

use drivebay_sdk::types::VolumeGroup;
use drivebay_sdk::volume_group_listing::{GetGroupRequest, ListGroupsRequest};
use drivebay_sdk::volume_group_membership::ModifyMembershipRequest;
use drivebay_sdk::volume_groups::{CreateGroupRequest, DeleteGroupRequest};
use drivebay_sdk::{ErrorCode, Result};

use super::World;
use super::crash::assert_clean;
use super::requests::*;
use super::sites::small;

fn owned(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

pub(crate) fn group_request(name: &str, volumes: &[&str]) -> CreateGroupRequest {
    CreateGroupRequest {
        name: name.to_owned(),
        parameters: Vec::new(),
        secrets: Vec::new(),
        volume_ids: owned(volumes),
    }
}

fn group(world: &World, name: &str, volumes: &[&str]) -> Result<VolumeGroup> {
    world.call(|backend| backend.create_volume_group(&group_request(name, volumes)))
}

pub(crate) fn modify(world: &World, group: &str, volumes: &[&str]) -> Result<VolumeGroup> {
    let request = ModifyMembershipRequest {
        volume_group_id: group.to_owned(),
        volume_ids: owned(volumes),
        secrets: Vec::new(),
        parameters: Vec::new(),
    };
    world.call(|backend| backend.modify_volume_group(&request))
}

pub(crate) fn delete_group(world: &World, group: &str) -> Result<()> {
    let request = DeleteGroupRequest { volume_group_id: group.to_owned(), secrets: Vec::new() };
    world.call(|backend| backend.delete_volume_group(&request))
}

fn get(world: &World, group: &str) -> Result<VolumeGroup> {
    let request = GetGroupRequest { volume_group_id: group.to_owned(), secrets: Vec::new() };
    world.call(|backend| backend.get_volume_group(&request))
}

fn ids_of(group: &VolumeGroup) -> Vec<String> {
    group.volumes.iter().map(|volume| volume.volume_id.clone()).collect()
}

fn volumes(world: &World, count: u32) -> Vec<String> {
    (0..count).map(|number| world.create(&small(&format!("v{number}"))).unwrap().volume_id).collect()
}

fn in_group(name: &str, group: &str) -> drivebay_sdk::volumes::CreateVolumeRequest {
    let mut request = small(name);
    request.parameters = pairs(&[("group", group)]);
    request
}

#[test]
fn membership_is_a_set() {
    let world = World::new();
    let ids = volumes(&world, 3);
    let made = group(&world, "g", &[&ids[0]]).unwrap();
    let id = made.volume_group_id.clone();
    assert_eq!(ids_of(&made), [ids[0].clone()]);
    assert_eq!(group(&world, "g", &[]).unwrap(), made, "the same name is the same group");
    assert_eq!(ids_of(&modify(&world, &id, &[&ids[2], &ids[1], &ids[2]]).unwrap()), [ids[2].clone(), ids[1].clone()]);
    assert_eq!(world.call(|backend| backend.groups_of(&ids[1])).unwrap(), std::slice::from_ref(&id));
    assert!(world.call(|backend| backend.groups_of(&ids[0])).unwrap().is_empty());
    assert_eq!(world.call(|backend| backend.group_members(&id)).unwrap(), [ids[2].clone(), ids[1].clone()]);
    assert_eq!(code(modify(&world, &id, &[&ids[0], "nobody"])), ErrorCode::NotFound);
    assert_eq!(get(&world, &id).unwrap().volumes.len(), 2, "nothing of it was done");
    let other = group(&world, "other", &[]).unwrap().volume_group_id;
    let refused = modify(&world, &other, &[&ids[1]]).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    assert!(refused.message.contains(&ids[1]) && refused.message.contains(&id));
    assert_eq!(code(group(&world, "third", &[&ids[1]])), ErrorCode::FailedPrecondition);
    assert_eq!(code(world.delete(&ids[1])), ErrorCode::FailedPrecondition);
    assert!(modify(&world, &id, &[]).unwrap().volumes.is_empty());
    modify(&world, &other, &[&ids[1]]).unwrap();
    assert_eq!(code(modify(&world, "nobody", &[])), ErrorCode::NotFound);
    assert_eq!(code(get(&world, "nobody")), ErrorCode::NotFound);
}

#[test]
fn parameters_are_compared_and_limits_kept() {
    let world = World::new();
    let ids = volumes(&world, 3);
    let limited = |name: &str, limit: &str, volumes: &[&str]| {
        let mut request = group_request(name, volumes);
        request.parameters = pairs(&[("max-volumes", limit)]);
        world.call(|backend| backend.create_volume_group(&request))
    };
    assert_eq!(code(limited("g", "1", &[&ids[0], &ids[1]])), ErrorCode::ResourceExhausted);
    let made = limited("g", "2", &[&ids[0]]).unwrap();
    assert_eq!(made.volume_group_context, pairs(&[("max-volumes", "2")]));
    assert_eq!(code(limited("g", "3", &[])), ErrorCode::AlreadyExists);
    assert_eq!(code(limited("h", "none", &[])), ErrorCode::InvalidArgument);
    let id = &made.volume_group_id;
    assert_eq!(code(modify(&world, id, &[&ids[0], &ids[1], &ids[2]])), ErrorCode::ResourceExhausted);
    modify(&world, id, &[&ids[0], &ids[1]]).unwrap();
    assert_eq!(code(world.create(&in_group("third", id))), ErrorCode::ResourceExhausted);
    assert_eq!(world.volumes().len(), 3);
    assert_clean(&world, "after the refusals");
}

#[test]
fn volumes_are_born_into_a_group() {
    let world = World::new();
    assert_eq!(code(world.create(&in_group("a", "nobody"))), ErrorCode::NotFound);
    let id = group(&world, "g", &[]).unwrap().volume_group_id;
    let by_id = world.create(&in_group("a", &id)).unwrap();
    let by_name = world.create(&in_group("b", "g")).unwrap();
    assert_eq!(get(&world, &id).unwrap().volumes, [by_id.clone(), by_name]);
    assert_eq!(world.create(&in_group("a", "g")).unwrap(), by_id);
    assert_eq!(code(world.create(&small("a"))), ErrorCode::AlreadyExists);
    let snapshot = world.snapshot(&by_id.volume_id, "s").unwrap().snapshot_id;
    let mut restore = in_group("c", &id);
    restore.volume_content_source = Some(drivebay_sdk::types::VolumeContentSource::Snapshot(snapshot));
    let restored = world.create(&restore).unwrap().volume_id;
    assert!(ids_of(&get(&world, &id).unwrap()).contains(&restored));
    // It may leave, and its name still means it.
    modify(&world, &id, &[]).unwrap();
    assert_eq!(world.create(&in_group("a", "g")).unwrap(), by_id);
    world.delete(&by_id.volume_id).unwrap();
}

#[test]
fn pages_hold_every_group_once() {
    let world = World::new();
    let volume = volumes(&world, 1).remove(0);
    let mut made: Vec<String> =
        (0..7).map(|number| group(&world, &format!("g{number}"), &[]).unwrap().volume_group_id).collect();
    modify(&world, &made[3], &[&volume]).unwrap();
    world.state.borrow_mut().clear();
    made.sort();
    let mut seen: Vec<VolumeGroup> = Vec::new();
    let mut token = None;
    loop {
        let request = ListGroupsRequest { max_entries: Some(3), starting_token: token, secrets: Vec::new() };
        let page = world.call(|backend| backend.list_volume_groups(&request)).unwrap();
        seen.extend(page.entries);
        token = page.next_token;
        if token.is_none() {
            break;
        }
    }
    assert_eq!(seen.iter().map(|group| group.volume_group_id.clone()).collect::<Vec<_>>(), made);
    assert_eq!(seen.iter().map(|group| group.volumes.len()).sum::<usize>(), 1);
    let request =
        ListGroupsRequest { max_entries: None, starting_token: Some("invalid".to_owned()), secrets: Vec::new() };
    assert_eq!(code(world.call(|backend| backend.list_volume_groups(&request))), ErrorCode::Aborted);
}

#[test]
fn a_group_goes_with_its_volumes_or_not_at_all() {
    let world = World::new();
    let ids = volumes(&world, 3);
    let all: Vec<&str> = ids.iter().map(String::as_str).collect();
    let id = group(&world, "g", &all).unwrap().volume_group_id;
    world.stage(&ids[2], mount()).unwrap();
    assert_eq!(code(delete_group(&world, &id)), ErrorCode::FailedPrecondition);
    assert_eq!(get(&world, &id).unwrap().volumes.len(), 3, "nothing was deleted");
    world.unstage(&ids[2]).unwrap();
    let snapshot = world.snapshot(&ids[1], "s").unwrap().snapshot_id;
    delete_group(&world, &id).unwrap();
    delete_group(&world, &id).unwrap();
    world.delete_snapshot(&snapshot).expect("it stays, as when a volume is deleted alone");
    delete_group(&world, "nobody").unwrap();
    assert!(world.volumes().is_empty());
    assert_clean(&world, "after the group is gone");
    group(&world, "g", &[]).unwrap();
}

/// Killed before each change; afterwards the same request goes through and nothing is left behind.
fn try_all(prepare: fn(&World) -> Vec<String>, request: fn(&World, &[String]) -> Result<()>, volumes_left: usize) {
    for steps in 0.. {
        let world = World::new();
        let ids = prepare(&world);
        world.die_after(steps);
        let outcome = request(&world, &ids);
        let died = world.is_dead();
        if !died {
            outcome.unwrap();
            assert!(steps > 2, "the request changes nothing");
        }
        for lost in [false, true] {
            world.restart();
            if lost {
                world.state.borrow_mut().clear();
            }
            world.recover().unwrap();
            request(&world, &ids).unwrap_or_else(|error| panic!("after {steps} steps: {error:?}"));
            assert_eq!(world.volumes().len(), volumes_left, "after {steps} steps");
            assert_clean(&world, &format!("after {steps} steps"));
        }
        if !died {
            return;
        }
    }
}

#[test]
fn killed_while_making_a_group() {
    let prepare: fn(&World) -> Vec<String> = |world| volumes(world, 2);
    try_all(
        prepare,
        |world, ids| {
            assert_eq!(group(world, "g", &[&ids[0], &ids[1]])?.volumes.len(), 2);
            Ok(())
        },
        2,
    );
}

#[test]
fn killed_while_changing_a_group() {
    let prepare: fn(&World) -> Vec<String> = |world| {
        let mut ids = volumes(world, 3);
        ids.push(group(world, "g", &[&ids[0], &ids[1]]).unwrap().volume_group_id);
        ids
    };
    try_all(
        prepare,
        |world, ids| {
            let before = ids_of(&get(world, &ids[3])?);
            assert!(before == ids[..2] || before == ids[1..3], "half a change: {before:?}");
            assert_eq!(ids_of(&modify(world, &ids[3], &[&ids[1], &ids[2]])?), ids[1..3]);
            Ok(())
        },
        3,
    );
}

#[test]
fn killed_while_a_volume_joins() {
    let prepare: fn(&World) -> Vec<String> = |world| vec![group(world, "g", &[]).unwrap().volume_group_id];
    try_all(
        prepare,
        |world, ids| {
            let id = world.create(&in_group("a", &ids[0]))?.volume_id;
            assert_eq!(ids_of(&get(world, &ids[0])?), [id]);
            Ok(())
        },
        1,
    );
}

#[test]
fn killed_while_deleting_a_group() {
    let prepare: fn(&World) -> Vec<String> = |world| {
        let ids = volumes(world, 2);
        vec![group(world, "g", &[&ids[0], &ids[1]]).unwrap().volume_group_id]
    };
    try_all(prepare, |world, ids| delete_group(world, &ids[0]), 0);
}
