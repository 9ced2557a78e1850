//! A volume's life, and what each call refuses.

use super::World;
use super::crash::assert_clean;
use super::jobs::{AVAILABLE, header};
use super::requests::*;
use drivebay_sdk::mounts::{Access, EntryKind};
use drivebay_sdk::types::{AccessMode, AccessType, CapacityRange, VolumeContentSource, VolumeHealthErrorType};
use drivebay_sdk::volumes::{ValidateVolumeCapabilitiesRequest, Verdict};
use drivebay_sdk::{
    ErrorCode, attachment, capacity, expansion, modification, node_expansion, node_stats, snapshot_metadata,
    volume_health, volume_listing,
};

fn code<T: std::fmt::Debug>(outcome: drivebay_sdk::Result<T>) -> ErrorCode {
    outcome.unwrap_err().code
}

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
    let folder = format!("volumes/{}/{id}/", crate::ids::bucket(&id));
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
fn a_clone_has_its_own_uuid_before_its_first_mount_and_its_full_size_after() {
    let world = World::new();
    let source = world.create(&create("source")).unwrap().volume_id;
    world.stage(&source, mount()).unwrap();
    let mut request = create_from("clone", VolumeContentSource::Volume(source.clone()));
    request.capacity_range = Some(CapacityRange { required_bytes: Some(16 * MIB), limit_bytes: None });
    let clone = world.create(&request).unwrap();
    assert_eq!(clone.content_source, Some(VolumeContentSource::Volume(source.clone())));
    let (image, twin) = (header(&world.image(&clone.volume_id)), header(&world.image(&source)));
    assert_eq!(image, twin);
    // The stand-in for the kernel refuses a second file system with one UUID.
    world.stage(&clone.volume_id, mount()).unwrap();
    let renewed = header(&world.image(&clone.volume_id));
    assert_ne!(renewed, twin);
    let grown = format!("{} {}", clone.volume_id, 16 * MIB);
    assert_eq!(*world.devices.grown.borrow(), [grown.clone(), grown], "before its mount and after");
    world.unstage(&clone.volume_id).unwrap();
    world.stage(&clone.volume_id, mount()).unwrap();
    assert_eq!(header(&world.image(&clone.volume_id)), renewed, "once is enough");
    assert_eq!(world.devices.grown.borrow().len(), 2);
}

#[test]
fn a_copy_keeps_the_kind_of_its_source_and_is_not_smaller() {
    let world = World::new();
    let image = world.create(&create("image")).unwrap().volume_id;
    let raw = world.create(&create_block("raw")).unwrap().volume_id;
    let of = |id: &str, change: &dyn Fn(&mut drivebay_sdk::volumes::CreateVolumeRequest)| {
        let mut request = create_from("copy", VolumeContentSource::Volume(id.to_owned()));
        change(&mut request);
        world.create(&request)
    };
    let xfs = mount_as(Some("xfs"), AccessMode::SingleNodeWriter);
    let refused = of(&image, &|request| request.volume_capabilities = vec![xfs.clone()]).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    assert!(refused.message.contains("ext4"), "{}", refused.message);
    assert_eq!(code(of(&image, &|request| request.volume_capabilities = vec![block()])), ErrorCode::InvalidArgument);
    assert_eq!(code(of(&raw, &|_| {})), ErrorCode::InvalidArgument);
    let directory = pairs(&[("kind", "directory")]);
    assert_eq!(code(of(&image, &|request| request.parameters = directory.clone())), ErrorCode::InvalidArgument);
    let smaller = CapacityRange { required_bytes: Some(4 * MIB), limit_bytes: None };
    assert_eq!(code(of(&image, &|request| request.capacity_range = Some(smaller))), ErrorCode::OutOfRange);
    let capped = CapacityRange { required_bytes: None, limit_bytes: Some(7 * MIB) };
    assert_eq!(code(of(&image, &|request| request.capacity_range = Some(capped))), ErrorCode::OutOfRange);
    assert_eq!(of(&image, &|request| request.capacity_range = None).unwrap().capacity_bytes, 8 * MIB);
    assert_clean(&world, "at the end");
}

