//! Killed at every step: what a repeated request then finds, and what is left behind.
//!
//! Each case does one request in a prepared world, with the process dying before its first change,
//! then before its second, and so on until it gets through. After each death the world must come
//! back to order in three ways: by recovery, by the mere repetition of the request, and with the
//! state lost altogether.

use drivebay_sdk::group_snapshots::DeleteGroupSnapshotRequest;
use drivebay_sdk::types::{CapacityRange, VolumeContentSource};
use drivebay_sdk::{Result, expansion};

use super::requests::*;
use super::{Pool, World};

/// How order comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aftermath {
    Recovery,
    Repetition,
    StateLost,
}

/// What a request works on, as the preparation left it.
type Ids = Vec<String>;

fn try_all(shares_blocks: bool, prepare: fn(&World) -> Ids, request: fn(&World, &Ids) -> Result<()>) {
    let expected = {
        let world = world(shares_blocks);
        let ids = prepare(&world);
        request(&world, &ids).unwrap();
        inventory(&world)
    };
    for aftermath in [Aftermath::Recovery, Aftermath::Repetition, Aftermath::StateLost] {
        for steps in 0.. {
            let world = world(shares_blocks);
            let ids = prepare(&world);
            world.die_after(steps);
            let outcome = request(&world, &ids);
            if !world.is_dead() {
                outcome.unwrap();
                assert!(steps > 1, "the request changes nothing");
                break;
            }
            set_right(&world, aftermath);
            request(&world, &ids).unwrap_or_else(|error| panic!("{aftermath:?} after {steps} steps: {error:?}"));
            // Twice is as good as once.
            request(&world, &ids).unwrap();
            assert_eq!(inventory(&world), expected, "{aftermath:?} after {steps} steps");
            assert_clean(&world, &format!("{aftermath:?} after {steps} steps"));
        }
    }
}

fn world(shares_blocks: bool) -> World {
    let pool = Pool::new();
    pool.shares_blocks.set(shares_blocks);
    World::on(&pool, "host-a")
}

fn set_right(world: &World, aftermath: Aftermath) {
    match aftermath {
        Aftermath::Repetition => world.revive(),
        Aftermath::Recovery => {
            world.restart();
            world.recover().unwrap();
            assert_clean(world, "after recovery alone");
        }
        Aftermath::StateLost => {
            world.restart();
            world.state.borrow_mut().clear();
            world.recover().unwrap();
        }
    }
}

/// What clients see, without ids, which differ from run to run.
fn inventory(world: &World) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for volume in world.volumes() {
        seen.push(format!("volume {} {:?}", volume.capacity_bytes, volume.content_source.is_some()));
    }
    for snapshot in world.snapshots() {
        seen.push(format!("snapshot {} {:?}", snapshot.size_bytes, snapshot.group_snapshot_id.is_some()));
    }
    seen.sort();
    seen
}

/// Nothing is in the pool but objects with records, the names of those, and what belongs there.
pub(crate) fn assert_clean(world: &World, when: &str) {
    let files = world.pool.files();
    for file in &files {
        let parts: Vec<&str> = file.split('/').collect();
        match parts.as_slice() {
            ["volumes" | "ephemeral" | "snapshots" | "groups" | "volume-groups", _, id] => {
                let record = format!("{file}/record.json");
                assert!(files.contains(&record), "{when}: {id} has no record");
            }
            ["temporary", _, _] if when.contains("alone") => panic!("{when}: {file} is left"),
            [.., "deleted.json"] => panic!("{when}: {file} is left"),
            ["names", section, _, _] => {
                let text = std::fs::read_to_string(world.pool.directory.path().join(file)).unwrap();
                let name: local_pool::record::NameRecord = serde_json::from_str(&text).unwrap();
                let record = format!("{section}/{}/{}/record.json", local_pool::ids::bucket(&name.id), name.id);
                assert!(files.contains(&record), "{when}: the name {} stands for nothing", name.name);
            }
            _ => {}
        }
    }
    let records = files.iter().filter(|file| file.starts_with("snapshots/") && file.ends_with("/record.json"));
    assert_eq!(records.count(), world.snapshots().len(), "{when}: the index and the pool differ in snapshots");
    let records = files.iter().filter(|file| file.starts_with("volumes/") && file.ends_with("/record.json"));
    assert_eq!(records.count(), world.volumes().len(), "{when}: the index and the pool differ in volumes");
    let intents: Vec<String> = world.state.borrow().keys().filter(|key| key.starts_with("intent/")).cloned().collect();
    assert!(intents.is_empty(), "{when}: {intents:?} are left");
    let jobs = world.jobs.done.borrow();
    assert!(jobs.is_empty(), "{when}: the results of {jobs:?} are still remembered");
}

fn nothing(world: &World) -> Ids {
    assert!(world.volumes().is_empty());
    Vec::new()
}

fn one_volume(world: &World) -> Ids {
    vec![world.create(&create("source")).unwrap().volume_id]
}

fn one_directory(world: &World) -> Ids {
    let id = world.create(&create_directory("source")).unwrap().volume_id;
    let data = format!("{}/volumes/{}/{id}/data", world.pool.path(), local_pool::ids::bucket(&id));
    std::fs::create_dir(format!("{data}/deep")).unwrap();
    std::fs::write(format!("{data}/deep/a"), "a").unwrap();
    std::fs::write(format!("{data}/b"), "bb").unwrap();
    vec![id]
}

