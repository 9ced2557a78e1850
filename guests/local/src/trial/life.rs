//! A volume's life with its controller: making, asking, changing, deleting, and what each refuses.

use drivebay_sdk::mounts::Access;
use drivebay_sdk::types::{AccessMode, CapacityRange, VolumeContentSource, VolumeHealthErrorType};
use drivebay_sdk::volumes::{ValidateVolumeCapabilitiesRequest, Verdict};
use drivebay_sdk::{ErrorCode, attachment, capacity, modification, volume_health};

use super::World;
use super::crash::assert_clean;
use super::jobs::{AVAILABLE, header};
use super::requests::*;

#[test]
fn an_image_from_making_to_deleting() {
    let world = World::new();
    let volume = world.create(&create("pvc-1")).unwrap();
    let id = volume.volume_id.as_str();
    assert_eq!(volume.capacity_bytes, 8 * MIB);
    assert_eq!(std::fs::metadata(world.image(id)).unwrap().len(), 8 * MIB);
    assert_eq!(header(&world.image(id)).0, "ext4");
    assert_eq!(world.create(&create("pvc-1")).unwrap(), volume);

    let request = attach(id, "node-of-host-a", mount());
    world.call(|backend| backend.attach_volume(&request)).unwrap();
    assert_eq!(code(world.delete(id)), ErrorCode::FailedPrecondition);
    world.stage(id, mount()).unwrap();
    world.stage(id, mount()).unwrap();
    world.publish(id, "/pods/a", mount()).unwrap();
    assert_eq!(world.devices.at("/pods/a").unwrap().access, Access::ReadWrite);
    let refused = world.delete(id).unwrap_err();
    assert_eq!(refused.reason.as_deref(), Some("in-use"));

    world.unpublish(id, "/pods/a").unwrap();
    world.unpublish(id, "/pods/a").unwrap();
    world.unstage(id).unwrap();
    world.unstage(id).unwrap();
    assert!(world.devices.standing.borrow().is_empty());
    assert_eq!(code(world.delete(id)), ErrorCode::FailedPrecondition);
    let request = attachment::UnpublishVolumeRequest { volume_id: id.to_owned(), node_id: None, secrets: Vec::new() };
    world.call(|backend| backend.detach_volume(&request)).unwrap();
    world.delete(id).unwrap();
    world.delete(id).unwrap();
    assert!(world.volumes().is_empty());
    assert_clean(&world, "at the end");
    let again = world.create(&create("pvc-1")).unwrap();
    assert_ne!(again.volume_id, id, "a name used again must not revive an id");
}

#[test]
fn the_same_name_with_other_wishes_is_taken() {
    let world = World::new();
    world.create(&create("pvc-1")).unwrap();
    let mut larger = create("pvc-1");
    larger.capacity_range = Some(CapacityRange { required_bytes: Some(9 * MIB), limit_bytes: None });
    let mut xfs = create("pvc-1");
    xfs.volume_capabilities = vec![mount_as(Some("xfs"), AccessMode::SingleNodeWriter)];
    let mut full = create("pvc-1");
    full.mutable_parameters = pairs(&[("reserve", "full")]);
    for request in [larger, xfs, full, create_block("pvc-1"), create_directory("pvc-1")] {
        let refused = world.create(&request).unwrap_err();
        assert_eq!(refused.code, ErrorCode::AlreadyExists, "{}", refused.message);
        assert_eq!(refused.reason.as_deref(), Some("incompatible"));
    }
    assert_eq!(world.volumes().len(), 1);
}

