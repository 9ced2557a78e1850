//! Entries that no message can hold, and what becomes of them.

use super::*;
use crate::bindings::drivebay::backend::types::{Instant, VolumeStatus};
use drivebay_proto::pb::csi::v1::{list_snapshots_response, list_volumes_response};
use drivebay_proto::pb::volumegroup::list_volume_groups_response;

fn pairs(keys: &[&str]) -> StringMap {
    keys.iter().map(|key| ((*key).to_owned(), "x".to_owned())).collect()
}

fn volume(id: &str) -> Volume {
    Volume {
        capacity_bytes: 1,
        volume_id: id.to_owned(),
        volume_context: pairs(&["a", "b"]),
        content_source: None,
        accessible_topology: vec![pairs(&["zone"])],
    }
}

fn entry(volume: Volume) -> VolumeEntry {
    VolumeEntry { volume, status: VolumeStatus { published_node_ids: Vec::new(), volume_condition: None } }
}

fn snapshot(id: &str) -> Snapshot {
    Snapshot {
        size_bytes: 1,
        snapshot_id: id.to_owned(),
        source_volume_id: "v".to_owned(),
        creation_time: Instant { seconds: 1_700_000_000, nanoseconds: 0 },
        ready_to_use: true,
        group_snapshot_id: None,
        accessible_topology: Vec::new(),
    }
}

/// What is left of two volumes of which this spoils the first, and the words.
fn volumes(spoil: impl FnOnce(&mut Volume)) -> (Vec<list_volumes_response::Entry>, Vec<String>) {
    let mut first = volume("v-1");
    spoil(&mut first);
    let (told, flaws) = told(vec![entry(first), entry(volume("v-2"))]).unwrap();
    (told, flaws.iter().map(ToString::to_string).collect())
}

#[test]
fn a_volume_whose_size_no_message_can_hold_has_none() {
    let (told, words) = volumes(|it| it.capacity_bytes = 1 << 63);
    let sizes: Vec<_> = told.iter().map(|it| it.volume.as_ref().unwrap().capacity_bytes).collect();
    assert_eq!(sizes, [0, 1]);
    let said =
        "is told without what is wrong with it: entries[0].volume.capacity-bytes: is too large: 9223372036854775808";
    assert_eq!(words, [format!("\"v-1\" {said}")]);
    assert!(volumes(|it| it.capacity_bytes = (1 << 63) - 1).1.is_empty());
}

#[test]
fn a_context_with_a_key_twice_is_none() {
    let (told, words) = volumes(|it| it.volume_context = pairs(&["b", "a", "b"]));
    let contexts: Vec<_> = told.iter().map(|it| it.volume.as_ref().unwrap().volume_context.len()).collect();
    assert_eq!(contexts, [0, 2]);
    assert!(words[0].ends_with("entries[0].volume.volume-context: has the key \"b\" twice"), "{words:?}");
}

#[test]
fn what_cannot_be_done_without_is_left_out() {
    let (left, words) = volumes(|it| it.accessible_topology.push(pairs(&["zone", "zone"])));
    assert_eq!(left.len(), 1);
    let said = "left out of the list: entries[0].volume.accessible-topology[1]: has the key \"zone\" twice";
    assert!(words[0].ends_with(said), "{words:?}");

    let mut undated = snapshot("s-1");
    undated.creation_time.seconds = i64::MAX;
    let large = Snapshot { size_bytes: u64::MAX, ..snapshot("s-2") };
    let (left, flaws) = told::<_, list_snapshots_response::Entry>(vec![undated, large, snapshot("s-3")]).unwrap();
    let left: Vec<_> =
        left.into_iter().map(|it| it.snapshot.unwrap()).map(|it| (it.snapshot_id, it.size_bytes)).collect();
    assert_eq!(left, [("s-2".to_owned(), 0), ("s-3".to_owned(), 1)]);
    assert_eq!(flaws.iter().map(|flaw| flaw.is_told).collect::<Vec<_>>(), [false, true]);
    assert_eq!(flaws[0].bad.field, "entries[0].creation-time.seconds");
}

#[test]
fn a_group_is_told_with_all_its_members() {
    let members = vec![Volume { capacity_bytes: u64::MAX, ..volume("v-1") }, volume("v-2")];
    let context = pairs(&["a", "a"]);
    let group = VolumeGroup { volume_group_id: "g".to_owned(), volume_group_context: context, volumes: members };
    let (left, flaws) = told::<_, list_volume_groups_response::Entry>(vec![group]).unwrap();
    let group = left[0].volume_group.as_ref().unwrap();
    assert_eq!((group.volumes.len(), group.volume_group_context.len()), (2, 0));
    assert_eq!((group.volumes[0].capacity_bytes, group.volumes[1].capacity_bytes), (0, 1));
    assert!(flaws.len() == 1 && flaws[0].is_told, "{flaws:?}");
}
