//! Clones and snapshots: what is copied and when it is not, and what is told of their blocks.

use drivebay_sdk::mounts::EntryKind;
use drivebay_sdk::types::{AccessMode, CapacityRange, VolumeContentSource};
use drivebay_sdk::{ErrorCode, snapshot_metadata};

use super::World;
use super::crash::assert_clean;
use super::jobs::header;
use super::requests::*;

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
        let data = |id: &str| format!("{}/volumes/{}/{id}/data", world.pool.path(), local_pool::ids::bucket(id));
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
