//! Answers about snapshots, single and in groups.

use super::super::fixtures::*;
use super::super::{bad, good};
use crate::check::Check;
use drivebay_proto::pb::csi::v1::*;

fn cut(answer: &mut CreateSnapshotResponse) -> &mut Snapshot {
    answer.snapshot.as_mut().unwrap()
}

#[test]
fn a_snapshot_cut_is_of_the_volume_asked_for() {
    let answer = CreateSnapshotResponse { snapshot: Some(snapshot("s-1")) };
    bad(
        &create_snapshot(),
        &answer,
        &everything(),
        &[
            ("snapshot", |a| a.snapshot = None),
            ("snapshot.snapshot-id", |a| cut(a).snapshot_id.clear()),
            ("snapshot.source-volume-id", |a| {
                cut(a).source_volume_id.clear();
            }),
            ("snapshot.source-volume-id", |a| {
                cut(a).source_volume_id = "v-2".into();
            }),
            ("snapshot.creation-time", |a| cut(a).creation_time = None),
            ("snapshot.creation-time", |a| {
                cut(a).creation_time.as_mut().unwrap().seconds = 0;
            }),
            ("snapshot.creation-time", |a| {
                cut(a).creation_time.as_mut().unwrap().seconds = -1;
            }),
            ("snapshot.creation-time", |a| {
                cut(a).creation_time.as_mut().unwrap().nanos = -1;
            }),
            ("snapshot.creation-time", |a| {
                cut(a).creation_time.as_mut().unwrap().nanos = 1_000_000_000;
            }),
            ("snapshot.size-bytes", |a| cut(a).size_bytes = -1),
            ("snapshot.group-snapshot-id", |a| {
                cut(a).group_snapshot_id = "\u{1}".into();
            }),
        ],
    );
    good(&create_snapshot(), &answer, &everything(), &[|a| cut(a).ready_to_use = false, |a| cut(a).size_bytes = 0]);
}

#[test]
fn a_snapshot_looked_up_is_the_one_asked_for() {
    let answer = GetSnapshotResponse { snapshot: Some(snapshot("s-1")) };
    bad(
        &get_snapshot(),
        &answer,
        &everything(),
        &[
            ("snapshot", |a| a.snapshot = None),
            ("snapshot.source-volume-id", |a| {
                a.snapshot.as_mut().unwrap().source_volume_id.clear();
            }),
            ("snapshot.snapshot-id", |a| {
                a.snapshot.as_mut().unwrap().snapshot_id = "s-2".into();
            }),
        ],
    );
}

#[test]
fn a_page_of_snapshots_holds_what_was_asked() {
    let entry = |id| list_snapshots_response::Entry { snapshot: Some(snapshot(id)) };
    let answer = ListSnapshotsResponse { entries: vec![entry("s-1"), entry("s-2")], next_token: "t".into() };
    bad(
        &list_snapshots(),
        &answer,
        &everything(),
        &[
            ("entries", |a| {
                a.entries.push(list_snapshots_response::Entry { snapshot: Some(snapshot("s-3")) });
            }),
            ("entries", |a| a.entries[1] = a.entries[0].clone()),
            ("entries[0].snapshot.size-bytes", |a| {
                a.entries[0].snapshot.as_mut().unwrap().size_bytes = -1;
            }),
            ("entries[0].snapshot", |a| a.entries[0].snapshot = None),
            ("entries[1].snapshot.source-volume-id", |a| {
                a.entries[1].snapshot.as_mut().unwrap().source_volume_id = "v-2".into();
            }),
        ],
    );
    let mut one = list_snapshots();
    one.snapshot_id = "s-1".into();
    let refusal = one.check_answer(&answer, &everything()).unwrap_err();
    assert_eq!(refusal.field, "entries[1].snapshot.snapshot-id");
}

fn cut_group(answer: &mut CreateVolumeGroupSnapshotResponse) -> &mut VolumeGroupSnapshot {
    answer.group_snapshot.as_mut().unwrap()
}

#[test]
fn a_group_snapshot_is_whole() {
    let answer = CreateVolumeGroupSnapshotResponse { group_snapshot: group() };
    bad(
        &create_group(),
        &answer,
        &everything(),
        &[
            ("group-snapshot", |a| a.group_snapshot = None),
            ("group-snapshot.group-snapshot-id", |a| {
                cut_group(a).group_snapshot_id.clear();
            }),
            ("group-snapshot.creation-time", |a| {
                cut_group(a).creation_time = None;
            }),
            ("group-snapshot.snapshots", |a| {
                cut_group(a).snapshots.clear();
            }),
            ("group-snapshot.snapshots[1].group-snapshot-id", |a| {
                cut_group(a).snapshots[1].group_snapshot_id = "g-2".into();
            }),
            ("group-snapshot.snapshots[0].creation-time", |a| {
                cut_group(a).snapshots[0].creation_time = None;
            }),
            ("group-snapshot.snapshots", |a| {
                cut_group(a).snapshots[1].snapshot_id = "s-1".into();
            }),
            ("group-snapshot.snapshots", |a| {
                cut_group(a).snapshots[1].source_volume_id = "v-1".into();
            }),
            ("group-snapshot.snapshots", |a| {
                cut_group(a).snapshots[1].source_volume_id = "v-3".into();
            }),
            ("group-snapshot.snapshots", |a| {
                drop(cut_group(a).snapshots.pop());
            }),
            ("group-snapshot.ready-to-use", |a| {
                cut_group(a).ready_to_use = false;
            }),
            ("group-snapshot.ready-to-use", |a| {
                cut_group(a).snapshots[0].ready_to_use = false;
            }),
        ],
    );
    good(
        &create_group(),
        &answer,
        &everything(),
        &[
            |a| cut_group(a).snapshots.reverse(),
            |a| {
                cut_group(a).snapshots[0].ready_to_use = false;
                cut_group(a).ready_to_use = false;
            },
        ],
    );
}

/// T2: a request without members takes any.
#[test]
fn a_group_snapshot_looked_up_has_the_members_named() {
    let answer = GetVolumeGroupSnapshotResponse { group_snapshot: group() };
    bad(
        &get_group(),
        &answer,
        &everything(),
        &[
            ("group-snapshot", |a| a.group_snapshot = None),
            ("group-snapshot.creation-time", |a| {
                a.group_snapshot.as_mut().unwrap().creation_time = None;
            }),
            // two members of one volume
            ("group-snapshot.snapshots", |a| {
                a.group_snapshot.as_mut().unwrap().snapshots[1].source_volume_id = "v-1".into();
            }),
            ("group-snapshot.snapshots", |a| {
                a.group_snapshot.as_mut().unwrap().snapshots[0].snapshot_id = "s-3".into();
            }),
            ("group-snapshot.group-snapshot-id", |a| {
                let group = a.group_snapshot.as_mut().unwrap();
                group.group_snapshot_id = "g-2".into();
                group.snapshots.iter_mut().for_each(|s| s.group_snapshot_id = "g-2".into());
            }),
        ],
    );
    let mut nameless = get_group();
    nameless.snapshot_ids.clear();
    good(
        &nameless,
        &answer,
        &everything(),
        &[|a| {
            a.group_snapshot.as_mut().unwrap().snapshots[0].snapshot_id = "s-3".into();
        }],
    );
}
