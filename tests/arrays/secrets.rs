//! The array checks the secrets of every call: wrong ones are UNAUTHENTICATED. And they show nowhere: a
//! life of volumes in which every secret is found nowhere else, also while logins fail in other ways;
//! then whatever was said, audited, answered or written by host and array is searched.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tonic::{Code, Status};

use super::client::text;
use super::process::program;
use super::site::{LONG, Setup, Site, patiently};
use crate::canaries::files_below;
use crate::canaries::search::{STEM, assert_clean, found_in};
use crate::redaction::{is_secret, name_of, secret_methods};
use crate::replay::recorder::Recorder;
use crate::support::Guest;

/// Both sites, and what was called.
struct Life {
    a: Site,
    b: Site,
    user: String,
    password: String,
    wrong: u64,
    called: BTreeSet<String>,
}

impl Life {
    fn clean(answer: Result<Json, Status>) -> Result<Json, Status> {
        assert_clean("an answer", format!("{answer:?}").as_bytes());
        answer
    }

    /// A call with each secret wrong, and, if it changes something, with none; then with the right ones.
    async fn call(&mut self, path: &str, request: Json) -> Json {
        self.called.insert(name_of(&self.a.method(path)));
        self.wrong += 1;
        let other = format!("{STEM}wrong-{}", self.wrong);
        let wrong = [(self.user.as_str(), other.as_str()), (&other, &self.password)];
        for (user, password) in wrong {
            let mut request = request.clone();
            request["secrets"] = json!({ "user": user, "password": password });
            let refused = Self::clean(self.a.try_ask(path, &request, LONG).await).expect_err(path);
            assert_eq!(refused.code(), Code::Unauthenticated, "{path}: {refused:?}");
        }
        self.ok(path, request).await
    }

    /// The same for a call that nobody can make without secrets.
    async fn change(&mut self, path: &str, mut request: Json) -> Json {
        let right = request.clone();
        request["secrets"] = json!({});
        let refused = Self::clean(self.a.try_ask(path, &request, LONG).await).expect_err(path);
        assert_eq!(refused.code(), Code::Unauthenticated, "{path}: {refused:?}");
        self.call(path, right).await
    }

    async fn ok(&self, path: &str, request: Json) -> Json {
        let told = self.a.ask(path, &request, LONG).await.answer;
        Self::clean(told).unwrap_or_else(|status| panic!("{path}: {status:?}"))
    }
}

const CSI: &str = "csi.v1.Controller";
const CUTS: &str = "csi.v1.GroupController";
const GROUPS: &str = "volumegroup.Controller";
const FENCES: &str = "fence.FenceController";
const REPLICATION: &str = "replication.Controller";

async fn volumes(life: &mut Life) -> String {
    let capability = json!({ "block": {}, "accessMode": { "mode": "SINGLE_NODE_WRITER" } });
    let wish =
        json!({ "name": "v", "capacityRange": { "requiredBytes": "1048576" }, "volumeCapabilities": [capability] });
    let made = life.change(&format!("{CSI}/CreateVolume"), wish).await;
    let volume = text(&made["volume"]["volumeId"]);
    let asked = json!({ "volumeId": volume, "volumeCapabilities": [capability] });
    life.call(&format!("{CSI}/ValidateVolumeCapabilities"), asked).await;
    let attach = json!({ "volumeId": volume, "nodeId": "n1", "volumeCapability": capability });
    life.change(&format!("{CSI}/ControllerPublishVolume"), attach).await;
    life.change(&format!("{CSI}/ControllerUnpublishVolume"), json!({ "volumeId": volume })).await;
    let grow = json!({ "volumeId": volume, "capacityRange": { "requiredBytes": "2097152" } });
    life.change(&format!("{CSI}/ControllerExpandVolume"), grow).await;
    let modify = json!({ "volumeId": volume, "mutableParameters": { "iops-limit": "7" } });
    life.change(&format!("{CSI}/ControllerModifyVolume"), modify).await;
    life.change("reclaimspace.ReclaimSpaceController/ControllerReclaimSpace", json!({ "volumeId": volume })).await;
    let key = json!({ "volumeId": volume, "encryptionKey": format!("{STEM}key") });
    life.change("encryptionkeyrotation.EncryptionKeyRotationController/EncryptionKeyRotate", key).await;
    volume
}

