//! The life of a replication: first transfer, schedule, figures, ids, terms, disabling.

use drivebay_sdk::replication::{EnableReplicationRequest, ReplicationHealth, Role};
use drivebay_sdk::types::{CapacityRange, ReplicationSource, VolumeContentSource};
use drivebay_sdk::{ErrorCode, expansion};
use local_pool::host::Surroundings as _;

use super::requests::*;
use super::sites::*;
use super::volume_groups::{delete_group, group_request};

#[test]
fn the_first_transfer_starts_at_once_and_the_copy_has_an_id_of_its_own() {
    let sites = Sites::new();
    let id = sites.a.create(&small("v")).unwrap().volume_id;
    write(&sites.a, &id, 0, b"data");
    let code = |error: drivebay_sdk::Error| error.code;
    assert_eq!(sites.a.info(volume(&id)).map_err(code), Err(ErrorCode::FailedPrecondition));
    sites.a.enable(volume(&id), &[]).unwrap();
    assert_eq!(sites.a.info(volume(&id)).map_err(code), Err(ErrorCode::NotFound), "nothing is whole yet");
    assert_eq!(sites.a.destination(volume(&id)).map_err(code), Err(ErrorCode::Unavailable));
    sites.work(8);
    let copy = sites.a.copy_of(&id).unwrap();
    assert_ne!(copy, id);
    assert_eq!(sites.b.copy_of(&copy).unwrap(), id);
    assert_eq!(contents(&sites.b, &copy), contents(&sites.a, &id));
    let info = sites.a.info(volume(&id)).unwrap();
    assert_eq!(info.status, Some(ReplicationHealth::Healthy), "{}", info.status_message);
    assert_eq!(info.last_sync_bytes, sites.a.moved_to("sites"));
    assert_eq!(sites.b.info(volume(&copy)).map_err(code), Err(ErrorCode::FailedPrecondition));
    assert_eq!((sites.a.role(&volume(&id)), sites.b.role(&volume(&copy))), (Role::Primary, Role::Secondary));
    assert!(sites.failed.borrow().is_empty(), "{:?}", sites.failed.borrow());
}

#[test]
fn the_schedule_sends_changed_blocks_alone() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[("schedulingInterval", "1m")]);
    let before = (sites.a.info(volume(&id)).unwrap(), sites.a.moved_to("sites"));
    write(&sites.a, &id, 500_000, b"changed");
    sites.work(70);
    assert_eq!(contents(&sites.b, &copy), contents(&sites.a, &id));
    let after = sites.a.info(volume(&id)).unwrap();
    assert_eq!(sites.a.moved_to("sites") - before.1, 4_096);
    assert_eq!(after.last_sync_bytes, 4_096);
    assert!(after.last_sync_time.seconds - before.0.last_sync_time.seconds <= 60);
    sites.work(60);
    let next = sites.a.info(volume(&id)).unwrap();
    assert_eq!(next.last_sync_time.seconds - after.last_sync_time.seconds, 60);
    assert_eq!(next.last_sync_bytes, 0, "nothing has changed since");
    assert!(after.last_sync_duration.unwrap() < 6_000_000_000, "{after:?}");
    // A run that was missed is made up once.
    sites.pass(10 * 60_000);
    sites.work(20);
    let made_up = sites.a.info(volume(&id)).unwrap();
    sites.work(20);
    assert_eq!(sites.a.info(volume(&id)).unwrap().last_sync_time, made_up.last_sync_time);
    // Nothing of what travelled is left in the link, and one cut in the pool.
    assert!(!sites.files_of(&sites.a).iter().any(|file| file.contains(".data")));
    assert_eq!(sites.a.pool.files().iter().filter(|file| file.contains("/cut-") && file.ends_with(&id)).count(), 1);
    assert!(!sites.b.pool.files().iter().any(|file| file.contains("/cut-")));
}

