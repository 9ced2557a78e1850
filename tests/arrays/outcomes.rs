//! Every answer that can be lost is lost once, before the work and after it: the one call that meets it
//! still says the truth, and nothing is made twice. And what a full pool, an ended token and a silent
//! peer come to.

use std::path::Path;

use serde_json::{Value as Json, json};
use tonic::Code;

use super::client::text;
use super::process::program;
use super::site::{LONG, Setup, Site, patiently};

/// Faults with which the work may have been done.
const UNKNOWN: [&str; 4] = ["lost-answer", "error-after", "drop", "error"];

const GROUPS: &str = "volumegroup.Controller";
const ROTATE: &str = "encryptionkeyrotation.EncryptionKeyRotationController/EncryptionKeyRotate";

fn setup(program: &Path) -> Setup<'_> {
    Setup { program, user: "csi", password: "right-password", log: "info" }
}

impl Site {
    async fn fault(&self, kind: &str, method: &str, path: &str, times: u32) {
        let fault = json!({ "kind": kind, "method": method, "path": path, "times": times, "milliseconds": 50 });
        self.array.ask("POST", "/faults", &fault).await;
    }

    async fn heal(&self) {
        self.array.ask("DELETE", "/faults", &Json::Null).await;
    }

    /// A call whose request to the array meets a fault, and which says the truth at the first attempt.
    async fn despite(&self, [kind, method, path]: [&str; 3], call: &str, request: Json) -> Json {
        self.fault(kind, method, path, 1).await;
        let told = self.try_ask(call, &request, LONG).await;
        let told = told.unwrap_or_else(|status| panic!("{call} with {kind}: {status:?}"));
        let left = self.array.ask("GET", "/faults", &Json::Null).await;
        assert_eq!(left["ordered"], json!([]), "{call} did not meet {kind}");
        told
    }

    async fn code(&self, call: &str, request: Json) -> Code {
        self.try_ask(call, &request, LONG).await.expect_err(call).code()
    }

    async fn replicate(&self, call: &str, volume: &str, mut request: Json) -> Json {
        request["replicationSource"] = json!({ "volume": { "volumeId": volume } });
        self.ok(&format!("replication.Controller/{call}"), request).await
    }
}

fn csi(name: &str) -> String {
    format!("csi.v1.Controller/{name}")
}

fn wish(name: &str) -> Json {
    let capability = json!({ "block": {}, "accessMode": { "mode": "SINGLE_NODE_WRITER" } });
    json!({ "name": name, "capacityRange": { "requiredBytes": "1048576" }, "volumeCapabilities": [capability] })
}

async fn volume_despite(site: &Site, kind: &str) -> String {
    let volumes = "/v1/volumes";
    // The token ends, and the login for another one goes wrong.
    site.fault("expired-token", "", volumes, 1).await;
    let made = site.despite([kind, "POST", "/v1/session"], &csi("CreateVolume"), wish("first")).await;
    site.ok(&csi("DeleteVolume"), json!({ "volumeId": made["volume"]["volumeId"] })).await;

    let made = site.despite([kind, "POST", volumes], &csi("CreateVolume"), wish("v")).await;
    let id = text(&made["volume"]["volumeId"]);
    let mut attach = json!({ "volumeId": id, "nodeId": "n1" });
    attach["volumeCapability"] = wish("v")["volumeCapabilities"][0].clone();
    site.despite([kind, "PUT", volumes], &csi("ControllerPublishVolume"), attach).await;
    let detach = json!({ "volumeId": id, "nodeId": "n1" });
    site.despite([kind, "DELETE", volumes], &csi("ControllerUnpublishVolume"), detach).await;
    let grow = json!({ "volumeId": id, "capacityRange": { "requiredBytes": "2097152" } });
    let grown = site.despite([kind, "PATCH", volumes], &csi("ControllerExpandVolume"), grow).await;
    assert_eq!(grown["capacityBytes"], "2097152");
    let modify = json!({ "volumeId": id, "mutableParameters": { "iops-limit": "50" } });
    site.despite([kind, "PATCH", volumes], &csi("ControllerModifyVolume"), modify).await;
    site.despite([kind, "POST", volumes], ROTATE, json!({ "volumeId": id })).await;
    let truth = site.array.object("volume", &id).await;
    assert_eq!((&truth["bytes"], &truth["iops_limit"]), (&json!(2_097_152), &json!(50)));
    assert_eq!(truth["key"]["version"], 2, "{kind}: one rotation");
    id
}

