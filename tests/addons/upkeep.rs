//! Fences, reclaiming space and changing keys.

use serde_json::json;
use tonic::Code;

use super::Site;

const FENCE: &str = "fence.FenceController/FenceClusterNetwork";
const UNFENCE: &str = "fence.FenceController/UnfenceClusterNetwork";
const FENCED: &str = "fence.FenceController/ListClusterFence";
const CLIENTS: &str = "fence.FenceController/GetFenceClients";
const RECLAIM: &str = "reclaimspace.ReclaimSpaceController/ControllerReclaimSpace";
const NODE_RECLAIM: &str = "reclaimspace.ReclaimSpaceNode/NodeReclaimSpace";
const ROTATE: &str = "encryptionkeyrotation.EncryptionKeyRotationController/EncryptionKeyRotate";

#[tokio::test]
async fn fences_stand_until_they_are_taken_away() {
    let site = Site::new().await;
    let networks = |cidrs: &[&str]| json!({ "cidrs": cidrs.iter().map(|c| json!({ "cidr": c })).collect::<Vec<_>>() });
    let both = networks(&["192.0.2.7/24", "2001:db8::/64"]);
    for _ in 0..2 {
        site.good(FENCE, both.clone()).await;
        assert_eq!(site.good(FENCED, json!({})).await, both, "as they were sent");
    }
    site.good(UNFENCE, networks(&["192.0.2.7/24"])).await;
    assert_eq!(site.good(FENCED, json!({})).await, networks(&["2001:db8::/64"]));
    let client = json!({ "id": "tester-node", "addresses": [{ "cidr": "192.0.2.7/32" }] });
    assert_eq!(site.good(CLIENTS, json!({})).await, json!({ "clients": [client] }));

    let entered = site.host.entries_so_far("").await;
    for bad in [
        "",
        "192.0.2.7",
        "192.0.2.0/33",
        "2001:db8::/129",
        "192.0.2.0/-1",
        "192.0.2.0/+8",
        "a/8",
        "192.0.2.0/",
        " 192.0.2.0/8",
    ] {
        site.bad(FENCE, networks(&["192.0.2.0/24", bad]), Code::InvalidArgument, "cidrs[1].cidr").await;
        site.bad(UNFENCE, networks(&[bad]), Code::InvalidArgument, "cidrs[0].cidr").await;
    }
    site.bad(FENCE, networks(&[]), Code::InvalidArgument, "cidrs: is required").await;
    assert_eq!(site.host.entries_so_far("").await, entered);
    site.host.instruct("list-fences", "all", "times 1 bad network").await;
    site.bad(FENCED, json!({}), Code::Internal, "cidrs[0].cidr").await;
    for (flaw, words) in
        [("network", "clients[0].addresses[0].cidr"), ("id", "clients[0].id"), ("nowhere", "clients[0].addresses")]
    {
        site.host.instruct("get-fence-clients", "all", &format!("times 1 bad {flaw}")).await;
        site.bad(CLIENTS, json!({}), Code::Internal, words).await;
    }
}

#[tokio::test]
async fn reclaiming_tells_before_and_after() {
    let site = Site::new().await;
    site.volumes(&["vol-v"]).await;
    let node = json!({ "volumeId": "vol-v", "volumePath": "/nowhere/target" });
    for (method, operation, request) in
        [(RECLAIM, "reclaim-space", json!({ "volumeId": "vol-v" })), (NODE_RECLAIM, "node-reclaim-space", node)]
    {
        let told = site.good(method, request.clone()).await;
        assert_eq!(told, json!({ "preUsage": { "usageBytes": "4096" }, "postUsage": { "usageBytes": "2048" } }));
        site.host.instruct(operation, "vol-v", "times 1 bad unknown").await;
        assert_eq!(site.good(method, request.clone()).await, json!({}));
        site.host.instruct(operation, "vol-v", "times 1 bad usage").await;
        site.bad(method, request.clone(), Code::Unavailable, "post-usage").await;
        site.host.instruct(operation, "vol-v", "times 1 refuse unimplemented not this kind").await;
        site.bad(method, request.clone(), Code::Unimplemented, "not this kind").await;
        let mut unknown = request;
        unknown["volumeId"] = json!("vol-x");
        site.bad(method, unknown, Code::NotFound, "vol-x").await;
    }
}

/// What the sidecar in the field sends: the staging path alone, no path at all, a capability without
/// the kind of access, a mode that was never advertised.
#[tokio::test]
async fn t3_the_sidecar_leaves_out_what_the_contract_demands() {
    let site = Site::new().await;
    site.volumes(&["vol-v"]).await;
    let mode = json!({ "mode": "SINGLE_NODE_MULTI_WRITER" });
    let mounted = json!({ "mount": { "fsType": "ext4" }, "accessMode": mode });
    let staged = json!({ "volumeId": "vol-v", "stagingTargetPath": "/nowhere/staging", "volumeCapability": mounted });
    site.good(NODE_RECLAIM, staged).await;
    site.host.log.wait("reclaims vol-v at (None, Some(\"/nowhere/staging\"))", 1).await;
    site.bad(NODE_RECLAIM, json!({ "volumeId": "vol-v" }), Code::InvalidArgument, "volume_path").await;

    let rotate = json!({ "volumeId": "vol-v", "volumeCapability": { "accessMode": mode } });
    site.good(ROTATE, rotate).await;
    site.host
        .log
        .wait("rotates vol-v in mode Some(AccessMode::SingleNodeMultiWriter) at None to a key of its own", 1)
        .await;
    let given = json!({ "volumeId": "vol-v", "volumePath": "relative/path", "encryptionKey": "c4n4ry-k3y" });
    site.good(ROTATE, given).await;
    site.host.log.wait("rotates vol-v in mode None at Some(\"relative/path\") to a key that was given", 1).await;
    assert!(!site.host.log.text().contains("c4n4ry-k3y"));
    site.bad(ROTATE, json!({ "volumeId": "vol-v", "volumeCapability": {} }), Code::InvalidArgument, "access_mode")
        .await;
}