#[test]
fn a_copy_is_used_by_nobody_until_it_is_promoted() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[]);
    let refused = [
        sites.b.stage(&copy, mount()).unwrap_err(),
        sites.b.call(|backend| backend.attach_volume(&attach(&copy, "node-of-host-b", mount()))).unwrap_err(),
        sites.b.delete(&copy).unwrap_err(),
        sites.a.delete(&id).unwrap_err(),
    ];
    assert!(refused.iter().all(|error| error.code == ErrorCode::FailedPrecondition), "{refused:?}");
    // It may be looked at through a copy of its own.
    sites.b.create(&create_from("test", VolumeContentSource::Volume(copy.clone()))).unwrap();
    assert_eq!(sites.b.volumes().len(), 2);
}

#[test]
fn terms_are_kept_and_a_copy_takes_its_own() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[("schedulingInterval", "1m")]);
    sites.a.enable(volume(&id), &[("schedulingInterval", "1m")]).unwrap();
    let other = sites.a.enable(volume(&id), &[("schedulingInterval", "2m")]).unwrap_err();
    assert_eq!(other.code, ErrorCode::FailedPrecondition);
    sites.b.enable(volume(&copy), &[("schedulingInterval", "5m")]).unwrap();
    assert_eq!(sites.b.role(&volume(&copy)), Role::Secondary, "only a promotion makes it primary");
    assert_eq!(
        sites.b.enable(volume(&copy), &[("schedulingInterval", "1m")]).unwrap_err().code,
        ErrorCode::FailedPrecondition
    );
    let bad = sites.a.enable(volume(&id), &[("schedule", "1m")]).unwrap_err();
    assert_eq!(bad.code, ErrorCode::InvalidArgument);
}

#[test]
fn a_source_has_one_replication_and_one_name_for_it() {
    let sites = Sites::new();
    let id = sites.a.create(&small("v")).unwrap().volume_id;
    let enable = |name: Option<&str>| {
        let request = EnableReplicationRequest {
            parameters: Vec::new(),
            secrets: Vec::new(),
            replication_id: name.map(str::to_owned),
            replication_source: volume(&id),
        };
        sites.a.call(|backend| backend.enable_replication(request))
    };
    enable(Some("x")).unwrap();
    enable(None).unwrap();
    enable(Some("x")).unwrap();
    assert_eq!(enable(Some("y")).unwrap_err().code, ErrorCode::InvalidArgument);
}

#[test]
fn what_cannot_be_replicated_is_refused() {
    let sites = Sites::new();
    let directory = sites.a.create(&create_directory("d")).unwrap().volume_id;
    let id = sites.a.create(&small("v")).unwrap().volume_id;
    let enable = |source| sites.a.enable(source, &[]).unwrap_err().code;
    assert_eq!(enable(volume(&directory)), ErrorCode::InvalidArgument);
    assert_eq!(enable(volume("nobody")), ErrorCode::NotFound);
    assert_eq!(enable(ReplicationSource::VolumeGroup("nobody".to_owned())), ErrorCode::NotFound);
    assert_eq!(enable(ReplicationSource::VolumeSnapshot("nobody".to_owned())), ErrorCode::NotFound);
    sites.a.settings.borrow_mut().retain(|(key, _)| key != "link");
    assert_eq!(enable(volume(&id)), ErrorCode::FailedPrecondition);
    let not_enabled = [
        sites.a.promote(volume(&id), false).unwrap_err(),
        sites.a.promote(volume(&id), true).unwrap_err(),
        sites.a.demote(volume(&id)).unwrap_err(),
        sites.a.resync(volume(&id)).unwrap_err(),
        sites.a.info(volume(&id)).unwrap_err(),
        sites.a.destination(volume(&id)).unwrap_err(),
    ];
    assert!(not_enabled.iter().all(|error| error.reason.as_deref() == Some("not-enabled")), "{not_enabled:?}");
    sites.a.disable(volume(&id)).unwrap();
    assert_eq!(sites.a.disable(volume("nobody")).unwrap_err().code, ErrorCode::NotFound);
}