async fn sets_despite(site: &Site, kind: &str, volume: &str) {
    let cut = json!({ "name": "s", "sourceVolumeId": volume });
    let cut = site.despite([kind, "POST", "/v1/snapshots"], &csi("CreateSnapshot"), cut).await;
    let one = json!({ "snapshotId": cut["snapshot"]["snapshotId"] });
    site.despite([kind, "DELETE", "/v1/snapshots"], &csi("DeleteSnapshot"), one).await;

    let (cuts, place) = ("csi.v1.GroupController", "/v1/group-snapshots");
    let cut = json!({ "name": "c", "sourceVolumeIds": [volume] });
    let cut = site.despite([kind, "POST", place], &format!("{cuts}/CreateVolumeGroupSnapshot"), cut).await;
    let (id, member) = (&cut["groupSnapshot"]["groupSnapshotId"], &cut["groupSnapshot"]["snapshots"][0]["snapshotId"]);
    let one = json!({ "groupSnapshotId": id, "snapshotIds": [member] });
    site.despite([kind, "DELETE", place], &format!("{cuts}/DeleteVolumeGroupSnapshot"), one).await;

    let place = "/v1/groups";
    let group = json!({ "name": "g", "volumeIds": [volume] });
    let group = site.despite([kind, "POST", place], &format!("{GROUPS}/CreateVolumeGroup"), group).await;
    assert_eq!(group["volumeGroup"]["volumes"].as_array().unwrap().len(), 1);
    let one = json!({ "volumeGroupId": group["volumeGroup"]["volumeGroupId"] });
    site.despite([kind, "PUT", place], &format!("{GROUPS}/ModifyVolumeGroupMembership"), one.clone()).await;
    site.despite([kind, "DELETE", place], &format!("{GROUPS}/DeleteVolumeGroup"), one).await;
    site.despite([kind, "DELETE", "/v1/volumes"], &csi("DeleteVolume"), json!({ "volumeId": volume })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_lost_answer_is_looked_up() {
    let Some(program) = program() else { return };
    let site = setup(&program).alone().await;
    site.ok(&csi("DeleteVolume"), json!({ "volumeId": "logs-in" })).await;
    for kind in UNKNOWN {
        let volume = volume_despite(&site, kind).await;
        sets_despite(&site, kind, &volume).await;
        let left = site.array.ask("GET", "/inventory", &Json::Null).await;
        assert!(left.as_object().unwrap().values().all(|names| names == &json!([])), "{kind}: {left}");
    }

    // What stays unknown is said to be so, and found by its name.
    site.fault("lost-answer", "", "/v1/volumes", 100).await;
    assert_eq!(site.code(&csi("CreateVolume"), wish("w")).await, Code::Unavailable);
    site.heal().await;
    let first = site.ok(&csi("CreateVolume"), wish("w")).await;
    assert_eq!(site.ok(&csi("CreateVolume"), wish("w")).await, first);
    assert_eq!(site.array.objects("volume").await.len(), 1);

    // A call without secrets cannot log in: the certificate of the grant is enough for reading.
    let listed = site.despite(["expired-token", "", "/v1/volumes"], &csi("ListVolumes"), json!({})).await;
    assert_eq!(listed["entries"].as_array().unwrap().len(), 1);
    site.array.ask("POST", "/faults", &json!({ "kind": "full-pool" })).await;
    assert_eq!(site.code(&csi("CreateVolume"), wish("x")).await, Code::ResourceExhausted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_peer_needs_force() {
    let Some(program) = program() else { return };
    let (a, b) = setup(&program).pair().await;
    let id = text(&a.ok(&csi("CreateVolume"), wish("v")).await["volume"]["volumeId"]);
    a.replicate("EnableVolumeReplication", &id, json!({})).await;
    let copy = a.replicate("GetReplicationDestinationInfo", &id, json!({})).await;
    let copy = text(&copy["replicationDestination"]["volume"]["volumeId"]);
    let source = json!({ "replicationSource": { "volume": { "volumeId": id } } });
    let watch = "replication.Controller/GetVolumeReplicationInfo";
    patiently("the first transfer", async {
        while a.try_ask(watch, &source, LONG).await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let there = json!({ "replicationSource": { "volume": { "volumeId": copy } } });
    // The primary is alive: force must not be tried yet.
    let promote = "replication.Controller/PromoteVolume";
    assert_eq!(b.code(promote, there.clone()).await, Code::Aborted);
    a.array.ask("POST", "/faults", &json!({ "kind": "partition" })).await;
    assert_eq!(b.code(promote, there).await, Code::FailedPrecondition);
    b.replicate("PromoteVolume", &copy, json!({ "force": true })).await;
    a.heal().await;
    // The side that was overtaken says so, and gives way.
    patiently("the word that it was overtaken", async {
        while a.try_ask(watch, &source, LONG).await.unwrap()["status"] != "ERROR" {
            tokio::task::yield_now().await;
        }
    })
    .await;
    a.replicate("DemoteVolume", &id, json!({})).await;
    patiently("resync", async {
        while a.replicate("ResyncVolume", &id, json!({})).await["ready"] != true {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let known = &a.array.objects("replication").await[0];
    assert_eq!((&known["role"], &known["contents"]), (&json!("secondary"), &json!("marked")));
}
