//! A volume at its nodes: attaching, staging, publishing, growing there, and volumes that live as long
//! as a pod.

use drivebay_sdk::mounts::{Access, EntryKind};
use drivebay_sdk::types::{AccessMode, AccessType, CapacityRange};
use drivebay_sdk::{ErrorCode, attachment, expansion, node_expansion, node_stats, volume_listing};

use super::World;
use super::crash::assert_clean;
use super::jobs::AVAILABLE;
use super::requests::*;

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
