//! A whole life of volumes on the reference backend, with a value in every secret field, mount flag
//! and token that is found nowhere else: whatever is logged, answered, written to disk or handed to a
//! program is searched for it. `redaction.rs` shows the same of a backend that says its secrets; here
//! it is the host's and the backend's own work on disks and mounts that must not say them.

mod addons;
pub mod search;

use std::path::{Path, PathBuf};

use prost_reflect::{DynamicMessage, MapKey, MethodDescriptor, Value};
use search::{Programs, STEM, assert_clean, found_in};
use serde_json::{Value as Json, json};
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::redaction::{is_secret, name_of, secret_methods};
use crate::support::{Guest, Node, Options, Pool, TestHost, is_root, wire};

const TOKENS: &str = "csi.storage.k8s.io/serviceAccount.tokens";

/// How a call is authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Secrets {
    Right,
    Wrong,
}

/// A run of the host and what has been asked of it.
struct Run {
    host: TestHost,
    pool: Pool,
    programs: Programs,
    channel: Channel,
    contracts: prost_reflect::DescriptorPool,
    right: String,
    /// Canaries made so far.
    count: usize,
    /// Methods with secrets that were called, and succeeded.
    called: Vec<String>,
    statuses: usize,
}

impl Run {
    async fn new(format: &'static str) -> Self {
        let pool = Pool::on("xfs", 1024);
        let programs = Programs::new(&pool.path());
        let right = format!("{STEM}the-right-one");
        let link = pool.made("link");
        let options = Options::default().pool_and_link(&pool.path(), link.as_ref(), Node::Granted);
        let options = options.setting("secret", &right);
        let options = options.log("trace").log_format(format).variable("PATH", &programs.path());
        let host = TestHost::start(Guest::LOCAL, options.limit("log-burst", "8MiB")).await;
        let (channel, contracts) = (host.connect().await, wire::contracts());
        Self { host, pool, programs, channel, contracts, right, count: 0, called: Vec::new(), statuses: 0 }
    }

    fn next(&mut self) -> String {
        self.count += 1;
        format!("{STEM}{}?>>?\u{ff}", self.count)
    }

    fn method(&self, name: &str) -> MethodDescriptor {
        let methods = self.contracts.services().flat_map(|service| service.methods().collect::<Vec<_>>());
        methods.into_iter().find(|method| name_of(method) == name).unwrap_or_else(|| panic!("{name}"))
    }

    /// A request with a canary in every secret field, and tokens in the context if it has one.
    fn request(&mut self, method: &MethodDescriptor, json: &Json, secrets: Secrets) -> DynamicMessage {
        let mut request = DynamicMessage::deserialize(method.input(), json.clone()).unwrap();
        for field in method.input().fields().filter(is_secret) {
            if !field.is_map() {
                request.set_field(&field, Value::String(self.next()));
                continue;
            }
            let agreed = if secrets == Secrets::Right { self.right.clone() } else { self.next() };
            let entry = |key: &str, value: String| (MapKey::String(key.to_owned()), Value::String(value));
            let all = [entry("secret", agreed), entry("other", self.next()), entry("third", self.next())];
            request.set_field(&field, Value::Map(all.into()));
        }
        if let Some(field) = method.input().get_field_by_name("volume_context") {
            let tokens = Value::String(format!("{{\"\":{{\"token\":\"{}\"}}}}", self.next()));
            if let Value::Map(context) = request.get_field_mut(&field) {
                context.insert(MapKey::String(TOKENS.to_owned()), tokens);
            }
        }
        request
    }

    async fn send(&mut self, name: &str, json: &Json, secrets: Secrets) -> Result<Vec<DynamicMessage>, Status> {
        let method = self.method(name);
        let request = self.request(&method, json, secrets);
        let answer = wire::call(self.channel.clone(), &method, &request).await;
        match &answer {
            Err(status) => {
                self.statuses += 1;
                assert_clean(name, format!("{status:?}").as_bytes());
            }
            // It repeats the capabilities and the context that it was asked about, to its caller.
            Ok(_) if name == "Controller.ValidateVolumeCapabilities" => {}
            Ok(messages) => assert_clean(name, format!("{messages:?}").as_bytes()),
        }
        answer
    }

