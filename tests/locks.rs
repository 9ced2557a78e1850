//! Which calls exclude each other: every pair of changing CSI calls on one object, none on different
//! ones, and any number of readers of one source.

use std::future::Future;
use std::pin::Pin;

use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::group_controller_client::GroupControllerClient;
use drivebay_proto::pb::csi::v1::node_client::NodeClient;
use tokio::task::JoinSet;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::support::{TestHost, expect, requests};

type Answer = Pin<Box<dyn Future<Output = Result<(), Status>> + Send>>;

/// A call that changes something.
struct Change {
    /// The RPC, as ABORTED names it.
    rpc: &'static str,
    /// Operation and object under which the test backend knows it.
    operation: &'static str,
    object: &'static str,
    /// What it locks, and whether others may use it at the same time.
    locks: &'static [(&'static str, Use)],
    call: fn(Channel) -> Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Changes,
    Reads,
}

macro_rules! change {
    ($rpc:literal, $operation:literal $object:literal, $locks:expr, $client:ident.$call:ident($request:expr)) => {
        Change {
            rpc: $rpc,
            operation: $operation,
            object: $object,
            locks: &$locks,
            call: |channel| Box::pin(async move { $client::new(channel).$call($request).await.map(drop) }),
        }
    };
}

const VOLUME: (&str, Use) = ("volume \"vol-v\"", Use::Changes);
const SOURCE: (&str, Use) = ("volume \"vol-v\"", Use::Reads);
const SNAPSHOT: (&str, Use) = ("snapshot \"snap-s\"", Use::Changes);
const CUT: (&str, Use) = ("snapshot \"snap-s\"", Use::Reads);

/// Every RPC of `csi.v1` that changes something, on volume `vol-v` or on what hangs on it.
fn changes() -> Vec<Change> {
    vec![
        change!("CreateVolume", "create-volume" "n", [("volume name \"n\"", Use::Changes)],
            ControllerClient.create_volume(requests::create("n"))),
        change!("CreateVolume", "create-volume" "clone", [("volume name \"clone\"", Use::Changes), SOURCE],
            ControllerClient.create_volume(requests::clone("clone", "vol-v"))),
        change!("CreateVolume", "create-volume" "restore", [("volume name \"restore\"", Use::Changes), CUT],
            ControllerClient.create_volume(requests::restore("restore", "snap-s"))),
        change!("DeleteVolume", "delete-volume" "vol-v", [VOLUME], ControllerClient.delete_volume(requests::delete("vol-v"))),
        change!("ControllerPublishVolume", "attach-volume" "vol-v", [VOLUME],
            ControllerClient.controller_publish_volume(requests::attach("vol-v"))),
        change!("ControllerUnpublishVolume", "detach-volume" "vol-v", [VOLUME],
            ControllerClient.controller_unpublish_volume(requests::detach("vol-v"))),
        change!("ControllerModifyVolume", "modify-volume" "vol-v", [VOLUME],
            ControllerClient.controller_modify_volume(requests::modify("vol-v"))),
        change!("ControllerExpandVolume", "expand-volume" "vol-v", [VOLUME],
            ControllerClient.controller_expand_volume(requests::expand("vol-v", 2 * requests::GIB))),
        change!("CreateSnapshot", "create-snapshot" "m", [("snapshot name \"m\"", Use::Changes), SOURCE],
            ControllerClient.create_snapshot(requests::snapshot("m", "vol-v"))),
        change!("DeleteSnapshot", "delete-snapshot" "snap-s", [SNAPSHOT],
            ControllerClient.delete_snapshot(requests::delete_snapshot("snap-s"))),
        change!("CreateVolumeGroupSnapshot", "create-group-snapshot" "g", [("group snapshot name \"g\"", Use::Changes), SOURCE],
            GroupControllerClient.create_volume_group_snapshot(requests::group_snapshot("g", &["vol-v"]))),
        change!("DeleteVolumeGroupSnapshot", "delete-group-snapshot" "group-h", [("group snapshot \"group-h\"", Use::Changes), SNAPSHOT],
            GroupControllerClient.delete_volume_group_snapshot(requests::delete_group_snapshot("group-h", &["snap-s"]))),
        change!("NodeStageVolume", "stage-volume" "vol-v", [VOLUME], NodeClient.node_stage_volume(requests::stage("vol-v"))),
        change!("NodeUnstageVolume", "unstage-volume" "vol-v", [VOLUME], NodeClient.node_unstage_volume(requests::unstage("vol-v"))),
        change!("NodePublishVolume", "publish-volume" "vol-v", [VOLUME], NodeClient.node_publish_volume(requests::publish("vol-v"))),
        change!("NodeUnpublishVolume", "unpublish-volume" "vol-v", [VOLUME],
            NodeClient.node_unpublish_volume(requests::unpublish("vol-v"))),
        change!("NodeExpandVolume", "node-expand-volume" "vol-v", [VOLUME],
            NodeClient.node_expand_volume(requests::node_expand("vol-v"))),
    ]
}

