//! Several hosts that share only the pool.

use std::rc::Rc;

use drivebay_sdk::ErrorCode;
use drivebay_sdk::types::{AccessMode, VolumeContentSource};

use super::crash::assert_clean;
use super::requests::*;
use super::{Pool, World};

#[test]
fn a_node_stages_what_a_controller_made_and_keeps_it_from_being_deleted() {
    let pool = Pool::new();
    let (controller, node) = (World::on(&pool, "controller"), World::on(&pool, "worker"));
    let id = controller.create(&create("pvc-1")).unwrap().volume_id;
    node.stage(&id, mount()).unwrap();
    node.publish(&id, "/pods/a", mount()).unwrap();
    let refused = controller.delete(&id).unwrap_err();
    assert_eq!(refused.code, ErrorCode::FailedPrecondition);
    assert!(refused.message.contains("node-of-worker"), "{}", refused.message);
    let group = controller.call(|backend| backend.create_group_snapshot(&group_of("g", &[&id]))).unwrap_err();
    assert_eq!(group.code, ErrorCode::FailedPrecondition);
    assert!(group.message.contains("host worker"), "{}", group.message);
    controller.snapshot(&id, "crash-consistent").unwrap();
    assert!(node.devices.history.borrow().is_empty(), "nobody freezes elsewhere");
    node.unpublish(&id, "/pods/a").unwrap();
    node.unstage(&id).unwrap();
    controller.delete(&id).unwrap();
    assert_eq!(node.stage(&id, mount()).unwrap_err().code, ErrorCode::NotFound);
    assert_clean(&controller, "at the end");
}

#[test]
fn a_restarted_node_forgets_what_its_restart_has_ended() {
    let pool = Pool::new();
    let (controller, node) = (World::on(&pool, "controller"), World::on(&pool, "worker"));
    let id = controller.create(&create("pvc-1")).unwrap().volume_id;
    node.stage(&id, mount()).unwrap();
    node.call(|backend| backend.publish_volume(&ephemeral("csi-1", "/pods/e", &[]))).unwrap();
    node.devices.acknowledge();
    node.restart();
    node.recover().unwrap();
    assert_eq!(controller.delete(&id).unwrap_err().code, ErrorCode::FailedPrecondition, "the mount still stands");
    node.devices.reboot();
    node.recover().unwrap();
    assert!(!pool.files().iter().any(|file| file.starts_with("ephemeral/00/")), "nobody could unpublish it");
    controller.delete(&id).unwrap();
    assert_clean(&controller, "at the end");
}

#[test]
fn an_ephemeral_volume_that_was_never_published_goes_at_the_next_start() {
    let world = World::new();
    world.recover().unwrap();
    for steps in 0.. {
        world.die_after(steps);
        let done = world.call(|backend| backend.publish_volume(&ephemeral("csi-1", "/pods/e", &[])));
        let died = world.is_dead();
        world.restart();
        world.recover().unwrap();
        if !died {
            done.unwrap();
            break;
        }
        assert!(!pool_has(&world, "ephemeral/00/"), "after {steps} steps");
        assert_clean(&world, &format!("after {steps} steps"));
    }
}

fn pool_has(world: &World, beginning: &str) -> bool {
    world.pool.files().iter().any(|file| file.starts_with(beginning))
}

#[test]
fn recovery_leaves_the_work_of_other_hosts_alone() {
    let pool = Pool::new();
    let (one, two) = (World::on(&pool, "one"), World::on(&pool, "two"));
    one.volumes();
    one.die_after(12);
    one.create(&create("half")).unwrap_err();
    assert!(one.is_dead());
    let before = pool.files();
    two.recover().unwrap();
    let left: Vec<_> = before.difference(&pool.files()).cloned().collect();
    assert!(left.is_empty(), "{left:?} belonged to the other");
    let refused = two.create(&create("half")).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    assert!(refused.message.contains("host one"), "{}", refused.message);
    one.restart();
    one.recover().unwrap();
    two.create(&create("half")).unwrap();
    assert_clean(&two, "at the end");
}

#[test]
fn what_a_host_left_for_good_is_taken_over_in_the_end() {
    let pool = Pool::new();
    let (one, two) = (World::on(&pool, "one"), World::on(&pool, "two"));
    one.volumes();
    one.die_after(12);
    one.create(&create("half")).unwrap_err();
    pool.drawn.set(pool.drawn.get() + 3 * 3_600);
    two.create(&create("half")).unwrap();
    assert_eq!(two.volumes().len(), 1);
    assert_clean(&two, "at the end");
}

