//! Where a strict reading of the specification breaks real clients: what they send is let through to
//! the backend, over the real socket. The rules themselves are tested in `host/contract/src/check`.

use drivebay_proto::pb::csi::v1::controller_service_capability::{Type as Kind, rpc::Type as Rpc};
use drivebay_proto::pb::csi::v1::{
    ControllerGetCapabilitiesRequest, ControllerGetVolumeRequest, ControllerPublishVolumeRequest, CreateVolumeRequest,
    GetVolumeGroupSnapshotRequest, ListVolumesRequest, NodeExpandVolumeRequest, NodeGetVolumeStatsRequest,
    NodePublishVolumeRequest,
};
use tonic::Code;

use crate::support::{Guest, Node, Options, Pool, TestHost, expect, refused, requests};

#[tokio::test]
async fn t1_a_relative_path_of_an_unknown_volume_is_not_found() {
    let host = TestHost::tester().await;
    let mut node = host.node().await;
    let stats =
        NodeGetVolumeStatsRequest { volume_id: "x".into(), volume_path: "some/path".into(), ..Default::default() };
    expect(&refused(node.node_get_volume_stats(stats).await), Code::NotFound, "x");
    let expand = NodeExpandVolumeRequest { volume_path: "some/path".into(), ..requests::node_expand("x") };
    expect(&refused(node.node_expand_volume(expand).await), Code::NotFound, "x");
}

#[tokio::test]
async fn t2_an_unknown_group_snapshot_has_no_members_to_name() {
    let host = TestHost::tester().await;
    let mut groups = host.groups().await;
    groups.delete_volume_group_snapshot(requests::delete_group_snapshot("x", &[])).await.unwrap();
    let get = GetVolumeGroupSnapshotRequest { group_snapshot_id: "x".into(), ..Default::default() };
    expect(&refused(groups.get_volume_group_snapshot(get).await), Code::NotFound, "x");
}

#[tokio::test]
async fn t4_clients_add_keys_to_the_context() {
    let host = TestHost::tester().await;
    host.create(&["a"]).await;
    let own = [("storage.kubernetes.io/csiProvisionerIdentity", "1"), ("csi.storage.k8s.io/pod.name", "p")];
    let context = own.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let attach = ControllerPublishVolumeRequest { volume_context: context.clone().into(), ..requests::attach("vol-a") };
    host.controller().await.controller_publish_volume(attach).await.unwrap();
    let publish = NodePublishVolumeRequest { volume_context: context.into(), ..requests::publish("vol-a") };
    host.node().await.node_publish_volume(publish).await.unwrap();
}

#[tokio::test]
async fn t5_certificates_are_longer_than_the_specification_allows() {
    let host = TestHost::tester().await;
    let secrets = [("tls.crt".to_owned(), "c".repeat(20_000))].into();
    let parameters = [("token".to_owned(), "t".repeat(5_000))].into();
    let create = CreateVolumeRequest { secrets, parameters, ..requests::create("a") };
    host.controller().await.create_volume(create).await.unwrap();
}

#[tokio::test]
async fn t6_ephemeral_volumes_are_published_without_staging() {
    let host = TestHost::tester().await;
    host.create(&["a"]).await;
    let publish = NodePublishVolumeRequest {
        staging_target_path: String::new(),
        volume_context: [("csi.storage.k8s.io/ephemeral".to_owned(), "true".to_owned())].into(),
        ..requests::publish("vol-a")
    };
    host.node().await.node_publish_volume(publish).await.unwrap();
}

#[tokio::test]
async fn t7_deleting_what_never_was_is_success() {
    let host = TestHost::tester().await;
    let mut client = host.controller().await;
    for id in ["fake-vol-id", "../../etc", "ünknown id"] {
        client.delete_volume(requests::delete(id)).await.unwrap();
        client.delete_snapshot(requests::delete_snapshot(id)).await.unwrap();
        client.controller_unpublish_volume(requests::detach(id)).await.unwrap();
    }
}

async fn capabilities(line: &str) -> Vec<Rpc> {
    let host = TestHost::start(Guest::TESTER, Options::default().backend(line)).await;
    let mut client = host.controller().await;
    let answer = client.controller_get_capabilities(ControllerGetCapabilitiesRequest {}).await.unwrap().into_inner();
    let kinds = answer.capabilities.into_iter().map(|capability| capability.r#type.unwrap());
    kinds.map(|Kind::Rpc(rpc)| rpc.r#type()).collect()
}

/// D1: the superset still has what newer versions took away, for clients that know nothing else.
#[tokio::test]
#[expect(deprecated, reason = "older clients look for it")]
async fn t10_what_clients_do_not_know_can_be_hidden_and_what_they_knew_shown() {
    const ALPHA: [Rpc; 5] =
        [Rpc::GetVolume, Rpc::SingleNodeMultiWriter, Rpc::GetSnapshot, Rpc::GetVolumeHealth, Rpc::ListVolumeHealth];
    let (all, old, legacy) =
        (capabilities("").await, capabilities("alpha = false").await, capabilities("legacy-condition = true").await);
    assert!(ALPHA.iter().all(|alpha| all.contains(alpha) && !old.contains(alpha)), "{all:?} {old:?}");
    assert_eq!(all.len() - ALPHA.len(), old.len(), "nothing else is hidden");
    assert!(!all.contains(&Rpc::VolumeCondition) && legacy.contains(&Rpc::VolumeCondition));
    assert!([all, old, legacy].iter().flatten().all(|rpc| *rpc != Rpc::Unknown));
}

/// What is announced to a health monitor is what it finds: it asks the listing and nothing else.
#[tokio::test]
#[expect(deprecated, reason = "older clients look for it")]
async fn t10_the_condition_that_is_announced_is_listed() {
    let pool = Pool::plain();
    let options = Options::default().pool(&pool.path(), Node::Withheld).backend("legacy-condition = true");
    let host = TestHost::start(Guest::LOCAL, options).await;
    let mut client = host.controller().await;
    let mut ids = Vec::new();
    for name in ["well", "lost"] {
        ids.push(client.create_volume(requests::create(name)).await.unwrap().into_inner().volume.unwrap().volume_id);
    }
    let lost = pool.path().join("volumes").join(&ids[1][..2]).join(&ids[1]);
    std::fs::rename(lost.join("image"), lost.join("image.away")).unwrap();
    let listed = client.list_volumes(ListVolumesRequest::default()).await.unwrap().into_inner().entries;
    let abnormal = |id: &String| {
        let entry = listed.iter().find(|entry| entry.volume.as_ref().is_some_and(|volume| volume.volume_id == *id));
        let condition = entry.unwrap().status.clone().unwrap().volume_condition;
        condition.unwrap_or_else(|| panic!("{id} has no condition: {listed:?}")).abnormal
    };
    assert_eq!(ids.iter().map(abnormal).collect::<Vec<_>>(), [false, true], "{listed:?}");
    // Newer monitors ask for one volume.
    let one = client.controller_get_volume(ControllerGetVolumeRequest { volume_id: ids[1].clone() }).await.unwrap();
    assert!(one.into_inner().status.unwrap().volume_condition.is_some_and(|condition| condition.abnormal));
}
