//! Every dialect of every request, and that folding twice is folding once.
#![allow(deprecated, reason = "older clients still send deprecated fields")]
#![allow(clippy::unnecessary_wraps, reason = "written as the fields take them")]

use super::Fold;
use drivebay_proto::pb::replication::replication_source::{
    Type, VolumeGroupSource, VolumeSnapshotSource, VolumeSource,
};
use drivebay_proto::pb::replication::*;
use drivebay_proto::pb::volumegroup::{CreateVolumeGroupRequest, ModifyVolumeGroupMembershipRequest};

fn volume(id: &str) -> Option<ReplicationSource> {
    Some(ReplicationSource { r#type: Some(Type::Volume(VolumeSource { volume_id: id.into() })) })
}

fn group(id: &str) -> Option<ReplicationSource> {
    Some(ReplicationSource { r#type: Some(Type::Volumegroup(VolumeGroupSource { volume_group_id: id.into() })) })
}

fn snapshot(id: &str) -> Option<ReplicationSource> {
    let source = VolumeSnapshotSource { volume_snapshot_id: id.into() };
    Some(ReplicationSource { r#type: Some(Type::Volumesnapshot(source)) })
}

fn empty() -> Option<ReplicationSource> {
    Some(ReplicationSource { r#type: None })
}

/// What the client sent in both fields, and the source that is meant (D2, R-05, R-35, R-36).
fn dialects() -> Vec<(&'static str, Option<ReplicationSource>, Option<ReplicationSource>)> {
    vec![
        ("v", None, volume("v")),
        ("", volume("v"), volume("v")),
        ("v", volume("v"), volume("v")),
        ("other", volume("v"), volume("v")),
        ("", group("g"), group("g")),
        ("v", group("g"), group("g")),
        ("", snapshot("s"), snapshot("s")),
        ("v", snapshot("s"), snapshot("s")),
        ("v", empty(), empty()),
        ("v", volume(""), volume("")),
        ("", None, None),
    ]
}

macro_rules! folds {
    ($($test:ident: $request:ident;)*) => {$(
        #[test]
        fn $test() {
            for (volume_id, sent, meant) in dialects() {
                let request = $request { volume_id: volume_id.into(), replication_source: sent, ..Default::default() };
                let folded = request.fold();
                assert_eq!(folded.replication_source, meant, "{volume_id}");
                assert_eq!(folded.volume_id, "", "nothing may look at it (T8)");
                assert_eq!(folded.clone().fold(), folded);
            }
        }
    )*};
}

folds! {
    enable: EnableVolumeReplicationRequest;
    disable: DisableVolumeReplicationRequest;
    promote: PromoteVolumeRequest;
    demote: DemoteVolumeRequest;
    resync: ResyncVolumeRequest;
    info: GetVolumeReplicationInfoRequest;
}

/// What is no matter of dialect is left alone (R-37, R-42).
#[test]
fn everything_else_stays() {
    let request = PromoteVolumeRequest {
        volume_id: "v".into(),
        force: true,
        parameters: [("k".to_owned(), "v".to_owned())].into(),
        secrets: [("s".to_owned(), "x".to_owned())].into(),
        replication_id: "r".into(),
        replication_source: None,
    };
    let expected =
        PromoteVolumeRequest { volume_id: String::new(), replication_source: volume("v"), ..request.clone() };
    assert_eq!(request.fold(), expected);
}

#[test]
fn members_are_a_set() {
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let volume_ids = ids(&["b", "a", "b", "c", "a"]);
    let create = CreateVolumeGroupRequest { volume_ids: volume_ids.clone(), ..Default::default() };
    let modify = ModifyVolumeGroupMembershipRequest { volume_ids, ..Default::default() };
    assert_eq!(create.fold().volume_ids, ids(&["b", "a", "c"]));
    assert_eq!(modify.fold().volume_ids, ids(&["b", "a", "c"]));
}