#[test]
fn a_second_controller_sees_what_the_first_made_and_the_other_way_round() {
    let pool = Pool::new();
    let (one, two) = (World::on(&pool, "one"), World::on(&pool, "two"));
    let a = one.create(&create("a")).unwrap();
    assert_eq!(two.create(&create("a")).unwrap(), a);
    let b = two.create(&create("b")).unwrap();
    two.snapshot(&b.volume_id, "of-b").unwrap();
    assert_eq!(one.volumes().len(), 2);
    assert_eq!(one.snapshots().len(), 1);
    one.delete(&a.volume_id).unwrap();
    assert_eq!(two.volumes(), [b]);
}

#[test]
fn a_node_that_is_preparing_a_copy_is_not_disturbed() {
    let pool = Pool::new();
    let (one, two) = (World::on(&pool, "one"), World::on(&pool, "two"));
    let source = one.create(&create("source")).unwrap().volume_id;
    let readers = mount_as(None, AccessMode::MultiNodeReaderOnly);
    let mut request = create_from("clone", VolumeContentSource::Volume(source));
    request.volume_capabilities = vec![readers.clone()];
    let clone = one.create(&request).unwrap().volume_id;
    // The other host has said that it stages the volume and has not got further.
    two.die_after(6);
    two.stage(&clone, readers.clone()).unwrap_err();
    assert!(pool.files().iter().any(|file| file.contains("/use-")), "it died before it said so");
    let refused = one.stage(&clone, readers.clone()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    assert!(refused.message.contains("node-of-two"), "{}", refused.message);
    two.restart();
    two.recover().unwrap();
    one.stage(&clone, readers.clone()).unwrap();
    two.stage(&clone, readers).unwrap();
}

#[test]
fn an_empty_mount_point_is_not_taken_for_a_new_pool() {
    let world = World::new();
    world.create(&create("pvc-1")).unwrap();
    let elsewhere = Pool::new();
    world.settings.borrow_mut()[0].1 = elsewhere.path();
    for refused in
        [world.create(&create("pvc-2")).map(|_| ()), world.delete("anything"), world.check_pool(), world.recover()]
    {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, ErrorCode::FailedPrecondition);
        assert!(refused.message.contains("is gone"), "{}", refused.message);
    }
    assert!(elsewhere.files().is_empty());
    world.settings.borrow_mut()[0].1 = world.pool.path();
    world.check_pool().unwrap();
}

#[test]
fn another_pool_brings_its_own_volumes() {
    let (one, two) = (World::new(), World::on(&Pool::new(), "host-b"));
    one.create(&create("a")).unwrap();
    let b = two.create(&create("b")).unwrap();
    one.settings.borrow_mut()[0].1 = two.pool.path();
    let moved = World { pool: Rc::clone(&two.pool), ..one };
    assert_eq!(moved.volumes(), [b]);
}

#[test]
fn a_lost_state_is_rebuilt_in_pieces() {
    let world = World::new();
    for number in 0..40 {
        world.create(&create_directory(&format!("pvc-{number}"))).unwrap();
    }
    let before = world.volumes();
    world.state.borrow_mut().clear();
    let request = drivebay_sdk::volume_listing::ListVolumesRequest { max_entries: None, starting_token: None };
    let mut calls = 0;
    let listed = loop {
        calls += 1;
        assert!(calls < 100, "the calls lose what was done before");
        world.patience.set(Some(10));
        match world.call(|backend| backend.list_volumes(&request)) {
            Ok(page) => break page.entries,
            Err(refused) => assert_eq!(refused.code, ErrorCode::Unavailable),
        }
    };
    assert!(calls > 5, "one call did it all");
    assert_eq!(listed.into_iter().map(|entry| entry.volume).collect::<Vec<_>>(), before);
}

/// Milliseconds since 1970 at which the rebuild died.
const DIED: i64 = 1_800_000_000_000;

/// A volume, and a call that died while it made the lost index anew.
fn with_a_rebuild_that_died() -> World {
    let world = World::new();
    world.create(&create("a")).unwrap();
    world.state.borrow_mut().clear();
    world.pool.clock.set(Some(DIED));
    world.die_after(2);
    world.delete("nobody").unwrap_err();
    world.revive();
    world
}

#[test]
fn the_lease_of_a_rebuild_that_died_ends_by_itself() {
    let world = with_a_rebuild_that_died();
    assert_eq!(world.delete("nobody").unwrap_err().code, ErrorCode::Unavailable);
    world.pool.clock.set(Some(DIED + 60_000));
    world.delete("nobody").unwrap();
    assert_eq!(world.volumes().len(), 1);
}

/// A host that has just started makes its index while the first clients come.
#[test]
fn a_short_rebuild_is_waited_for() {
    let world = with_a_rebuild_that_died();
    let pool = world.pool.clone();
    // The other call comes to its end, as far as the state shows it.
    *world.on_pause.borrow_mut() = Some(Box::new(move || pool.clock.set(Some(DIED + 60_000))));
    world.delete("nobody").unwrap();
}
