//! csi-addons on the reference backend: what the host asks before a call fits what a real backend
//! answers, and every method comes through. One site; what only a peer can tell is not there yet.

use drivebay_proto::pb::csi::v1::ListVolumesRequest;
use serde_json::{Value as Json, json};
use tonic::Code;

use super::{CALLS, Site, group, on, snapshot, volume};
use crate::support::{Guest, Node, Options, Pool, TestHost, requests, wire};

/// A host with the reference backend, and its pool with a link directory.
async fn site() -> (Site, Pool) {
    let pool = Pool::plain();
    let link = pool.made("link");
    let options = Options::default().pool_and_link(&pool.path(), link.as_ref(), Node::Withheld);
    let host = TestHost::start(Guest::LOCAL, options.setting("addresses", "192.0.2.7")).await;
    let channel = host.connect().await;
    (Site { host, channel, contracts: wire::contracts() }, pool)
}

async fn made(site: &Site, name: &str) -> String {
    let request = json!({
        "name": name, "capacityRange": { "requiredBytes": "1048576" },
        "volumeCapabilities": [{ "block": {}, "accessMode": { "mode": "SINGLE_NODE_WRITER" } }]
    });
    text(&site.good("csi.v1.Controller/CreateVolume", request).await["volume"]["volumeId"])
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn replication(name: &str) -> String {
    format!("replication.Controller/{name}")
}

/// G-09, G-11, G-16 and their like: the same for this backend as for any.
#[tokio::test]
async fn what_is_not_there() {
    let (site, _pool) = site().await;
    let methods = CALLS.into_iter().map(|(method, _)| method).filter(|method| method.starts_with("replication."));
    for method in methods {
        for source in [volume("nobody"), volume("../up"), group("nobody"), snapshot("nobody")] {
            if method.ends_with("DestinationInfo") && source == snapshot("nobody") {
                continue;
            }
            site.bad(method, on(&source), Code::NotFound, "there is no ").await;
        }
    }
    let group = json!({ "volumeGroupId": "nobody" });
    for id in ["nobody", "../up", "ü\u{1}"] {
        site.good("volumegroup.Controller/DeleteVolumeGroup", json!({ "volumeGroupId": id })).await;
    }
    site.bad("volumegroup.Controller/ModifyVolumeGroupMembership", group.clone(), Code::NotFound, "nobody").await;
    site.bad("volumegroup.Controller/ControllerGetVolumeGroup", group, Code::NotFound, "nobody").await;
    let one = json!({ "volumeId": "nobody", "volumePath": "/nowhere" });
    site.bad("reclaimspace.ReclaimSpaceNode/NodeReclaimSpace", one, Code::NotFound, "nobody").await;
    let one = json!({ "volumeId": "nobody" });
    site.bad("reclaimspace.ReclaimSpaceController/ControllerReclaimSpace", one.clone(), Code::NotFound, "nobody").await;
    site.good("csi.v1.Controller/DeleteVolume", one.clone()).await;
    let rotate = "encryptionkeyrotation.EncryptionKeyRotationController/EncryptionKeyRotate";
    site.bad(rotate, one, Code::Unimplemented, "key-rotation").await;
}

#[tokio::test]
async fn groups_hold_their_volumes() {
    let (site, _pool) = site().await;
    let (a, b) = (made(&site, "a").await, made(&site, "b").await);
    let create = |name: &str| json!({ "name": name, "volumeIds": [a, b] });
    let answer = site.good("volumegroup.Controller/CreateVolumeGroup", create("g")).await;
    assert_eq!(site.good("volumegroup.Controller/CreateVolumeGroup", create("g")).await, answer, "G-02");
    let id = text(&answer["volumeGroup"]["volumeGroupId"]);
    let modify = |volumes: &[&String]| json!({ "volumeGroupId": id, "volumeIds": volumes });
    let present = site.good("volumegroup.Controller/ModifyVolumeGroupMembership", modify(&[&b, &a, &b])).await;
    assert_eq!(present, answer, "nothing changed");
    let words = "a volume can be in one group only";
    site.bad("volumegroup.Controller/CreateVolumeGroup", create("h"), Code::FailedPrecondition, words).await;
    let other = site.good("volumegroup.Controller/CreateVolumeGroup", json!({ "name": "other" })).await;
    let other = json!({ "volumeGroupId": other["volumeGroup"]["volumeGroupId"], "volumeIds": [a] });
    site.bad("volumegroup.Controller/ModifyVolumeGroupMembership", other, Code::InvalidArgument, words).await;
    let delete = json!({ "volumeId": a });
    let words = "remove it from there first";
    site.bad("csi.v1.Controller/DeleteVolume", delete.clone(), Code::FailedPrecondition, words).await;
    let listed = site.good("volumegroup.Controller/ListVolumeGroups", json!({})).await;
    assert_eq!(listed["entries"].as_array().unwrap().len(), 2);

    site.good("volumegroup.Controller/ModifyVolumeGroupMembership", modify(&[&b])).await;
    site.good("csi.v1.Controller/DeleteVolume", delete).await;
    for _ in 0..2 {
        site.good("volumegroup.Controller/DeleteVolumeGroup", json!({ "volumeGroupId": id })).await;
    }
    let left = site.host.controller().await.list_volumes(ListVolumesRequest::default()).await.unwrap().into_inner();
    assert!(left.entries.is_empty(), "the volumes went with their group: {left:?}");
}

#[tokio::test]
async fn replication_holds_its_sources() {
    let (site, _pool) = site().await;
    let (a, b) = (made(&site, "a").await, made(&site, "b").await);
    let cut = site.host.controller().await.create_snapshot(requests::snapshot("s", &a)).await.unwrap();
    let cut = cut.into_inner().snapshot.unwrap().snapshot_id;
    let create = json!({ "name": "g", "volumeIds": [b] });
    let answer = site.good("volumegroup.Controller/CreateVolumeGroup", create).await;
    let g = text(&answer["volumeGroup"]["volumeGroupId"]);
    let deletions = [
        (volume(&a), "csi.v1.Controller/DeleteVolume", json!({ "volumeId": a })),
        (snapshot(&cut), "csi.v1.Controller/DeleteSnapshot", json!({ "snapshotId": cut })),
        (group(&g), "volumegroup.Controller/DeleteVolumeGroup", json!({ "volumeGroupId": g })),
    ];
    for (source, delete, request) in deletions {
        let source = on(&source);
        site.bad(&replication("PromoteVolume"), source.clone(), Code::FailedPrecondition, "is not enabled").await;
        for _ in 0..2 {
            site.good(&replication("EnableVolumeReplication"), source.clone()).await;
        }
        site.good(&replication("PromoteVolume"), source.clone()).await;
        let info = replication("GetVolumeReplicationInfo");
        site.bad(&info, source.clone(), Code::NotFound, "no transfer of ").await;
        site.bad(delete, request.clone(), Code::FailedPrecondition, "is replicated; disable its replication first")
            .await;
        if delete.ends_with("Group") {
            for name in ["EnableVolumeReplication", "DisableVolumeReplication", "DemoteVolume"] {
                let words = "call with the group as the source";
                site.bad(&replication(name), on(&volume(&b)), Code::FailedPrecondition, words).await;
            }
        }
        for _ in 0..2 {
            site.good(&replication("DisableVolumeReplication"), source.clone()).await;
        }
        site.good(delete, request).await;
    }
}

#[tokio::test]
async fn fences_and_space() {
    let (site, _pool) = site().await;
    let networks = |cidr: &str| json!({ "cidrs": [{ "cidr": cidr }] });
    for _ in 0..2 {
        site.good("fence.FenceController/FenceClusterNetwork", networks("192.0.2.0/29")).await;
    }
    assert_eq!(site.good("fence.FenceController/ListClusterFence", json!({})).await, networks("192.0.2.0/29"));
    let client = json!({ "id": "n1", "addresses": [{ "cidr": "192.0.2.7/32" }] });
    let clients = site.good("fence.FenceController/GetFenceClients", json!({})).await;
    assert_eq!(clients, json!({ "clients": [client] }));
    let a = made(&site, "a").await;
    let attach = json!({
        "volumeId": a, "nodeId": "n1",
        "volumeCapability": { "block": {}, "accessMode": { "mode": "SINGLE_NODE_WRITER" } }
    });
    let publish = "csi.v1.Controller/ControllerPublishVolume";
    site.bad(publish, attach.clone(), Code::FailedPrecondition, "fenced").await;
    site.good("fence.FenceController/UnfenceClusterNetwork", networks("192.0.2.0/29")).await;
    site.good(publish, attach).await;
    let one = json!({ "volumeId": a });
    let told = site.good("reclaimspace.ReclaimSpaceController/ControllerReclaimSpace", one).await;
    assert!(told.get("preUsage").is_some() && told.get("postUsage").is_some(), "{told}");
}
