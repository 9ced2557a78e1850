//! The requests and answers of csi-addons, each with what is right and what breaks one rule.
#![allow(clippy::unnecessary_wraps, reason = "written as the fields take them")]

use prost_types::Timestamp;

use super::{Change, accepted, bad, fixtures, good, refused};
use crate::check::Check;
use crate::{Feature, Interface, InvalidKind};
use drivebay_proto::pb::csi::v1::volume_capability::access_mode::Mode;
use drivebay_proto::pb::encryptionkeyrotation::{EncryptionKeyRotateRequest, EncryptionKeyRotateResponse};
use drivebay_proto::pb::fence::*;
use drivebay_proto::pb::reclaimspace::*;
use drivebay_proto::pb::replication::replication_destination::{
    self as there, VolumeDestination, VolumeGroupDestination,
};
use drivebay_proto::pb::replication::replication_source::{
    Type, VolumeGroupSource, VolumeSnapshotSource, VolumeSource,
};
use drivebay_proto::pb::replication::*;
use drivebay_proto::pb::volumegroup::*;

fn source(kind: Type) -> Option<ReplicationSource> {
    Some(ReplicationSource { r#type: Some(kind) })
}

fn volume(id: &str) -> Option<ReplicationSource> {
    source(Type::Volume(VolumeSource { volume_id: id.into() }))
}

fn group(id: &str) -> Option<ReplicationSource> {
    source(Type::Volumegroup(VolumeGroupSource { volume_group_id: id.into() }))
}

fn snapshot(id: &str) -> Option<ReplicationSource> {
    source(Type::Volumesnapshot(VolumeSnapshotSource { volume_snapshot_id: id.into() }))
}

fn promote() -> PromoteVolumeRequest {
    PromoteVolumeRequest {
        force: true,
        parameters: fixtures::map("mode", "async"),
        secrets: fixtures::map("user", "x"),
        replication_id: "r-1".into(),
        replication_source: volume("v-1"),
        ..Default::default()
    }
}

/// R-04 to R-06, R-38. The older field was folded away before; here nobody looks at it (T8).
#[test]
#[allow(deprecated, reason = "older clients still send deprecated fields")]
fn t8_sources_of_replication() {
    let able = fixtures::everything();
    refused(
        &promote(),
        &able,
        &[
            ("replication_source", |r| r.replication_source = None),
            ("replication_source.type", |r| r.replication_source = Some(ReplicationSource { r#type: None })),
            ("replication_source.volume.volume_id", |r| r.replication_source = volume("")),
            ("replication_source.volume.volume_id", |r| r.replication_source = volume(&"v".repeat(129))),
            ("replication_source.volume.volume_id", |r| r.replication_source = volume("a\nb")),
            ("replication_source.volumegroup.volume_group_id", |r| r.replication_source = group("")),
            ("replication_source.volumesnapshot.volume_snapshot_id", |r| r.replication_source = snapshot("")),
            ("replication_id", |r| r.replication_id = "r".repeat(129)),
            ("parameters", |r| r.parameters = fixtures::heavy(1 << 20)),
            ("secrets", |r| r.secrets = fixtures::map("no word", "x")),
        ],
    );
    let fine: [Change<PromoteVolumeRequest>; 5] = [
        |r| r.replication_source = group("g-1"),
        |r| r.replication_source = snapshot("s-1"),
        |r| r.replication_id.clear(),
        |r| r.volume_id = "\u{0}".repeat(500),
        |r| r.parameters = fixtures::heavy(5_000),
    ];
    accepted(&promote(), &able, &fine);
}

/// D12: there is a code of its own for a kind of source that is not served.
#[test]
fn d12_kinds_of_sources_that_a_backend_lacks() {
    let cases = [
        (fixtures::without(Feature::SnapshotReplication), snapshot("s-1"), "replication_source.volumesnapshot"),
        (fixtures::without_interface(Interface::VolumeGroups), group("g-1"), "replication_source.volumegroup"),
    ];
    for (able, replication_source, field) in cases {
        let invalid = PromoteVolumeRequest { replication_source, ..promote() }.check(&able).unwrap_err();
        assert_eq!((invalid.kind, invalid.field.as_str()), (InvalidKind::Unsupported, field));
    }
    let destination =
        GetReplicationDestinationInfoRequest { replication_source: snapshot("s-1"), ..Default::default() };
    let invalid = destination.check(&fixtures::everything()).unwrap_err();
    assert_eq!((invalid.kind, invalid.field.as_str()), (InvalidKind::Unsupported, "replication_source"));
}

#[test]
fn how_a_replication_does() {
    let request = GetVolumeReplicationInfoRequest { replication_source: volume("v-1"), ..Default::default() };
    let answer = GetVolumeReplicationInfoResponse {
        last_sync_time: Some(Timestamp { seconds: 1_700_000_000, nanos: 5 }),
        last_sync_duration: None,
        last_sync_bytes: 0,
        status: 2,
        status_message: "late".into(),
    };
    bad(
        &request,
        &answer,
        &fixtures::everything(),
        &[
            ("last-sync-time", |a| a.last_sync_time = None),
            ("last-sync-time", |a| a.last_sync_time = Some(Timestamp::default())),
            ("last-sync-bytes", |a| a.last_sync_bytes = -1),
            ("status", |a| a.status = 9),
            ("status-message", |a| a.status_message = "x".repeat(1_025)),
        ],
    );
    good(&request, &answer, &fixtures::everything(), &[|a| a.status = 0, |a| a.last_sync_bytes = i64::MAX]);
}

fn to_group(ids: &[(&str, &str)]) -> Option<ReplicationDestination> {
    let volume_ids = ids.iter().map(|(here, there)| ((*here).to_owned(), (*there).to_owned())).collect();
    let group = VolumeGroupDestination { volume_group_id: "g-2".into(), volume_ids };
    Some(ReplicationDestination { r#type: Some(there::Type::Volumegroup(group)) })
}

fn to_volume(id: &str) -> Option<ReplicationDestination> {
    let volume = VolumeDestination { volume_id: id.into() };
    Some(ReplicationDestination { r#type: Some(there::Type::Volume(volume)) })
}

#[test]
fn where_a_replication_leads() {
    const FIELD: &str = "replication-destination";
    let able = fixtures::everything();
    let request = GetReplicationDestinationInfoRequest { replication_source: group("g-1"), ..Default::default() };
    let answer = GetReplicationDestinationInfoResponse { replication_destination: to_group(&[("a", "b"), ("c", "d")]) };
    bad(
        &request,
        &answer,
        &able,
        &[
            (FIELD, |a| a.replication_destination = None),
            ("replication-destination.type", |a| a.replication_destination = to_volume("v-2")),
            ("replication-destination.type", |a| a.replication_destination = Some(ReplicationDestination::default())),
            ("replication-destination.volumegroup.volume-ids", |a| {
                a.replication_destination = to_group(&[("a", "b"), ("c", "b")]);
            }),
            ("replication-destination.volumegroup.volume-ids", |a| a.replication_destination = to_group(&[("a", "")])),
        ],
    );
    good(&request, &answer, &able, &[|a| a.replication_destination = to_group(&[])]);
    let request = GetReplicationDestinationInfoRequest { replication_source: volume("v-1"), ..Default::default() };
    let answer = GetReplicationDestinationInfoResponse { replication_destination: to_volume("v-2") };
    bad(
        &request,
        &answer,
        &able,
        &[
            ("replication-destination.type", |a| a.replication_destination = to_group(&[])),
            ("replication-destination.volume.volume-id", |a| a.replication_destination = to_volume("")),
        ],
    );
}

pub(super) fn volume_group(id: &str, volumes: &[&str]) -> Option<VolumeGroup> {
    Some(VolumeGroup {
        volume_group_id: id.into(),
        volume_group_context: fixtures::map("k", "v"),
        volumes: volumes.iter().map(|id| fixtures::volume(id)).collect(),
    })
}

/// What `change` makes of the group in an answer.
fn inside(group: &mut Option<VolumeGroup>, change: impl FnOnce(&mut VolumeGroup)) {
    change(group.as_mut().unwrap());
}

#[test]
fn groups_that_are_made_and_changed() {
    let able = fixtures::everything();
    let create = CreateVolumeGroupRequest {
        name: "g".into(),
        parameters: fixtures::map("k", "v"),
        secrets: fixtures::map("user", "x"),
        volume_ids: vec!["v-1".into()],
    };
    refused(
        &create,
        &able,
        &[
            ("name", |r| r.name.clear()),
            ("name", |r| r.name = "a\u{1}".into()),
            ("name", |r| r.name = "n".repeat(129)),
            ("volume_ids[1]", |r| r.volume_ids.push(String::new())),
            ("parameters", |r| r.parameters = fixtures::heavy(1 << 20)),
            ("secrets", |r| r.secrets = fixtures::map("", "x")),
        ],
    );
    accepted(&create, &able, &[|r| r.volume_ids.clear()]);
    let made = CreateVolumeGroupResponse { volume_group: volume_group("g-1", &["v-1"]) };
    bad(
        &create,
        &made,
        &able,
        &[
            ("volume-group", |a| a.volume_group = None),
            ("volume-group.volume-group-id", |a| inside(&mut a.volume_group, |g| g.volume_group_id.clear())),
            ("volume-group.volume-group-context", |a| {
                inside(&mut a.volume_group, |g| g.volume_group_context = fixtures::heavy(4_096));
            }),
            ("volume-group.volumes", |a| inside(&mut a.volume_group, |g| g.volumes.push(fixtures::volume("v-1")))),
            ("volume-group.volumes[0].volume-id", |a| inside(&mut a.volume_group, |g| g.volumes[0].volume_id.clear())),
        ],
    );
    good(&create, &made, &able, &[|a| a.volume_group = volume_group("g-1", &["v-7", "v-8"])]);

    let modify = ModifyVolumeGroupMembershipRequest {
        volume_group_id: "g-1".into(),
        volume_ids: vec!["v-1".into(), "v-2".into()],
        ..Default::default()
    };
    refused(
        &modify,
        &able,
        &[("volume_group_id", |r| r.volume_group_id.clear()), ("volume_ids[0]", |r| r.volume_ids[0].clear())],
    );
    let changed = ModifyVolumeGroupMembershipResponse { volume_group: volume_group("g-1", &["v-2", "v-1"]) };
    bad(
        &modify,
        &changed,
        &able,
        &[
            ("volume-group", |a| a.volume_group = None),
            ("volume-group.volume-group-id", |a| a.volume_group = volume_group("g-2", &["v-1", "v-2"])),
            ("volume-group.volumes", |a| a.volume_group = volume_group("g-1", &["v-1"])),
            ("volume-group.volumes", |a| a.volume_group = volume_group("g-1", &["v-1", "v-2", "v-3"])),
        ],
    );
}

#[test]
fn groups_that_are_looked_up_and_deleted() {
    let able = fixtures::everything();
    let delete = DeleteVolumeGroupRequest { volume_group_id: "g-1".into(), ..Default::default() };
    refused(&delete, &able, &[("volume_group_id", |r| r.volume_group_id.clear())]);
    accepted(&delete, &able, &[|r| r.volume_group_id = "../\u{1}".into()]);
    let get = ControllerGetVolumeGroupRequest { volume_group_id: "g-1".into(), ..Default::default() };
    refused(&get, &able, &[("volume_group_id", |r| r.volume_group_id = "a\0".into())]);
    let found = ControllerGetVolumeGroupResponse { volume_group: volume_group("g-1", &[]) };
    bad(
        &get,
        &found,
        &able,
        &[
            ("volume-group", |a| a.volume_group = None),
            ("volume-group.volume-group-id", |a| a.volume_group = volume_group("g-2", &[])),
        ],
    );
    let list = ListVolumeGroupsRequest { max_entries: 2, starting_token: "t".into(), ..Default::default() };
    refused(&list, &able, &[("max_entries", |r| r.max_entries = -1)]);
    assert_eq!(ListVolumeGroupsRequest::default().bounded().max_entries, 1_000);
    let entry = |id: &str| list_volume_groups_response::Entry { volume_group: volume_group(id, &["v-1"]) };
    let page = ListVolumeGroupsResponse { entries: vec![entry("g-1"), entry("g-2")], next_token: "u".into() };
    bad(
        &list,
        &page,
        &able,
        &[
            ("entries", |a| a.entries.push(a.entries[0].clone())),
            ("entries", |a| a.entries[1] = a.entries[0].clone()),
            ("entries[0].volume-group", |a| a.entries[0].volume_group = None),
            ("next-token", |a| a.next_token = "t".into()),
        ],
    );
}

#[test]
fn networks() {
    let able = fixtures::everything();
    let cidr = |text: &str| Cidr { cidr: text.into() };
    let fence =
        FenceClusterNetworkRequest { cidrs: vec![cidr("192.0.2.0/24"), cidr("2001:db8::1/128")], ..Default::default() };
    refused(
        &fence,
        &able,
        &[
            ("cidrs", |r| r.cidrs.clear()),
            ("cidrs", |r| r.cidrs = vec![r.cidrs[0].clone(); 10_001]),
            ("cidrs[0].cidr", |r| r.cidrs[0].cidr.clear()),
            ("cidrs[0].cidr", |r| r.cidrs[0].cidr = "192.0.2.1".into()),
            ("cidrs[0].cidr", |r| r.cidrs[0].cidr = "192.0.2.0/33".into()),
            ("cidrs[0].cidr", |r| r.cidrs[0].cidr = "192.0.2.0/08 ".into()),
            ("cidrs[0].cidr", |r| r.cidrs[0].cidr = "192.0.2.0/08".into()),
            ("cidrs[0].cidr", |r| r.cidrs[0].cidr = "192.0.2.0/+8".into()),
            ("cidrs[1].cidr", |r| r.cidrs[1].cidr = "2001:db8::/129".into()),
            ("cidrs[1].cidr", |r| r.cidrs[1].cidr = "fe80::1%eth0/64".into()),
        ],
    );
    accepted(&fence, &able, &[|r| r.cidrs[0].cidr = "192.0.2.7/0".into(), |r| r.cidrs[1].cidr = "::/0".into()]);
    let unfence = UnfenceClusterNetworkRequest { cidrs: fence.cidrs, ..Default::default() };
    refused(&unfence, &able, &[("cidrs", |r| r.cidrs.clear())]);
    let fenced = ListClusterFenceResponse { cidrs: vec![cidr("192.0.2.0/24")] };
    bad(&ListClusterFenceRequest::default(), &fenced, &able, &[("cidrs[0].cidr", |a| a.cidrs[0].cidr = "all".into())]);
    let client = ClientDetails { id: "n-1".into(), addresses: vec![cidr("192.0.2.7/32")] };
    let clients = GetFenceClientsResponse { clients: vec![client] };
    bad(
        &GetFenceClientsRequest::default(),
        &clients,
        &able,
        &[
            ("clients[0].id", |a| a.clients[0].id.clear()),
            ("clients[0].addresses", |a| a.clients[0].addresses.clear()),
            ("clients[0].addresses[0].cidr", |a| a.clients[0].addresses[0].cidr = "192.0.2.7".into()),
            ("clients", |a| a.clients.push(a.clients[0].clone())),
        ],
    );
}

/// T3: what the sidecar in the field sends, and what nobody may.
#[test]
fn t3_upkeep_takes_what_the_sidecar_sends() {
    let able = crate::Abilities::new(Interface::ALL, []);
    let reclaim = NodeReclaimSpaceRequest {
        volume_id: "v-1".into(),
        staging_target_path: "/staging".into(),
        volume_capability: Some(fixtures::in_mode(Mode::SingleNodeMultiWriter.into())),
        ..Default::default()
    };
    refused(
        &reclaim,
        &able,
        &[
            ("volume_id", |r| r.volume_id.clear()),
            ("volume_path", |r| r.staging_target_path.clear()),
            ("volume_path", |r| r.volume_path = "a\0".into()),
            ("staging_target_path", |r| r.staging_target_path = "/".repeat(4_097)),
            ("volume_capability.access_type", |r| r.volume_capability.as_mut().unwrap().access_type = None),
        ],
    );
    accepted(&reclaim, &able, &[|r| r.volume_path = "relative".into(), |r| r.volume_capability = None]);
    assert_eq!(reclaim.paths(), ["/staging"]);
    let given = NodeReclaimSpaceResponse {
        pre_usage: Some(StorageConsumption { usage_bytes: 2 }),
        post_usage: Some(StorageConsumption { usage_bytes: 0 }),
    };
    bad(
        &reclaim,
        &given,
        &able,
        &[("post-usage.usage-bytes", |a| a.post_usage = Some(StorageConsumption { usage_bytes: -1 }))],
    );
    good(&reclaim, &given, &able, &[|a| (a.pre_usage, a.post_usage) = (None, None)]);

    let controller = ControllerReclaimSpaceRequest { volume_id: "v-1".into(), ..Default::default() };
    refused(&controller, &able, &[("volume_id", |r| r.volume_id.clear())]);

    let mut capability = fixtures::in_mode(Mode::SingleNodeMultiWriter.into());
    capability.access_type = None;
    let rotate = EncryptionKeyRotateRequest {
        volume_id: "v-1".into(),
        encryption_key: "k".into(),
        volume_capability: Some(capability),
        ..Default::default()
    };
    refused(
        &rotate,
        &able,
        &[
            ("volume_id", |r| r.volume_id.clear()),
            ("volume_path", |r| r.volume_path = "a\0".into()),
            ("volume_capability.access_mode", |r| r.volume_capability.as_mut().unwrap().access_mode = None),
            ("encryption_key", |r| r.encryption_key = "k".repeat((1 << 20) + 1)),
        ],
    );
    let fine: [Change<EncryptionKeyRotateRequest>; 3] =
        [|r| r.volume_capability = None, |r| r.encryption_key.clear(), |r| r.volume_path = "/v".into()];
    accepted(&rotate, &able, &fine);
    good(&rotate, &EncryptionKeyRotateResponse {}, &able, &[]);
}