fn one_snapshot(world: &World) -> Ids {
    let mut ids = one_volume(world);
    ids.push(world.snapshot(&ids[0], "snapshot").unwrap().snapshot_id);
    ids
}

fn staged_pair(world: &World) -> Ids {
    let ids: Ids = ["one", "two"].iter().map(|name| world.create(&create(name)).unwrap().volume_id).collect();
    for id in &ids {
        world.stage(id, mount()).unwrap();
    }
    world.devices.acknowledge();
    ids
}

fn one_group(world: &World) -> Ids {
    let ids = staged_pair(world);
    let request = group_of("group", &[&ids[0], &ids[1]]);
    let group = world.call(|backend| backend.create_group_snapshot(&request)).unwrap();
    vec![group.group_snapshot_id]
}

#[test]
fn making_an_image() {
    try_all(true, nothing, |world, _| world.create(&create("new")).map(|_| ()));
}

#[test]
fn making_a_directory() {
    try_all(true, nothing, |world, _| world.create(&create_directory("new")).map(|_| ()));
}

#[test]
fn making_a_full_block_volume() {
    try_all(true, nothing, |world, _| {
        let mut request = create_block("new");
        request.mutable_parameters = pairs(&[("reserve", "full")]);
        world.create(&request).map(|_| ())
    });
}

#[test]
fn cloning_by_sharing_and_by_copying() {
    for shares_blocks in [true, false] {
        try_all(shares_blocks, one_volume, |world, ids| {
            world.create(&create_from("clone", VolumeContentSource::Volume(ids[0].clone()))).map(|_| ())
        });
    }
}

#[test]
fn cloning_a_directory() {
    for shares_blocks in [true, false] {
        try_all(shares_blocks, one_directory, |world, ids| {
            world.create(&create_from("clone", VolumeContentSource::Volume(ids[0].clone())))?;
            Ok(())
        });
    }
}

#[test]
fn restoring_a_snapshot() {
    try_all(true, one_snapshot, |world, ids| {
        world.create(&create_from("restored", VolumeContentSource::Snapshot(ids[1].clone()))).map(|_| ())
    });
}

#[test]
fn cutting_a_snapshot() {
    for shares_blocks in [true, false] {
        try_all(shares_blocks, one_volume, |world, ids| world.snapshot(&ids[0], "snapshot").map(|_| ()));
    }
}

#[test]
fn cutting_a_group() {
    try_all(true, staged_pair, |world, ids| {
        let request = group_of("group", &[&ids[0], &ids[1]]);
        world.call(|backend| backend.create_group_snapshot(&request)).map(|_| ())
    });
}

#[test]
fn deleting_a_volume() {
    try_all(true, one_volume, |world, ids| world.delete(&ids[0]));
}

#[test]
fn deleting_a_directory() {
    try_all(true, one_directory, |world, ids| world.delete(&ids[0]));
}

#[test]
fn deleting_a_snapshot() {
    try_all(true, one_snapshot, |world, ids| world.delete_snapshot(&ids[1]));
}

#[test]
fn deleting_a_group() {
    try_all(true, one_group, |world, ids| {
        let request = DeleteGroupSnapshotRequest {
            group_snapshot_id: ids[0].clone(),
            snapshot_ids: Vec::new(),
            secrets: Vec::new(),
        };
        world.call(|backend| backend.delete_group_snapshot(&request))
    });
}

#[test]
fn growing_a_volume() {
    try_all(true, one_volume, |world, ids| {
        let request = expansion::ExpandVolumeRequest {
            volume_id: ids[0].clone(),
            capacity_range: CapacityRange { required_bytes: Some(16 * MIB), limit_bytes: None },
            secrets: Vec::new(),
            volume_capability: None,
        };
        world.call(|backend| backend.expand_volume(&request)).map(|_| ())
    });
}

#[test]
fn attaching_a_volume() {
    try_all(true, one_volume, |world, ids| {
        let request = attach(&ids[0], "node-of-host-a", mount());
        world.call(|backend| backend.attach_volume(&request)).map(|_| ())
    });
}

#[test]
fn staging_a_clone() {
    try_all(
        true,
        |world| {
            let source = one_volume(world).remove(0);
            world.stage(&source, mount()).unwrap();
            world.devices.acknowledge();
            let clone = world.create(&create_from("clone", VolumeContentSource::Volume(source))).unwrap();
            vec![clone.volume_id]
        },
        |world, ids| world.stage(&ids[0], mount()),
    );
}

#[test]
fn publishing_and_unpublishing_an_ephemeral_volume() {
    try_all(true, nothing, |world, _| {
        world.call(|backend| backend.publish_volume(&ephemeral("csi-0a", "/target", &[("size", "16Mi")])))
    });
    try_all(
        true,
        |world| {
            world.call(|backend| backend.publish_volume(&ephemeral("csi-0a", "/target", &[]))).unwrap();
            world.devices.acknowledge();
            Vec::new()
        },
        |world, _| world.unpublish("csi-0a", "/target"),
    );
}