    /// Calls with wrong secrets, which is refused, then with the right ones, which must succeed. Gives
    /// the answer as JSON.
    async fn call(&mut self, name: &str, json: Json) -> Json {
        if self.method(name).input().fields().any(|field| is_secret(&field)) {
            self.refuses_wrong(name, &json).await;
        }
        let answer = self.send(name, &json, Secrets::Right).await.unwrap_or_else(|status| panic!("{name}: {status:?}"));
        answer.first().map_or(Json::Null, |message| serde_json::to_value(message).unwrap())
    }

    /// Calls with wrong secrets.
    async fn refuses_wrong(&mut self, name: &str, json: &Json) {
        let refused = self.send(name, json, Secrets::Wrong).await.expect_err(name);
        assert_eq!(refused.code(), Code::Unauthenticated, "{name}: {refused:?}");
        self.called.push(name.to_owned());
    }

    /// Calls with the right secrets; it fails for another reason.
    async fn fails(&mut self, name: &str, json: Json) -> Status {
        self.send(name, &json, Secrets::Right).await.expect_err(name)
    }

    async fn volume(&mut self, name: &str, source: Json) -> String {
        // Mount flags of a request to the controller go nowhere; they may be anything.
        let mut request = json!({
            "name": name, "capacityRange": { "requiredBytes": "33554432" }, "volumeCapabilities": [capable("c4n4ry~flag")]
        });
        if !source.is_null() {
            request["volumeContentSource"] = source;
        }
        text(&self.call("Controller.CreateVolume", request).await["volume"]["volumeId"])
    }

    fn image(&self, volume: &str) -> PathBuf {
        self.pool.path().join(format!("volumes/{}/{volume}/image", &volume[..2]))
    }
}

