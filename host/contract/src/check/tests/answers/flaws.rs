//! Lists of which single entries break a rule.

use super::super::addons::volume_group;
use super::super::fixtures::*;
use crate::check::Check;
use crate::check::flaws::Flaw;
use drivebay_proto::pb::csi::v1::*;
use drivebay_proto::pb::volumegroup::{ListVolumeGroupsRequest, ListVolumeGroupsResponse, list_volume_groups_response};

fn sifted(spoil: impl FnOnce(&mut ListVolumesResponse)) -> (ListVolumesResponse, Vec<Flaw>) {
    let mut answer = volumes_listed();
    spoil(&mut answer);
    let flaws = list_volumes().sift(&mut answer, &everything());
    assert_eq!(list_volumes().check_answer(&answer, &everything()), Ok(()), "what is left keeps the contract");
    (answer, flaws)
}

fn first(answer: &mut ListVolumesResponse) -> &mut Volume {
    answer.entries[0].volume.as_mut().unwrap()
}

fn ids(answer: &ListVolumesResponse) -> Vec<&str> {
    answer.entries.iter().map(|entry| entry.volume.as_ref().unwrap().volume_id.as_str()).collect()
}

#[test]
fn a_volume_is_told_without_what_is_wrong_with_it() {
    let (answer, flaws) = sifted(|a| {
        first(a).volume_context = heavy(5_000);
        first(a).capacity_bytes = -1;
        a.entries[0].status.as_mut().unwrap().published_node_ids[0].clear();
    });
    assert_eq!(ids(&answer), ["v-1", "v-2"]);
    let volume = answer.entries[0].volume.as_ref().unwrap();
    assert_eq!((volume.capacity_bytes, volume.volume_context.len()), (0, 0));
    assert!(answer.entries[0].status.as_ref().unwrap().published_node_ids.is_empty());
    assert_eq!(answer.entries[1], volumes_listed().entries[1], "the other is as it was");
    let [flaw] = &flaws[..] else { panic!("{flaws:?}") };
    assert!(flaw.is_told);
    let words = flaw.to_string();
    assert!(
        words.starts_with(r#""v-1" is told without what is wrong with it: entries[0].volume.capacity-bytes: "#),
        "{words}"
    );
}

#[test]
fn what_no_client_could_name_is_left_out() {
    let (answer, flaws) = sifted(|a| first(a).volume_id.clear());
    assert_eq!((ids(&answer), flaws.len()), (vec!["v-2"], 1));
    assert!(
        !flaws[0].is_told
            && flaws[0].to_string().contains("left out of the list: entries[0].volume.volume-id: is required")
    );
    let (answer, flaws) = sifted(|a| a.entries[1] = a.entries[0].clone());
    assert_eq!((ids(&answer), flaws.len()), (vec!["v-1"], 1));
    assert_eq!(flaws[0].bad.field, "entries[1]");
    let (answer, flaws) = sifted(|a| a.entries[0].volume = None);
    assert_eq!((ids(&answer), flaws.len()), (vec!["v-2"], 1));
}

/// Its token and its size are no entry's.
#[test]
fn what_is_wrong_with_the_page_stays_wrong() {
    let mut answer = volumes_listed();
    answer.next_token = "t-1".into();
    assert_eq!(list_volumes().sift(&mut answer, &everything()), []);
    assert_eq!(list_volumes().check_answer(&answer, &everything()).unwrap_err().field, "next-token");
}

#[test]
fn a_snapshot_that_cannot_be_dated_is_left_out_unless_it_was_asked_for() {
    let entry = |id| list_snapshots_response::Entry { snapshot: Some(snapshot(id)) };
    let mut answer = ListSnapshotsResponse { entries: vec![entry("s-1"), entry("s-2")], next_token: String::new() };
    answer.entries[0].snapshot.as_mut().unwrap().creation_time = None;
    answer.entries[1].snapshot.as_mut().unwrap().size_bytes = -1;
    let one = ListSnapshotsRequest { snapshot_id: "s-1".into(), ..list_snapshots() };
    assert_eq!(one.sift(&mut answer.clone(), &everything()), [], "an empty list would say that it is gone");
    let flaws = list_snapshots().sift(&mut answer, &everything());
    assert_eq!(flaws.iter().map(|flaw| flaw.is_told).collect::<Vec<_>>(), [false, true]);
    let [left] = &answer.entries[..] else { panic!("{answer:?}") };
    assert_eq!(left.snapshot.as_ref().unwrap().size_bytes, 0);
}

#[test]
fn a_group_is_told_with_all_its_members() {
    let mut group = volume_group("g-1", &["v-1", "v-2"]);
    let spoiled = group.as_mut().unwrap();
    spoiled.volume_group_context = heavy(5_000);
    spoiled.volumes[0].volume_context = heavy(5_000);
    let entries = vec![list_volume_groups_response::Entry { volume_group: group }];
    let mut answer = ListVolumeGroupsResponse { entries, next_token: String::new() };
    let flaws = ListVolumeGroupsRequest::default().sift(&mut answer, &everything());
    assert!(flaws.len() == 1 && flaws[0].is_told, "{flaws:?}");
    assert_eq!(answer.entries[0].volume_group.as_ref().unwrap().volumes.len(), 2);
}

#[test]
fn a_volume_whose_faults_cannot_be_told_does_not_look_well() {
    let mut answer =
        ControllerListVolumeHealthResponse { entries: vec![health("v-1"), health("v-2")], next_token: String::new() };
    answer.entries[0].health_statuses[0].reason = "no camel".into();
    let flaws = list_health().sift(&mut answer, &everything());
    assert!(flaws.len() == 1 && !flaws[0].is_told, "{flaws:?}");
    assert_eq!(answer.entries, [health("v-2")]);
}