#[test]
fn snapshots_survive_their_volume() {
    let world = World::new();
    let id = world.create(&create("source")).unwrap().volume_id;
    let snapshot = world.snapshot(&id, "snap").unwrap();
    assert!(snapshot.ready_to_use && snapshot.size_bytes == 8 * MIB && snapshot.source_volume_id == id);
    assert_eq!(world.snapshot(&id, "snap").unwrap(), snapshot);
    let other = world.create(&create("other")).unwrap().volume_id;
    assert_eq!(code(world.snapshot(&other, "snap")), ErrorCode::AlreadyExists);
    assert_eq!(code(world.snapshot("nobody", "snap-2")), ErrorCode::NotFound);
    world.delete(&id).unwrap();
    assert_eq!(world.snapshots(), std::slice::from_ref(&snapshot));
    world.create(&create_from("back", VolumeContentSource::Snapshot(snapshot.snapshot_id.clone()))).unwrap();
    world.delete_snapshot(&snapshot.snapshot_id).unwrap();
    world.delete_snapshot(&snapshot.snapshot_id).unwrap();
    assert!(world.snapshots().is_empty());
    assert_clean(&world, "at the end");
}

#[test]
fn a_mounted_volume_is_frozen_for_its_snapshot_and_a_raw_one_is_not() {
    let world = World::new();
    let id = world.create(&create("mounted")).unwrap().volume_id;
    world.stage(&id, mount()).unwrap();
    world.snapshot(&id, "one").unwrap();
    assert_eq!(*world.devices.history.borrow(), [format!("freeze {id}"), format!("thaw {id}")]);
    let raw = world.create(&create_block("raw")).unwrap().volume_id;
    world.stage(&raw, block()).unwrap();
    world.publish(&raw, "/pods/raw", block()).unwrap();
    assert_eq!(world.devices.at("/pods/raw").unwrap().kind, EntryKind::Block);
    world.snapshot(&raw, "two").unwrap();
    assert_eq!(world.devices.history.borrow().len(), 2);
}

#[test]
fn a_cut_that_did_not_stay_frozen_is_thrown_away() {
    let world = World::new();
    let id = world.create(&create("mounted")).unwrap().volume_id;
    world.stage(&id, mount()).unwrap();
    world.devices.thaws_early.set(true);
    assert_eq!(code(world.snapshot(&id, "one")), ErrorCode::Unavailable);
    assert!(world.snapshots().is_empty());
    assert_clean(&world, "after the void cut");
    world.devices.thaws_early.set(false);
    world.snapshot(&id, "one").unwrap();
}

#[test]
fn without_shared_blocks_only_idle_volumes_are_copied_and_copies_may_last() {
    let world = World::new();
    world.pool.shares_blocks.set(false);
    let id = world.create(&create("source")).unwrap().volume_id;
    world.stage(&id, mount()).unwrap();
    let refused = world.snapshot(&id, "one").unwrap_err();
    assert_eq!(refused.code, ErrorCode::FailedPrecondition);
    assert!(refused.message.contains("cannot share blocks"), "{}", refused.message);
    world.unstage(&id).unwrap();
    world.jobs.slowness.set(4);
    assert_eq!(code(world.snapshot(&id, "one")), ErrorCode::Unavailable);
    assert!(world.snapshots().is_empty(), "what is not cut is not listed");
    assert_eq!(code(world.snapshot(&id, "one")), ErrorCode::Unavailable);
    assert!(world.snapshot(&id, "one").unwrap().ready_to_use);
    assert_clean(&world, "at the end");
}

#[test]
fn a_copy_under_way_survives_a_restart_but_not_for_ever() {
    let world = World::new();
    world.pool.shares_blocks.set(false);
    let id = world.create(&create("source")).unwrap().volume_id;
    world.jobs.slowness.set(2);
    for wait in [0, 5_000] {
        assert_eq!(code(world.snapshot(&id, "one")), ErrorCode::Unavailable);
        world.restart();
        world.pool.drawn.set(world.pool.drawn.get() + wait);
        world.recover().unwrap();
        let intents = world.state.borrow().keys().filter(|key| key.starts_with("intent/")).count();
        assert_eq!(intents, usize::from(wait == 0));
    }
    assert_clean(&world, "after the copy was given up");
}

