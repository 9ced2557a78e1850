//! What calls read that change nothing: clients repeat them without end, so each file that one opens counts.

use drivebay_sdk::volumes::ValidateVolumeCapabilitiesRequest;
use drivebay_sdk::{ErrorCode, Result, volume_listing};

use super::World;
use super::requests::*;
use crate::backend::Backend;

/// How often a call reads a file or looks for one.
fn looks<T>(world: &World, work: impl FnOnce(&Backend<'_>) -> Result<T>) -> u32 {
    let before = world.looks.get();
    assert!(world.look_up(work).is_ok());
    world.looks.get() - before
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
    let request = create("pvc-1");
    let id = world.create(&request).unwrap().volume_id;
    assert_eq!(looks(&world, |backend| backend.create_volume(&request)), 2);
    assert_eq!(looks(&world, |backend| backend.validate_volume(&validate(&id))), 1);
    let attach = attach(&id, "node-of-host-a", mount());
    world.look_up(|backend| backend.attach_volume(&attach)).unwrap();
    let repeated = looks(&world, |backend| backend.attach_volume(&attach));
    assert!(repeated <= 5, "the record, and whether it is a copy, torn or fenced: {repeated}");
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