async fn snapshots(life: &mut Life, volume: &str) {
    let mut ids = Vec::new();
    for name in ["s", "t"] {
        let cut = json!({ "name": name, "sourceVolumeId": volume });
        ids.push(text(&life.change(&format!("{CSI}/CreateSnapshot"), cut).await["snapshot"]["snapshotId"]));
    }
    life.call(&format!("{CSI}/ListSnapshots"), json!({})).await;
    life.call(&format!("{CSI}/GetSnapshot"), json!({ "snapshotId": ids[0] })).await;
    life.call("csi.v1.SnapshotMetadata/GetMetadataAllocated", json!({ "snapshotId": ids[0] })).await;
    let both = json!({ "baseSnapshotId": ids[0], "targetSnapshotId": ids[1] });
    life.call("csi.v1.SnapshotMetadata/GetMetadataDelta", both).await;
    let cut = json!({ "name": "g", "sourceVolumeIds": [volume] });
    let cut = life.change(&format!("{CUTS}/CreateVolumeGroupSnapshot"), cut).await;
    let (id, member) = (&cut["groupSnapshot"]["groupSnapshotId"], &cut["groupSnapshot"]["snapshots"][0]["snapshotId"]);
    let cut = json!({ "groupSnapshotId": id, "snapshotIds": [member] });
    life.call(&format!("{CUTS}/GetVolumeGroupSnapshot"), cut.clone()).await;
    life.change(&format!("{CUTS}/DeleteVolumeGroupSnapshot"), cut).await;
    for id in ids {
        life.change(&format!("{CSI}/DeleteSnapshot"), json!({ "snapshotId": id })).await;
    }
}

async fn groups(life: &mut Life, volume: &str) {
    let made = life.change(&format!("{GROUPS}/CreateVolumeGroup"), json!({ "name": "vg" })).await;
    let group = made["volumeGroup"]["volumeGroupId"].clone();
    for members in [json!([volume]), json!([])] {
        let join = json!({ "volumeGroupId": group, "volumeIds": members });
        life.change(&format!("{GROUPS}/ModifyVolumeGroupMembership"), join).await;
    }
    life.call(&format!("{GROUPS}/ControllerGetVolumeGroup"), json!({ "volumeGroupId": group })).await;
    life.call(&format!("{GROUPS}/ListVolumeGroups"), json!({})).await;
    life.change(&format!("{GROUPS}/DeleteVolumeGroup"), json!({ "volumeGroupId": group })).await;
    let networks = json!({ "cidrs": [{ "cidr": "198.51.100.0/24" }] });
    for name in ["FenceClusterNetwork", "UnfenceClusterNetwork"] {
        life.change(&format!("{FENCES}/{name}"), networks.clone()).await;
    }
    for name in ["ListClusterFence", "GetFenceClients"] {
        life.call(&format!("{FENCES}/{name}"), json!({})).await;
    }
}