#[test]
fn directories_are_copied_with_what_is_in_them() {
    for shares_blocks in [true, false] {
        let world = World::new();
        world.pool.shares_blocks.set(shares_blocks);
        let id = world.create(&create_directory("source")).unwrap().volume_id;
        let data = |id: &str| format!("{}/volumes/{}/{id}/data", world.pool.path(), crate::ids::bucket(id));
        std::fs::create_dir_all(format!("{}/a/b", data(&id))).unwrap();
        std::fs::write(format!("{}/a/b/file", data(&id)), "words").unwrap();
        std::fs::write(format!("{}/large", data(&id)), vec![7; 5 << 20]).unwrap();
        std::os::unix::fs::symlink("a/b/file", format!("{}/link", data(&id))).unwrap();
        let request = create_from("clone", VolumeContentSource::Volume(id.clone()));
        let clone = world.create(&request).unwrap();
        let copied = data(&clone.volume_id);
        assert_eq!(std::fs::read_to_string(format!("{copied}/a/b/file")).unwrap(), "words");
        assert_eq!(std::fs::metadata(format!("{copied}/large")).unwrap().len(), 5 << 20);
        assert_eq!(std::fs::read_link(format!("{copied}/link")).unwrap().to_str(), Some("a/b/file"));
        world.delete(&id).unwrap();
        assert_clean(&world, "after deleting the source");
    }
}

#[test]
fn a_directory_in_use_is_not_copied() {
    let world = World::new();
    let id = world.create(&create_directory("source")).unwrap().volume_id;
    world.stage(&id, mount()).unwrap();
    world.publish(&id, "/pods/a", mount()).unwrap();
    assert_eq!(code(world.snapshot(&id, "one")), ErrorCode::FailedPrecondition);
    world.unpublish(&id, "/pods/a").unwrap();
    world.snapshot(&id, "one").unwrap();
}

#[test]
fn attachments_follow_the_modes() {
    let world = World::new();
    world.settings.borrow_mut().push(("nodes".to_owned(), "a,b,c".to_owned()));
    let id = world.create(&create_block("raw")).unwrap().volume_id;
    let with = |mode| drivebay_sdk::types::VolumeCapability { access_mode: mode, ..block() };
    let put = |node: &str, mode, readonly| {
        let request = attachment::PublishVolumeRequest { readonly, ..attach(&id, node, with(mode)) };
        world.call(|backend| backend.attach_volume(&request))
    };
    assert_eq!(code(put("nowhere", AccessMode::SingleNodeWriter, false)), ErrorCode::NotFound);
    put("a", AccessMode::SingleNodeWriter, false).unwrap();
    put("a", AccessMode::SingleNodeWriter, false).unwrap();
    assert_eq!(code(put("a", AccessMode::SingleNodeWriter, true)), ErrorCode::AlreadyExists);
    let refused = put("b", AccessMode::SingleNodeWriter, false).unwrap_err();
    assert_eq!(refused.code, ErrorCode::FailedPrecondition);
    assert!(refused.message.contains("node a"), "{}", refused.message);
    let request = |node: Option<&str>| attachment::UnpublishVolumeRequest {
        volume_id: id.clone(),
        node_id: node.map(str::to_owned),
        secrets: Vec::new(),
    };
    world.call(|backend| backend.detach_volume(&request(Some("b")))).unwrap();
    world.call(|backend| backend.detach_volume(&request(Some("a")))).unwrap();
    put("a", AccessMode::MultiNodeSingleWriter, false).unwrap();
    assert_eq!(code(put("b", AccessMode::MultiNodeSingleWriter, false)), ErrorCode::FailedPrecondition);
    put("b", AccessMode::MultiNodeSingleWriter, true).unwrap();
    let get = volume_listing::GetVolumeRequest { volume_id: id.clone() };
    let entry = world.call(|backend| backend.get_volume(&get)).unwrap();
    assert_eq!(entry.status.published_node_ids, ["a", "b"]);
    let request = request(None);
    world.call(|backend| backend.detach_volume(&request)).unwrap();
    world.delete(&id).unwrap();
}