fn capable(flag: &str) -> Json {
    json!({ "mount": { "fsType": "ext4", "mountFlags": [flag] }, "accessMode": { "mode": "SINGLE_NODE_WRITER" } })
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// The controller's part of a life, to the moment when it is used.
async fn begins(run: &mut Run) -> (String, String, Json) {
    let odd = json!({ "name": "odd", "volumeCapabilities": [capable("c4n4ry~flag")], "parameters": { "kind": "odd" } });
    run.fails("Controller.CreateVolume", odd).await;
    let volume = run.volume("v", Json::Null).await;
    let one = json!({ "volumeId": volume });
    let asked = json!({ "volumeId": volume, "volumeCapabilities": [capable("c4n4ry~flag")] });
    run.call("Controller.ValidateVolumeCapabilities", asked).await;
    let attach = json!({ "volumeId": volume, "nodeId": "n1", "volumeCapability": capable("c4n4ry~flag") });
    run.call("Controller.ControllerPublishVolume", attach).await;
    let nowhere = json!({ "volumeId": volume, "nodeId": "n2", "volumeCapability": capable("c4n4ry~flag") });
    run.fails("Controller.ControllerPublishVolume", nowhere).await;
    run.call(
        "Controller.ControllerModifyVolume",
        json!({ "volumeId": volume, "mutableParameters": { "reserve": "full" } }),
    )
    .await;
    run.fails(
        "Controller.ControllerModifyVolume",
        json!({ "volumeId": volume, "mutableParameters": { "reserve": "odd" } }),
    )
    .await;
    run.call("Controller.ControllerGetVolumeHealth", one).await;
    run.call("Controller.ControllerListVolumeHealth", json!({})).await;
    run.call("Node.NodeGetStorageHealth", json!({})).await;
    let cut = run.call("Controller.CreateSnapshot", json!({ "name": "s", "sourceVolumeId": volume })).await;
    let snapshot = text(&cut["snapshot"]["snapshotId"]);
    run.call("Controller.GetSnapshot", json!({ "snapshotId": snapshot })).await;
    run.call("Controller.ListSnapshots", json!({})).await;
    let members = json!({ "name": "g", "sourceVolumeIds": [volume] });
    let group = run.call("GroupController.CreateVolumeGroupSnapshot", members).await;
    let (id, member) =
        (&group["groupSnapshot"]["groupSnapshotId"], &group["groupSnapshot"]["snapshots"][0]["snapshotId"]);
    let group = json!({ "groupSnapshotId": id, "snapshotIds": [member] });
    run.call("GroupController.GetVolumeGroupSnapshot", group.clone()).await;
    run.call("SnapshotMetadata.GetMetadataAllocated", json!({ "snapshotId": snapshot })).await;
    let both = json!({ "baseSnapshotId": snapshot, "targetSnapshotId": snapshot });
    run.call("SnapshotMetadata.GetMetadataDelta", both).await;
    (volume, snapshot, group)
}

/// The node's part, with every mount that can fail.
async fn is_used(run: &mut Run, volume: &str, snapshot: &str) {
    let (staging, target) = (run.pool.made("staging"), run.pool.place("target"));
    let stage = |volume: &str, staging: &str, flag: &str| json!({ "volumeId": volume, "stagingTargetPath": staging, "volumeCapability": capable(flag) });
    // A flag that is none, a place that is none, a file system that is none any more.
    run.fails("Node.NodeStageVolume", stage(volume, &staging, "c4n4ry~flag=1")).await;
    run.fails("Node.NodeStageVolume", stage(volume, &run.pool.place("nowhere"), "noatime")).await;
    let broken = run.volume("broken", json!({ "snapshot": { "snapshotId": snapshot } })).await;
    std::fs::write(run.image(&broken), vec![0xee; 32 << 20]).unwrap();
    let status = run.fails("Node.NodeStageVolume", stage(&broken, &run.pool.made("broken"), "noatime")).await;
    assert!(!status.message().is_empty());

    // A copy gets a UUID of its own, by a program.
    let copy = run.volume("copy", json!({ "volume": { "volumeId": volume } })).await;
    let place = run.pool.made("copy");
    run.call("Node.NodeStageVolume", stage(&copy, &place, "noatime")).await;
    run.call("Node.NodeUnstageVolume", json!({ "volumeId": copy, "stagingTargetPath": place })).await;

    run.call("Node.NodeStageVolume", stage(volume, &staging, "noatime")).await;
    let publish = |target: &str| {
        json!({
            "volumeId": volume, "stagingTargetPath": staging, "targetPath": target,
            "volumeCapability": capable("noatime"), "volumeContext": { "csi.storage.k8s.io/pod.name": "p" }
        })
    };
    run.fails("Node.NodePublishVolume", publish(&run.pool.place("no/parent/target"))).await;
    run.call("Node.NodePublishVolume", publish(&target)).await;
    run.call(
        "Controller.ControllerExpandVolume",
        json!({ "volumeId": volume, "capacityRange": { "requiredBytes": "67108864" } }),
    )
    .await;
    let grow = json!({
        "volumeId": volume, "volumePath": target, "stagingTargetPath": staging, "volumeCapability": capable("noatime")
    });
    run.refuses_wrong("Node.NodeExpandVolume", &grow).await;
    // Where the kernel does not let a mounted ext4 grow, it is a failure like any other.
    let _ = run.send("Node.NodeExpandVolume", &grow, Secrets::Right).await;
    // Blocks that are set aside on purpose are not given back.
    let thin = json!({ "volumeId": volume, "mutableParameters": { "reserve": "thin" } });
    run.call("Controller.ControllerModifyVolume", thin).await;
    let trim = json!({ "volumeId": volume, "volumePath": target, "stagingTargetPath": staging });
    run.call("ReclaimSpaceNode.NodeReclaimSpace", trim).await;
    run.call("Node.NodeGetVolumeHealth", json!({ "volumeId": volume, "stagingTargetPath": staging })).await;

    let ephemeral = json!({
        "volumeId": "csi-ephemeral", "targetPath": run.pool.place("ephemeral"), "volumeCapability": capable("noatime"),
        "volumeContext": { "csi.storage.k8s.io/ephemeral": "true", "size": "16Mi" }
    });
    run.call("Node.NodePublishVolume", ephemeral).await;
    for (volume, target) in [("csi-ephemeral", run.pool.place("ephemeral")), (volume, target)] {
        run.call("Node.NodeUnpublishVolume", json!({ "volumeId": volume, "targetPath": target })).await;
    }
    run.call("Node.NodeUnstageVolume", json!({ "volumeId": volume, "stagingTargetPath": staging })).await;
}

async fn ends(run: &mut Run, volume: &str, snapshot: &str, group: Json) {
    run.fails("Controller.DeleteVolume", json!({ "volumeId": volume })).await;
    run.call("Controller.ControllerUnpublishVolume", json!({ "volumeId": volume, "nodeId": "n1" })).await;
    run.call("GroupController.DeleteVolumeGroupSnapshot", group).await;
    run.call("Controller.DeleteSnapshot", json!({ "snapshotId": snapshot })).await;
    run.call("Controller.DeleteVolume", json!({ "volumeId": volume })).await;
}

/// Everything that the host has written down.
pub fn files_below(directory: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(folder) = folders.pop() {
        // Background work makes and removes some meanwhile.
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                found.push(path);
            }
        }
    }
    found
}