async fn replication(life: &mut Life, volume: &str) {
    let source = json!({ "replicationSource": { "volume": { "volumeId": volume } } });
    life.change(&format!("{REPLICATION}/EnableVolumeReplication"), source.clone()).await;
    life.call(&format!("{REPLICATION}/GetReplicationDestinationInfo"), source.clone()).await;
    // Until the first transfer is whole there is nothing to tell.
    let watch = format!("{REPLICATION}/GetVolumeReplicationInfo");
    patiently("the first transfer", async {
        while life.a.try_ask(&watch, &source, LONG).await.is_err_and(|status| status.code() == Code::NotFound) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    life.call(&watch, source.clone()).await;
    for name in ["DemoteVolume", "PromoteVolume"] {
        life.change(&format!("{REPLICATION}/{name}"), source.clone()).await;
    }
    life.ok(&format!("{REPLICATION}/DemoteVolume"), source.clone()).await;
    life.change(&format!("{REPLICATION}/ResyncVolume"), source.clone()).await;
    life.ok(&format!("{REPLICATION}/PromoteVolume"), source.clone()).await;
    life.change(&format!("{REPLICATION}/DisableVolumeReplication"), source).await;
}

/// On nodes the secrets are the initiator's. Nothing is granted there, so each call is refused, and shows none of them.
async fn nodes(life: &mut Life, volume: &str) {
    let capability = json!({ "block": {}, "accessMode": { "mode": "SINGLE_NODE_WRITER" } });
    let identity = "naa.6001405d1eba00000000000000000007";
    let context = json!({ "lun": "0", "iqn": "iqn.2026-11.example:a", "portals": "192.0.2.1", "identity": identity });
    for (name, path) in [("Stage", "stagingTargetPath"), ("Publish", "targetPath"), ("Expand", "volumePath")] {
        let path_of_call = format!("csi.v1.Node/Node{name}Volume");
        life.called.insert(name_of(&life.a.method(&path_of_call)));
        let mut request = json!({ "volumeId": volume, "volumeCapability": capability });
        request[path] = json!("/nowhere/at/all");
        request["secrets"] = json!({ "chap-user": format!("{STEM}u"), "chap-secret": format!("{STEM}s") });
        if name != "Expand" {
            request["publishContext"] = context.clone();
        }
        Life::clean(life.a.try_ask(&path_of_call, &request, LONG).await).expect_err(name);
    }
}

/// Logins and calls that fail otherwise: with words of the array, without any, and too late.
async fn troubles(life: &mut Life, volume: &str) {
    let request = json!({ "volumeId": volume, "mutableParameters": { "iops-limit": "9" } });
    let path = format!("{CSI}/ControllerModifyVolume");
    for kind in ["error", "drop", "lost-answer", "error-after", "expired-token", "slow"] {
        for place in ["/v1/session", "/v1/volumes"] {
            let fault = json!({ "kind": kind, "path": place, "times": 9, "milliseconds": 300 });
            life.a.array.ask("POST", "/faults", &fault).await;
        }
        let mut wrong = request.clone();
        wrong["secrets"] = json!({ "user": life.user, "password": format!("{STEM}{kind}") });
        for request in [&wrong, &request] {
            let _ = Life::clean(life.a.try_ask(&path, request, Duration::from_millis(500)).await);
        }
        life.a.array.ask("DELETE", "/faults", &Json::Null).await;
    }
    life.ok(&path, request).await;
}

/// Every call with secrets was made, or is none of this backend's.
async fn check_all_called(life: &Life) {
    for method in secret_methods().iter().filter(|method| !life.called.contains(&name_of(method))) {
        let path = format!("{}/{}", method.parent_service().full_name(), method.name());
        let mut bare = json!({});
        if method.input().fields().any(|field| is_secret(&field) && field.name() == "secrets") {
            bare["secrets"] = json!({});
        }
        let refused = life.a.try_ask(&path, &bare, LONG).await.expect_err(&path);
        assert_eq!(refused.code(), Code::Unimplemented, "{path} was not called: {refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn are_checked_by_the_array_and_show_nowhere() {
    let Some(program) = program() else { return };
    let (user, password) = (format!("{STEM}user"), format!("{STEM}right?>>?\u{ff}"));
    let setup = Setup { program: &program, user: &user, password: &password, log: "trace" };
    let (a, b) = setup.pair().await;
    let mut recorder = Recorder::begin(&a.host, &[]).await;
    let mut life = Life { a, b, user, password, wrong: 0, called: BTreeSet::new() };
    let volume = volumes(&mut life).await;
    snapshots(&mut life, &volume).await;
    groups(&mut life, &volume).await;
    replication(&mut life, &volume).await;
    troubles(&mut life, &volume).await;
    nodes(&mut life, &volume).await;
    life.change(&format!("{CSI}/DeleteVolume"), json!({ "volumeId": volume })).await;
    check_all_called(&life).await;
    let (code, words) = recorder.interrupt().await;
    assert_eq!(code, 0, "{words}");
    let written = recorder.text();
    assert_clean("the recording", written.as_bytes());
    assert!(!written.contains("Bearer "), "sessions of the array");
    assert!(written.contains("secret-value-1") && written.matches("\"line\":\"request\"").count() > 100, "{words}");
    recorder.is_the_same(&Guest("array").path()).await;

    for site in [&mut life.a, &mut life.b] {
        for words in [&["status"][..], &["status", "--json"], &["history", "under-test"]] {
            assert_clean("what operators are shown", site.host.told(words).await.as_bytes());
        }
        site.host.stop().await;
        let log = site.host.log.text();
        assert!(log.contains("TRACE") && log.contains("audit: http request"), "the log is at its loudest");
        let leak = log.lines().find(|line| found_in(line.as_bytes()).is_some() || line.contains("Bearer "));
        assert_eq!(leak, None, "the host's log");
        assert_clean("the array's words", (site.array.out.text() + &site.array.err.text()).as_bytes());
        for file in [site.host.state(), site.array.folder().to_owned()].iter().flat_map(|folder| files_below(folder)) {
            // The array knows whose session it is.
            let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).replace(&life.user, "");
            assert_clean(&file.display().to_string(), text.as_bytes());
        }
    }
}
