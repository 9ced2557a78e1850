//! Listing: pages, filters, and volumes that an operator placed.

use drivebay_sdk::ErrorCode;
use drivebay_sdk::snapshots::ListSnapshotsRequest;
use drivebay_sdk::volume_listing::{GetVolumeRequest, ListVolumesRequest};

use super::World;
use super::requests::*;

fn place(world: &World, id: &str, record: &str) {
    let directory = format!("{}/volumes/00/{id}", world.pool.path());
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(format!("{directory}/record.json"), record).unwrap();
    let image = std::fs::File::create(format!("{directory}/image")).unwrap();
    image.set_len(4 * MIB).unwrap();
    super::jobs::write_header(&format!("{directory}/image"), "ext4", "of-old");
}

#[test]
fn pages_hold_every_volume_once() {
    let world = World::new();
    let mut made: Vec<String> =
        (0..25).map(|number| world.create(&create_directory(&format!("v{number}"))).unwrap().volume_id).collect();
    made.sort();
    let mut seen = Vec::new();
    let mut token = None;
    loop {
        let request = ListVolumesRequest { max_entries: Some(7), starting_token: token };
        let page = world.call(|backend| backend.list_volumes(&request)).unwrap();
        assert!(page.entries.len() <= 7);
        seen.extend(page.entries.into_iter().map(|entry| entry.volume.volume_id));
        token = page.next_token;
        if token.is_none() {
            break;
        }
    }
    assert_eq!(seen, made);
    let request = ListVolumesRequest { max_entries: None, starting_token: Some("invalid-token".to_owned()) };
    let refused = world.call(|backend| backend.list_volumes(&request)).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Aborted);
}

#[test]
fn an_image_with_a_record_is_a_volume() {
    let world = World::new();
    world.create(&create("pvc-1")).unwrap();
    place(&world, "legacy-db", r#"{"format":1,"id":"legacy-db","content":"ext4"}"#);
    let get = GetVolumeRequest { volume_id: "legacy-db".to_owned() };
    let found = world.call(|backend| backend.get_volume(&get)).unwrap();
    assert_eq!(found.volume.capacity_bytes, 4 * MIB);
    assert_eq!(world.volumes().len(), 2);
    place(&world, "second", r#"{"format":1,"id":"second","content":"ext4"}"#);
    place(&world, "damaged", "nonsense");
    place(&world, "liar", r#"{"format":1,"id":"other","content":"ext4"}"#);
    assert_eq!(world.volumes().len(), 3, "what cannot be used is not listed");
    world.stage("legacy-db", mount()).unwrap();
    world.unstage("legacy-db").unwrap();
    std::fs::remove_dir_all(format!("{}/volumes/00/second", world.pool.path())).unwrap();
    assert_eq!(world.volumes().len(), 2);
    world.delete("legacy-db").unwrap();
    assert_eq!(world.volumes().len(), 1);
}

#[test]
fn snapshots_are_found_by_volume_and_by_id() {
    let world = World::new();
    let a = world.create(&create("a")).unwrap().volume_id;
    let b = world.create(&create("b")).unwrap().volume_id;
    let mut of_a: Vec<String> =
        (0..5).map(|number| world.snapshot(&a, &format!("a{number}")).unwrap().snapshot_id).collect();
    of_a.sort();
    let of_b = world.snapshot(&b, "b0").unwrap().snapshot_id;
    let list = |volume: Option<&str>, snapshot: Option<&str>, max: Option<u32>, token: Option<String>| {
        let request = ListSnapshotsRequest {
            max_entries: max,
            starting_token: token,
            source_volume_id: volume.map(str::to_owned),
            snapshot_id: snapshot.map(str::to_owned),
            secrets: Vec::new(),
        };
        let page = world.call(|backend| backend.list_snapshots(&request)).unwrap();
        let ids: Vec<String> = page.entries.into_iter().map(|entry| entry.snapshot_id).collect();
        (ids, page.next_token)
    };
    assert_eq!(list(None, None, None, None).0.len(), 6);
    let (first, token) = list(Some(&a), None, Some(3), None);
    let (rest, end) = list(Some(&a), None, Some(3), token);
    assert_eq!(([first, rest].concat(), end), (of_a, None));
    assert_eq!(list(None, Some(&of_b), None, None).0, std::slice::from_ref(&of_b));
    assert!(list(Some(&a), Some(&of_b), None, None).0.is_empty());
    assert!(list(Some("nobody"), None, None, None).0.is_empty());
    assert!(list(None, Some("nobody"), None, None).0.is_empty());
}