#[test]
fn wishes_that_cannot_be_met_leave_nothing() {
    use ErrorCode::{InvalidArgument, NotFound, OutOfRange, ResourceExhausted};
    let world = World::new();
    world.volumes();
    let parameters = |given: &[(&str, &str)]| {
        let mut request = create("bad");
        request.parameters = pairs(given);
        request
    };
    let modes = |mode| {
        let mut request = create("bad");
        request.volume_capabilities = vec![mount_as(None, mode)];
        request
    };
    let sized = |required, limit, fs: &str| {
        let mut request = create("bad");
        request.volume_capabilities = vec![mount_as(Some(fs), AccessMode::SingleNodeWriter)];
        request.capacity_range = Some(CapacityRange { required_bytes: Some(required), limit_bytes: limit });
        request
    };
    let mut both = create("bad");
    both.volume_capabilities.push(block());
    let mut elsewhere = create("bad");
    elsewhere.accessibility_requirements = Some(drivebay_sdk::types::TopologyRequirement {
        requisite: vec![pairs(&[("zone", "west")])],
        preferred: Vec::new(),
    });
    let unknown = |source| create_from("bad", source);
    for (expected, request) in [
        (InvalidArgument, parameters(&[("colour", "red")])),
        (InvalidArgument, parameters(&[("kind", "tape")])),
        (InvalidArgument, parameters(&[("group", "")])),
        (NotFound, parameters(&[("group", "g")])),
        (InvalidArgument, parameters(&[("kind", "directory"), ("reserve", "full")])),
        (InvalidArgument, modes(AccessMode::MultiNodeMultiWriter)),
        (InvalidArgument, sized(8 * MIB, None, "ntfs")),
        (InvalidArgument, both),
        (OutOfRange, sized(8 * MIB, Some(299 * MIB), "xfs")),
        (ResourceExhausted, sized(AVAILABLE + 1, None, "ext4")),
        (ResourceExhausted, elsewhere),
        (NotFound, unknown(VolumeContentSource::Volume("nobody".to_owned()))),
        (NotFound, unknown(VolumeContentSource::Snapshot("../../etc".to_owned()))),
    ] {
        let refused = world.create(&request).unwrap_err();
        assert_eq!(refused.code, expected, "{}", refused.message);
    }
    assert!(world.volumes().is_empty());
    assert_clean(&world, "after refusals");
}

#[test]
fn a_resumed_making_with_other_wishes_keeps_nothing_of_the_first() {
    let world = World::new();
    world.volumes();
    world.jobs.slowness.set(9);
    assert_eq!(code(world.create(&create("pvc-1"))), ErrorCode::Unavailable);
    let id = world.create(&create_directory("pvc-1")).unwrap().volume_id;
    let folder = format!("volumes/{}/{id}/", local_pool::ids::bucket(&id));
    let files: Vec<String> =
        world.pool.files().iter().filter_map(|file| file.strip_prefix(&folder)).map(str::to_owned).collect();
    assert_eq!(files, ["data", "record.json"]);
}

#[test]
fn clients_may_add_their_own_keys() {
    let world = World::new();
    let mut request = create("pvc-1");
    request.parameters = pairs(&[("csi.storage.k8s.io/pvc/name", "data"), ("reserve", "thin")]);
    world.create(&request).unwrap();
}

#[test]
fn small_file_systems_are_rounded_up() {
    let world = World::new();
    let mut request = create("pvc-1");
    request.volume_capabilities = vec![mount_as(Some("xfs"), AccessMode::SingleNodeWriter)];
    assert_eq!(world.create(&request).unwrap().capacity_bytes, 300 * MIB);
}

#[test]
fn reserve_is_changed_whole_or_not_at_all() {
    let world = World::new();
    let id = world.create(&create("pvc-1")).unwrap().volume_id;
    let modify = |id: &str, given: &[(&str, &str)]| {
        let request = modification::ModifyVolumeRequest {
            volume_id: id.to_owned(),
            secrets: Vec::new(),
            mutable_parameters: pairs(given),
        };
        world.call(|backend| backend.modify_volume(&request))
    };
    assert_eq!(code(modify(&id, &[("reserve", "full"), ("colour", "red")])), ErrorCode::InvalidArgument);
    assert_eq!(code(modify("nobody", &[("colour", "red")])), ErrorCode::NotFound);
    assert!(world.jobs.reserved.borrow().is_empty());
    modify(&id, &[("reserve", "full")]).unwrap();
    modify(&id, &[("reserve", "full")]).unwrap();
    assert!(world.jobs.reserved.borrow().contains(&world.image(&id)));
    modify(&id, &[("reserve", "thin")]).unwrap();
    let directory = world.create(&create_directory("directory")).unwrap().volume_id;
    assert_eq!(code(modify(&directory, &[("reserve", "full")])), ErrorCode::InvalidArgument);
}