#[test]
fn disabling_leaves_both_copies_usable() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[]);
    sites.a.disable(volume(&id)).unwrap();
    sites.a.disable(volume(&id)).unwrap();
    sites.work(60);
    assert_eq!((sites.a.role(&volume(&id)), sites.b.role(&volume(&copy))), (Role::Disabled, Role::Disabled));
    assert_eq!(contents(&sites.a, &id), contents(&sites.b, &copy));
    sites.b.stage(&copy, mount()).unwrap();
    sites.b.unstage(&copy).unwrap();
    for world in [&sites.a, &sites.b] {
        assert!(!world.pool.files().iter().any(|file| file.ends_with("record.json") && file.starts_with("repl")));
        assert!(
            !sites
                .files_of(world)
                .iter()
                .any(|file| file.contains("role.json") || (file.contains("news/") && !file.ends_with("news/new")))
        );
        assert!(!world.state.borrow().keys().any(|key| key.starts_with("replication/")));
    }
    sites.b.delete(&copy).unwrap();
    // Anew, with another copy.
    sites.a.enable(volume(&id), &[]).unwrap();
    sites.work(8);
    let again = sites.a.copy_of(&id).unwrap();
    assert_ne!(again, copy);
    assert_eq!(contents(&sites.a, &id), contents(&sites.b, &again));
}

#[test]
fn a_copy_that_never_became_whole_is_good_for_deletion_only() {
    let sites = Sites::new();
    let id = sites.a.create(&small("v")).unwrap().volume_id;
    write(&sites.a, &id, 0, b"data");
    sites.a.enable(volume(&id), &[]).unwrap();
    // The peer makes the copy and gets no data.
    sites.b.jobs.slowness.set(1_000_000);
    sites.work(8);
    let copy = sites.a.copy_of(&id).unwrap();
    assert!(!sites.b.resync(volume(&copy)).unwrap());
    sites.b.demote(volume(&copy)).unwrap();
    assert_eq!(sites.b.promote(volume(&copy), true).unwrap_err().code, ErrorCode::Unavailable);
    sites.a.disable(volume(&id)).unwrap();
    sites.work(40);
    assert_eq!(sites.b.role(&volume(&copy)), Role::Disabled);
    let group = sites.b.call(|backend| backend.create_volume_group(&group_request("g", &[&copy]))).unwrap();
    let of_it = ReplicationSource::VolumeGroup(group.volume_group_id.clone());
    for refused in [sites.b.stage(&copy, mount()), sites.b.enable(volume(&copy), &[]), sites.b.enable(of_it, &[])] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, ErrorCode::FailedPrecondition);
        assert!(refused.message.contains("no transfer was ever whole"), "{}", refused.message);
    }
    delete_group(&sites.b, &group.volume_group_id).unwrap();
    assert!(sites.b.volumes().is_empty());
}

#[test]
fn a_volume_that_grows_grows_at_the_peer() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[("schedulingInterval", "1m")]);
    let request = expansion::ExpandVolumeRequest {
        volume_id: id.clone(),
        capacity_range: CapacityRange { required_bytes: Some(3 * MIB), limit_bytes: None },
        secrets: Vec::new(),
        volume_capability: None,
    };
    sites.a.call(|backend| backend.expand_volume(&request)).unwrap();
    write(&sites.a, &id, 2 * MIB + 5, b"beyond");
    sites.work(70);
    assert_eq!(contents(&sites.b, &copy), contents(&sites.a, &id));
    let grown = sites.b.volumes().into_iter().find(|volume| volume.volume_id == copy).unwrap();
    assert_eq!(grown.capacity_bytes, 3 * MIB);
}

#[test]
fn without_shared_blocks_contents_are_compared() {
    let sites = Sites::without_sharing();
    let (id, copy) = sites.replicated(&[("schedulingInterval", "1m")]);
    write(&sites.a, &id, 700_000, b"changed");
    let before = sites.a.moved_to("sites");
    sites.work(70);
    assert_eq!(contents(&sites.b, &copy), contents(&sites.a, &id));
    assert_eq!(sites.a.moved_to("sites") - before, 4_096);
    assert!(sites.a.info(volume(&id)).unwrap().status_message.contains("comparing contents"));
    // In use it cannot be cut, and the status says so.
    sites.a.stage(&id, mount()).unwrap();
    sites.work(70);
    let info = sites.a.info(volume(&id)).unwrap();
    assert_eq!(info.status, Some(ReplicationHealth::Degraded));
    assert!(info.status_message.contains("cannot share blocks"), "{}", info.status_message);
}

