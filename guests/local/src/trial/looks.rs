//! What calls cost: how often each of them asks the host and its disk. Clients repeat some of them without end, and a new
//! volume waits for every flush, so one more of anything here is a decision.

use drivebay_sdk::node_stats::GetVolumeStatsRequest;
use drivebay_sdk::volumes::ValidateVolumeCapabilitiesRequest;
use drivebay_sdk::{ErrorCode, Result, volume_listing};

use super::requests::*;
use super::{Counts, World};
use crate::backend::Backend;

/// What a call that succeeds asks for.
fn cost<T>(world: &World, work: impl FnOnce(&Backend<'_>) -> Result<T>) -> Counts {
    world.counts.set(Counts::default());
    assert!(world.look_up(work).is_ok());
    world.counts.get()
}

fn validate(id: &str) -> ValidateVolumeCapabilitiesRequest {
    ValidateVolumeCapabilitiesRequest {
        volume_id: id.to_owned(),
        volume_context: Vec::new(),
        volume_capabilities: vec![mount()],
        parameters: Vec::new(),
        mutable_parameters: Vec::new(),
        secrets: Vec::new(),
    }
}

#[test]
fn a_repeated_request_reads_a_name_and_a_record() {
    let world = World::new();
    for request in [create("image"), create_directory("directory")] {
        world.create(&request).unwrap();
        let again = cost(&world, |backend| backend.create_volume(&request));
        assert_eq!(again, Counts { looks: 2, gets: 1, ..Counts::default() });
    }
}

#[test]
fn what_changes_nothing_reads_what_it_answers_with() {
    let world = World::new();
    let id = world.create(&create("pvc-1")).unwrap().volume_id;
    let validate = cost(&world, |backend| backend.validate_volume(&validate(&id)));
    assert_eq!(validate, Counts { looks: 1, ..Counts::default() });
    let get = volume_listing::GetVolumeRequest { volume_id: id.clone() };
    let got = cost(&world, |backend| backend.get_volume(&get));
    assert_eq!(got, Counts { looks: 2, ..Counts::default() }, "the record, and whether the contents are there");

    let attach = attach(&id, "node-of-host-a", mount());
    world.look_up(|backend| backend.attach_volume(&attach)).unwrap();
    let again = cost(&world, |backend| backend.attach_volume(&attach));
    assert_eq!(again, Counts { looks: 2, gets: 1, ..Counts::default() }, "the record, and whether it is a copy");

    world.stage(&id, mount()).unwrap();
    let request = GetVolumeStatsRequest {
        volume_id: id.clone(),
        volume_path: format!("/staging/{id}"),
        staging_target_path: None,
    };
    let stats = cost(&world, |backend| backend.get_volume_stats(&request));
    assert_eq!(stats, Counts { looks: 2, ..Counts::default() }, "the record, and whether the contents are there");
}

#[test]
fn a_fenced_network_is_looked_for_before_the_node() {
    let world = World::new();
    world.settings.borrow_mut().push(("nodes".to_owned(), "x".to_owned()));
    let id = world.create(&create("pvc-1")).unwrap().volume_id;
    let attach = attach(&id, "x", mount());
    world.look_up(|backend| backend.attach_volume(&attach)).unwrap();
    let again = cost(&world, |backend| backend.attach_volume(&attach));
    assert_eq!(again, Counts { looks: 3, gets: 1, ..Counts::default() });
}

/// What a page tells of its volumes is at most a minute old.
#[test]
fn a_page_that_is_polled_looks_at_no_volume() {
    let world = World::new();
    let mut ids: Vec<String> =
        (0..100).map(|number| world.create(&create_directory(&format!("v{number}"))).unwrap().volume_id).collect();
    ids.sort();
    let (start, minute) = (1_900_000_000_000, 60_000);
    world.pool.clock.set(Some(start));
    let list = || {
        let request = volume_listing::ListVolumesRequest { max_entries: None, starting_token: None };
        world.look_up(|backend| backend.list_volumes(&request))
    };
    let abnormal = || {
        let page = list().unwrap().entries;
        let found = page.iter().filter(|entry| entry.status.volume_condition.as_ref().unwrap().abnormal);
        found.map(|entry| entry.volume.volume_id.clone()).collect::<Vec<_>>()
    };
    let first = cost(&world, |_| list());
    assert_eq!((first.looks, first.commits), (104, 2), "the pool, its writer, the folder of placed volumes, and each");
    let again = cost(&world, |_| list());
    assert_eq!(again, Counts { looks: 3, gets: 4, ..Counts::default() });

    let ailing = &ids[7];
    std::fs::remove_dir(format!("{}/volumes/{}/{ailing}/data", world.pool.path(), local_pool::ids::bucket(ailing)))
        .unwrap();
    world.pool.clock.set(Some(start + minute - 1_000));
    assert!(abnormal().is_empty());
    world.pool.clock.set(Some(start + minute));
    assert_eq!(abnormal(), [ailing.as_str()]);
    assert_eq!(abnormal(), [ailing.as_str()], "as remembered");

    // A new one is well until it is looked at.
    world.create(&create_directory("new")).unwrap();
    assert_eq!(list().unwrap().entries.len(), 101);
    assert_eq!(abnormal(), [ailing.as_str()]);
    let pages = |world: &World| world.state.borrow().keys().filter(|key| key.starts_with("judged/")).count();
    assert_eq!(pages(&world), 1);
}

/// Two commits, which concurrent calls share: the intent before the first change, the index after the last. Three
/// flushes: the name with its folder, the record, the directory that it stands in.
#[test]
fn a_new_volume_waits_for_the_disk_five_times() {
    let world = World::new();
    world.create(&create_directory("before")).unwrap();
    // As in a pool that has been used for a while, no folder is new.
    for bucket in 0..=255 {
        for folder in ["volumes", "names/volumes"] {
            std::fs::create_dir_all(format!("{}/{folder}/{bucket:02x}", world.pool.path())).unwrap();
        }
    }
    let request = create_directory("pvc-1");
    let made = cost(&world, |backend| backend.create_volume(&request));
    assert_eq!(made, Counts { looks: 4, changes: 8, flushes: 3, gets: 2, commits: 2, jobs: 0 });
}

#[test]
fn what_is_not_found_is_looked_for_in_the_right_pool() {
    let world = World::new();
    let id = world.create(&create("pvc-1")).unwrap().volume_id;
    let get = volume_listing::GetVolumeRequest { volume_id: id.clone() };
    // As an empty mount point is: nothing there says that the volume is gone.
    for entry in std::fs::read_dir(world.pool.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
    }
    let calls = [
        world.create(&create("pvc-1")).map(drop),
        world.look_up(|backend| backend.validate_volume(&validate(&id))).map(drop),
        world.look_up(|backend| backend.get_volume(&get)).map(drop),
        world.look_up(|backend| backend.attach_volume(&attach(&id, "node-of-host-a", mount()))).map(drop),
    ];
    for refused in calls {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, ErrorCode::FailedPrecondition, "{}", refused.message);
        assert!(refused.message.contains("is gone"), "{}", refused.message);
    }
    assert!(world.pool.files().is_empty(), "nothing was made in it");
}