#[test]
fn growing_online_takes_controller_and_node() {
    let world = World::new();
    let id = world.create(&create("pvc-1")).unwrap().volume_id;
    let grow = |required| {
        let request = expansion::ExpandVolumeRequest {
            volume_id: id.clone(),
            capacity_range: CapacityRange { required_bytes: Some(required), limit_bytes: None },
            secrets: Vec::new(),
            volume_capability: Some(mount()),
        };
        world.call(|backend| backend.expand_volume(&request))
    };
    let node = |required, path: &str| {
        let request = node_expansion::ExpandVolumeRequest {
            volume_id: id.clone(),
            volume_path: path.to_owned(),
            capacity_range: Some(CapacityRange { required_bytes: Some(required), limit_bytes: None }),
            staging_target_path: None,
            volume_capability: None,
            secrets: Vec::new(),
        };
        world.call(|backend| backend.expand_on_node(&request))
    };
    world.stage(&id, mount()).unwrap();
    world.publish(&id, "/pods/a", mount()).unwrap();
    assert_eq!(code(node(16 * MIB, "/pods/a")), ErrorCode::OutOfRange);
    let grown = grow(16 * MIB).unwrap();
    assert_eq!((grown.capacity_bytes, grown.node_expansion_required), (16 * MIB, true));
    assert_eq!(code(node(16 * MIB, "some/path")), ErrorCode::NotFound);
    assert_eq!(node(16 * MIB, "/pods/a").unwrap(), 16 * MIB);
    assert_eq!(grow(4 * MIB).unwrap().capacity_bytes, 16 * MIB);
    assert_eq!(code(grow(AVAILABLE + 32 * MIB)), ErrorCode::ResourceExhausted);
    assert_eq!(world.volumes()[0].capacity_bytes, 16 * MIB);
    world.unpublish(&id, "/pods/a").unwrap();
    world.unstage(&id).unwrap();
    world.stage(&id, mount()).unwrap();
    assert_eq!(world.devices.grown.borrow().len(), 1, "it is known to have grown");
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
fn an_ephemeral_volume_lives_as_long_as_its_publication() {
    let world = World::new();
    let publish = |id: &str, context: &[(&str, &str)]| {
        world.call(|backend| backend.publish_volume(&ephemeral(id, &format!("/pods/{id}"), context)))
    };
    publish("csi-1", &[("size", "16Mi")]).unwrap();
    publish("csi-1", &[("size", "16Mi")]).unwrap();
    let image = format!("{}/ephemeral/00/csi-1/image", world.pool.path());
    assert_eq!(std::fs::metadata(&image).unwrap().len(), 16 * MIB);
    assert_eq!(world.devices.at("/pods/csi-1").unwrap().kind, EntryKind::Mount);
    assert!(world.volumes().is_empty(), "it is not a volume for controllers");
    publish("csi-2", &[("kind", "directory")]).unwrap();
    assert_eq!(world.devices.at("/pods/csi-2").unwrap().kind, EntryKind::Bind);
    assert_eq!(code(publish("csi-3", &[("size", "much")])), ErrorCode::InvalidArgument);
    assert_eq!(code(publish("../3", &[])), ErrorCode::InvalidArgument);
    assert_eq!(code(publish("csi-3", &[("colour", "red")])), ErrorCode::InvalidArgument);
    world.devices.refuses_mounts.set(true);
    assert_eq!(code(publish("csi-3", &[])), ErrorCode::Unavailable);
    world.unpublish("csi-1", "/pods/csi-1").unwrap();
    world.unpublish("csi-1", "/pods/csi-1").unwrap();
    world.unpublish("csi-2", "/pods/csi-2").unwrap();
    assert!(world.devices.standing.borrow().is_empty());
    assert!(!world.pool.files().iter().any(|file| file.starts_with("ephemeral/00/")));
    assert_clean(&world, "at the end");
}

#[test]
fn a_staging_that_fails_leaves_nothing_and_says_why() {
    let world = World::new();
    let id = world.create(&create("pvc-1")).unwrap().volume_id;
    let xfs = mount_as(Some("xfs"), AccessMode::SingleNodeWriter);
    assert_eq!(code(world.stage(&id, xfs)), ErrorCode::FailedPrecondition);
    assert_eq!(code(world.stage(&id, block())), ErrorCode::FailedPrecondition);
    assert_eq!(code(world.stage("nobody", mount())), ErrorCode::NotFound);
    assert_eq!(code(world.publish(&id, "/pods/a", mount())), ErrorCode::FailedPrecondition);
    world.devices.refuses_mounts.set(true);
    assert_eq!(code(world.stage(&id, mount())), ErrorCode::Unavailable);
    assert!(world.devices.standing.borrow().is_empty());
    world.delete(&id).unwrap();
    assert_clean(&world, "at the end");
}

#[test]
fn reading_only_is_kept_and_the_group_is_given() {
    let world = World::new();
    let id = world.create(&create("pvc-1")).unwrap().volume_id;
    let mut capability = mount();
    let AccessType::Mount(wish) = &mut capability.access_type else { panic!() };
    wish.volume_mount_group = Some("2000".to_owned());
    world.stage(&id, capability.clone()).unwrap();
    assert_eq!(*world.devices.groups.borrow(), [(format!("/staging/{id}"), 2_000)]);
    let mut request = publish(&id, "/pods/reader", capability);
    request.readonly = true;
    world.call(|backend| backend.publish_volume(&request)).unwrap();
    assert_eq!(world.devices.at("/pods/reader").unwrap().access, Access::ReadOnly);
    world.unpublish(&id, "/pods/reader").unwrap();
    world.unstage(&id).unwrap();
    world.stage(&id, mount_as(None, AccessMode::MultiNodeReaderOnly)).unwrap();
    assert_eq!(world.devices.find(&id, EntryKind::Device).unwrap().access, Access::ReadOnly);
    assert_eq!(code(world.publish(&id, "/pods/writer", mount())), ErrorCode::FailedPrecondition);
}

#[test]
fn statistics_are_of_the_path() {
    let world = World::new();
    let id = world.create(&create("pvc-1")).unwrap().volume_id;
    world.stage(&id, mount()).unwrap();
    let stats = |id: &str, path: &str| {
        let request = node_stats::GetVolumeStatsRequest {
            volume_id: id.to_owned(),
            volume_path: path.to_owned(),
            staging_target_path: None,
        };
        world.call(|backend| backend.get_volume_stats(&request))
    };
    assert_eq!(stats(&id, &format!("/staging/{id}")).unwrap().usage[0].total, 10);
    assert_eq!(code(stats(&id, "some/path")), ErrorCode::NotFound);
    assert_eq!(code(stats("nobody", "some/path")), ErrorCode::NotFound);
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
}

#[test]
fn metadata_is_of_images_and_within_the_volume() {
    let world = World::new();
    let id = world.create(&create("pvc-1")).unwrap().volume_id;
    let base = world.snapshot(&id, "base").unwrap().snapshot_id;
    std::os::unix::fs::FileExt::write_all_at(
        &std::fs::File::options().write(true).open(world.image(&id)).unwrap(),
        b"new",
        1 << 20,
    )
    .unwrap();
    let target = world.snapshot(&id, "target").unwrap().snapshot_id;
    let delta = snapshot_metadata::GetDeltaRequest {
        base_snapshot_id: base.clone(),
        target_snapshot_id: target,
        starting_offset: 0,
        max_results: 100,
        secrets: Vec::new(),
    };
    let page = world.call(|backend| backend.get_delta(&delta)).unwrap();
    let blocks: Vec<_> = page.block_metadata.iter().map(|block| (block.byte_offset, block.size_bytes)).collect();
    assert_eq!((blocks, page.volume_capacity_bytes), (vec![(1 << 20, 4_096)], 8 * MIB));
    let allocated = |id: &str, offset| {
        let request = snapshot_metadata::GetAllocatedRequest {
            snapshot_id: id.to_owned(),
            starting_offset: offset,
            max_results: 1,
            secrets: Vec::new(),
        };
        world.call(|backend| backend.get_allocated(&request))
    };
    let page = allocated(&base, 1_000).unwrap();
    assert_eq!((page.block_metadata[0].byte_offset, page.block_metadata[0].size_bytes), (1_000, 3_096));
    assert_eq!(code(allocated(&base, 8 * MIB + 1)), ErrorCode::OutOfRange);
    assert_eq!(code(allocated("nobody", 0)), ErrorCode::NotFound);
    let directory = world.create(&create_directory("directory")).unwrap().volume_id;
    let snapshot = world.snapshot(&directory, "of-directory").unwrap().snapshot_id;
    assert_eq!(code(allocated(&snapshot, 0)), ErrorCode::FailedPrecondition);
}