async fn a_life(format: &'static str) {
    let mut run = Run::new(format).await;
    let (volume, snapshot, group) = begins(&mut run).await;
    is_used(&mut run, &volume, &snapshot).await;
    addons::come_and_go(&mut run).await;
    let (helper, host) = (children(run.host.process()), run.host.process());
    for process in helper.iter().chain([&host]) {
        assert_clean("arguments", &std::fs::read(format!("/proc/{process}/cmdline")).unwrap());
        assert_clean("environment", &std::fs::read(format!("/proc/{process}/environ")).unwrap());
    }
    // Before all of it is deleted: what is on disk while volumes are there.
    let kept = [run.pool.path(), run.pool.place("link").into()].map(|directory| files_below(&directory)).concat();
    for file in kept.into_iter().filter(|file| !file.ends_with("image")) {
        assert_clean(&file.display().to_string(), &std::fs::read(&file).unwrap_or_default());
    }
    ends(&mut run, &volume, &snapshot, group).await;
    run.host.stop().await;

    assert!(run.count > 150 && run.statuses > 25, "{} canaries, {} failures", run.count, run.statuses);
    let mut missed = secret_methods();
    missed.retain(|method| !run.called.iter().any(|name| *name == name_of(method)));
    assert!(missed.is_empty(), "not called: {missed:?}");

    let log = run.host.log.text();
    assert!(log.contains("TRACE") && log.contains("call begins"), "the log is at its loudest");
    let line = log.lines().find(|line| found_in(line.as_bytes()).is_some());
    assert_eq!(line, None, "{format}");
    for file in files_below(&run.host.state()) {
        assert_clean(&file.display().to_string(), &std::fs::read(&file).unwrap());
    }
    let record = run.programs.record();
    for program in ["mkfs.ext4", "tune2fs", "e2fsck"] {
        let started = format!("/bin/{program} ");
        assert!(String::from_utf8_lossy(&record).contains(&started), "{program} was started");
    }
    assert_clean("how programs were started", &record);
}

/// The processes that a process has started.
fn children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap().map(|task| task.unwrap().path());
    let texts = tasks.filter_map(|task| std::fs::read_to_string(task.join("children")).ok());
    texts.flat_map(|text| text.split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<_>>()).collect()
}

#[tokio::test]
async fn show_nowhere_in_text() {
    if is_root("canaries::show_nowhere_in_text") {
        a_life("text").await;
    }
}

#[tokio::test]
async fn show_nowhere_in_json() {
    if is_root("canaries::show_nowhere_in_json") {
        a_life("json").await;
    }
}