/// The object in conflict, if there is one.
fn conflict(held: &Change, second: &Change) -> Option<&'static str> {
    let clash = |a: &(&str, Use), b: &(&str, Use)| a.0 == b.0 && (a.1 == Use::Changes || b.1 == Use::Changes);
    held.locks.iter().find(|a| second.locks.iter().any(|b| clash(a, b))).map(|(object, _)| *object)
}

/// Puts volume and snapshot there again, whatever the call before did to them.
async fn prepare(host: &TestHost) {
    let separator = '\u{1f}';
    let volume = format!("{}{separator}none{separator}{separator}made by the test", requests::GIB);
    let snapshot = format!("vol-v{separator}{}{separator}1{separator}", requests::GIB);
    host.control(&[("set:volume/vol-v", &volume), ("set:snapshot/snap-s", &snapshot), ("unset:gate/g", "")]).await;
}

#[tokio::test]
async fn every_pair_of_changes() {
    let host = TestHost::tester().await;
    let channel = host.connect().await;
    let all = changes();
    for (round, held) in all.iter().enumerate() {
        prepare(&host).await;
        host.instruct(held.operation, held.object, "hold g").await;
        let mut first = JoinSet::new();
        first.spawn((held.call)(channel.clone()));
        host.log.wait("holding g", round + 1).await;

        for second in all.iter().filter(|second| conflict(held, second).is_some()) {
            let object = conflict(held, second).unwrap();
            let before = host.entries(&format!("{} {}", second.operation, second.object));
            let answer = (second.call)(channel.clone()).await;
            let status = answer.expect_err(&format!("{} beside {}", second.rpc, held.rpc));
            expect(&status, Code::Aborted, &format!("{} is pending for {object}", held.rpc));
            assert_eq!(host.entries(&format!("{} {}", second.operation, second.object)), before, "it was not called");
        }
        host.open("g").await;
        first.join_next().await.unwrap().unwrap().unwrap_or_else(|status| panic!("{}: {status:?}", held.rpc));
        host.control(&[(&format!("unset:act/{}/{}", held.operation, held.object), "")]).await;
    }
}

#[tokio::test]
async fn what_shares_nothing_or_only_reads_goes_together() {
    let host = TestHost::tester().await;
    let channel = host.connect().await;
    let all = changes();
    for held in &all {
        prepare(&host).await;
        let free = |second: &&Change| second.rpc != held.rpc && conflict(held, second).is_none();
        for second in all.iter().filter(free) {
            prepare(&host).await;
            host.instruct(held.operation, held.object, "times 1 hold g").await;
            let before = host.log.with("holding g").len();
            let mut first = JoinSet::new();
            first.spawn((held.call)(channel.clone()));
            host.log.wait("holding g", before + 1).await;
            let answer = (second.call)(channel.clone()).await;
            answer.unwrap_or_else(|status| panic!("{} beside {}: {status:?}", second.rpc, held.rpc));
            host.open("g").await;
            first.join_next().await.unwrap().unwrap().unwrap_or_else(|status| panic!("{}: {status:?}", held.rpc));
        }
    }
}

#[tokio::test]
async fn different_objects_never_wait_for_each_other() {
    let host = TestHost::tester().await;
    host.create(&["a", "b"]).await;
    host.instruct("delete-volume", "vol-a", "hold g").await;
    let channel = host.connect().await;
    let mut held = JoinSet::new();
    let mut client = ControllerClient::new(channel.clone());
    held.spawn(async move { client.delete_volume(requests::delete("vol-a")).await.map(drop) });
    host.entered("delete-volume vol-a", 1).await;

    let mut client = ControllerClient::new(channel.clone());
    client.create_volume(requests::create("c")).await.unwrap();
    client.create_snapshot(requests::snapshot("s", "vol-b")).await.unwrap();
    client.controller_expand_volume(requests::expand("vol-b", 2 * requests::GIB)).await.unwrap();
    NodeClient::new(channel).node_publish_volume(requests::publish("vol-b")).await.unwrap();
    client.delete_volume(requests::delete("vol-b")).await.unwrap();
    assert!(held.try_join_next().is_none(), "the first one is still held");
    host.open("g").await;
    held.join_next().await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_hundred_restores_of_one_snapshot() {
    let host = TestHost::tester().await;
    host.create(&["v"]).await;
    let channel = host.connect().await;
    ControllerClient::new(channel.clone()).create_snapshot(requests::snapshot("s", "vol-v")).await.unwrap();
    let mut restores = JoinSet::new();
    // The budget of changes is 96; what finds no place comes again, as every client does.
    for n in 0..100 {
        let mut client = ControllerClient::new(channel.clone());
        restores.spawn(async move {
            loop {
                match client.create_volume(requests::restore(&format!("r{n}"), "snap-s")).await {
                    Err(status) if status.message().contains("too many calls") => tokio::task::yield_now().await,
                    answer => return answer.unwrap().into_inner().volume.unwrap().volume_id,
                }
            }
        });
    }
    let mut ids: Vec<_> = restores.join_all().await;
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 100);
}