#[test]
fn what_is_missing_is_told_as_ill_health() {
    let world = World::new();
    let ids: Vec<String> =
        ["a", "b", "c", "d"].iter().map(|name| world.create(&create(name)).unwrap().volume_id).collect();
    std::fs::remove_file(world.image(&ids[0])).unwrap();
    std::fs::File::options().write(true).open(world.image(&ids[1])).unwrap().set_len(4_096).unwrap();
    let record = world.image(&ids[2]).replace("/image", "/record.json");
    std::fs::write(&record, "{\"format\":99}").unwrap();
    let request =
        volume_health::ListVolumeHealthRequest { max_entries: None, starting_token: None, secrets: Vec::new() };
    let page = world.call(|backend| backend.list_volume_health(&request)).unwrap();
    let mut seen: Vec<(usize, String)> = page
        .entries
        .iter()
        .map(|health| {
            let at = ids.iter().position(|id| *id == health.volume_id).unwrap();
            (at, health.health_statuses[0].reason.clone())
        })
        .collect();
    seen.sort();
    let expected = [(0, "ImageMissing"), (1, "ImageTooShort"), (2, "RecordUnreadable")];
    assert_eq!(seen, expected.map(|(at, reason)| (at, reason.to_owned())));
    std::fs::remove_file(&record).unwrap();
    let lost = world.call(|backend| backend.health_of(&ids[2])).unwrap();
    assert_eq!(lost.health_statuses[0].status, VolumeHealthErrorType::DataLoss);
    assert_eq!(code(world.call(|backend| backend.health_of("nobody"))), ErrorCode::NotFound);
    assert!(world.call(|backend| backend.health_of(&ids[3])).unwrap().health_statuses.is_empty());
}

#[test]
fn secrets_are_demanded_where_requests_have_them() {
    let world = World::new();
    let id = world.create(&create("open")).unwrap().volume_id;
    world.settings.borrow_mut().push(("secret".to_owned(), "sesame".to_owned()));
    assert_eq!(code(world.create(&create("shut"))), ErrorCode::Unauthenticated);
    assert_eq!(code(world.delete(&id)), ErrorCode::Unauthenticated);
    assert_eq!(code(world.stage(&id, mount())), ErrorCode::Unauthenticated);
    let mut request = create("shut");
    request.secrets = pairs(&[("secret", "sesame")]);
    world.create(&request).unwrap();
    assert_eq!(world.volumes().len(), 2, "listing has no secrets");
    let health = |given: &[(&str, &str)]| {
        let request = volume_health::GetVolumeHealthRequest { volume_id: id.clone(), secrets: pairs(given) };
        world.call(|backend| backend.get_volume_health(&request))
    };
    health(&[]).unwrap();
    assert_eq!(code(health(&[("secret", "wrong")])), ErrorCode::Unauthenticated);
}

#[test]
fn verdicts_are_in_words() {
    let world = World::new();
    let id = world.create(&create("pvc-1")).unwrap().volume_id;
    let ask = |id: &str, capability, context: &[(&str, &str)]| {
        let request = ValidateVolumeCapabilitiesRequest {
            volume_id: id.to_owned(),
            volume_context: pairs(context),
            volume_capabilities: vec![capability],
            parameters: Vec::new(),
            secrets: Vec::new(),
            mutable_parameters: Vec::new(),
        };
        world.call(|backend| backend.validate_volume(&request))
    };
    let client = [("kind", "image"), ("storage.kubernetes.io/csiProvisionerIdentity", "17-local")];
    assert_eq!(ask(&id, mount(), &client).unwrap(), Verdict::Supported);
    assert!(matches!(ask(&id, block(), &[]).unwrap(), Verdict::Unsupported(why) if why.contains("ext4")));
    assert!(matches!(ask(&id, mount(), &[("kind", "directory")]).unwrap(), Verdict::Unsupported(_)));
    assert_eq!(code(ask("nobody", mount(), &[])), ErrorCode::NotFound);
}

#[test]
fn capacity_is_what_the_pool_has_left() {
    let world = World::new();
    world.settings.borrow_mut().push(("topology".to_owned(), "zone=east".to_owned()));
    let ask = |zone: &str| {
        let request = capacity::GetCapacityRequest {
            volume_capabilities: vec![mount_as(Some("xfs"), AccessMode::SingleNodeWriter)],
            parameters: Vec::new(),
            accessible_topology: Some(pairs(&[("zone", zone)])),
        };
        world.call(|backend| backend.get_capacity(&request)).unwrap()
    };
    assert_eq!(ask("east").available_capacity, AVAILABLE);
    assert_eq!(ask("east").minimum_volume_size, Some(300 * MIB));
    assert_eq!(ask("west").available_capacity, 0);
    let volume = world.create(&create("pvc-1")).unwrap();
    assert_eq!(volume.accessible_topology, [pairs(&[("zone", "east")])]);
    let snapshot = world.snapshot(&volume.volume_id, "s").unwrap();
    assert_eq!(snapshot.accessible_topology, volume.accessible_topology);
}