#[test]
fn snapshots_are_copied_once_and_used_after_their_promotion() {
    let sites = Sites::new();
    let id = sites.a.create(&small("v")).unwrap().volume_id;
    write(&sites.a, &id, 4_096, b"as it was");
    let snapshot = sites.a.snapshot(&id, "s").unwrap();
    let source = ReplicationSource::VolumeSnapshot(snapshot.snapshot_id.clone());
    sites.a.enable(source.clone(), &[]).unwrap();
    sites.work(12);
    assert_eq!(sites.a.info(source.clone()).unwrap().last_sync_bytes, sites.a.moved_to("sites"));
    let copy = sites.b.snapshots().pop().expect("the copy of the snapshot is listed");
    assert!(!copy.ready_to_use && copy.snapshot_id != snapshot.snapshot_id);
    assert_eq!((copy.size_bytes, copy.creation_time), (MIB, snapshot.creation_time));
    let restore = create_from("restored", VolumeContentSource::Snapshot(copy.snapshot_id.clone()));
    assert_eq!(sites.b.create(&restore).unwrap_err().code, ErrorCode::FailedPrecondition);
    let at_b = ReplicationSource::VolumeSnapshot(copy.snapshot_id.clone());
    for world_and_source in [(&sites.a, &source), (&sites.b, &at_b)] {
        let (world, source) = world_and_source;
        assert_eq!(world.demote(source.clone()).unwrap_err().code, ErrorCode::FailedPrecondition);
        assert_eq!(world.resync(source.clone()).unwrap_err().code, ErrorCode::FailedPrecondition);
    }
    sites.b.promote(at_b.clone(), false).unwrap();
    let mut restore = restore;
    restore.capacity_range = None;
    let restored = sites.b.create(&restore).unwrap().volume_id;
    assert_eq!(contents(&sites.b, &restored), contents(&sites.a, &id));
    sites.a.disable(source).unwrap();
    sites.b.disable(at_b).unwrap();
    sites.work(40);
    assert!(sites.b.snapshots()[0].ready_to_use);
    sites.a.delete_snapshot(&snapshot.snapshot_id).unwrap();
    sites.b.delete_snapshot(&copy.snapshot_id).unwrap();
    assert!(sites.failed.borrow().is_empty(), "{:?}", sites.failed.borrow());
}

/// Planning a segment may end because the step does; what was begun goes on all the same.
#[test]
fn a_segment_that_was_begun_is_not_planned_anew() {
    for patience in [1, 2, 4] {
        let sites = Sites::new();
        let mut request = small("v");
        request.capacity_range = Some(CapacityRange { required_bytes: Some(9 * MIB), limit_bytes: None });
        let id = sites.a.create(&request).unwrap().volume_id;
        // More ranges than one page has.
        for block in (0..2_100).step_by(2) {
            write(&sites.a, &id, block * 4_096, b"data");
        }
        sites.a.jobs.slowness.set(2);
        sites.a.enable(volume(&id), &[]).unwrap();
        for round in 0..20 {
            // The peer first, and then what sends, with ever more time.
            sites.run(&sites.b);
            let now = sites.a.now();
            let due = sites.a.look_up(|backend| backend.replication.list_due(now.into())).unwrap().works;
            for work in due.into_iter().filter(|work| work.due <= now.into() && work.id != "watch") {
                let hasty = work.id.starts_with("move ") && round % 2 == 0;
                sites.a.patience.set(hasty.then_some(patience));
                sites.a.call(|backend| backend.replication.run_step(&work.id)).unwrap();
                sites.a.patience.set(None);
            }
            sites.pass(500);
        }
        let copy = sites.a.copy_of(&id).unwrap();
        assert_eq!(contents(&sites.a, &id), contents(&sites.b, &copy), "with a patience of {patience}");
    }
}
