//! Secrets of requests show nowhere: not in the log at its loudest, not in a status, not on disk,
//! also when the backend itself says them. Which fields are secret is read from the contract's own
//! marks, so a field that is marked tomorrow is tested tomorrow.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use drivebay_proto::pb::csi::v1::CreateVolumeRequest;
use prost_reflect::{
    DynamicMessage, FieldDescriptor, MapKey, MessageDescriptor, MethodDescriptor, ReflectMessage as _, Value,
};
use serde_json::{Value as Json, json};
use tonic::Code;

use crate::support::{Guest, Options, TestHost, expect, refused, requests, wire};

/// A well-formed request of every method that carries secrets, and under which operation
/// and object the test backend knows it.
#[expect(clippy::too_many_lines, reason = "a table, one row a method")]
fn methods() -> Vec<(&'static str, &'static str, &'static str, Json)> {
    let capability = json!({
        "mount": { "fsType": "ext4", "mountFlags": [FLAG] }, "accessMode": { "mode": "SINGLE_NODE_WRITER" }
    });
    let volume = json!({ "volumeId": "vol-v" });
    let with = |base: &Json, more: Json| {
        let mut all = base.as_object().unwrap().clone();
        all.extend(more.as_object().unwrap().clone());
        Json::Object(all)
    };
    let capable = with(&volume, json!({ "volumeCapability": capability }));
    let capabilities = json!({ "volumeCapabilities": [capability] });
    let staged = with(&capable, json!({ "stagingTargetPath": "/nowhere/staging" }));
    let snapshot = json!({ "snapshotId": "snap-s" });
    let group = json!({ "groupSnapshotId": "group-g", "snapshotIds": ["snap-member"] });
    vec![
        ("Controller.CreateVolume", "create-volume", "n", with(&capabilities, json!({ "name": "n" }))),
        ("Controller.DeleteVolume", "delete-volume", "vol-v", volume.clone()),
        (
            "Controller.ControllerPublishVolume",
            "attach-volume",
            "vol-v",
            with(&capable, json!({ "nodeId": "tester-node" })),
        ),
        ("Controller.ControllerUnpublishVolume", "detach-volume", "vol-v", volume.clone()),
        ("Controller.ValidateVolumeCapabilities", "validate-volume-capabilities", "vol-v", with(&volume, capabilities)),
        (
            "Controller.ControllerModifyVolume",
            "modify-volume",
            "vol-v",
            with(&volume, json!({ "mutableParameters": { "a": "b" } })),
        ),
        (
            "Controller.ControllerExpandVolume",
            "expand-volume",
            "vol-v",
            with(&volume, json!({ "capacityRange": { "requiredBytes": "5" } })),
        ),
        ("Controller.ControllerGetVolumeHealth", "get-volume-health", "vol-v", volume.clone()),
        ("Controller.ControllerListVolumeHealth", "list-volume-health", "all", json!({})),
        ("Controller.CreateSnapshot", "create-snapshot", "m", json!({ "name": "m", "sourceVolumeId": "vol-v" })),
        ("Controller.DeleteSnapshot", "delete-snapshot", "snap-s", snapshot.clone()),
        ("Controller.ListSnapshots", "list-snapshots", "all", json!({})),
        ("Controller.GetSnapshot", "get-snapshot", "snap-s", snapshot.clone()),
        (
            "GroupController.CreateVolumeGroupSnapshot",
            "create-group-snapshot",
            "g",
            json!({ "name": "g", "sourceVolumeIds": ["vol-v"] }),
        ),
        ("GroupController.GetVolumeGroupSnapshot", "get-group-snapshot", "group-g", group.clone()),
        ("GroupController.DeleteVolumeGroupSnapshot", "delete-group-snapshot", "group-g", group),
        ("SnapshotMetadata.GetMetadataAllocated", "get-allocated", "snap-s", snapshot),
        (
            "SnapshotMetadata.GetMetadataDelta",
            "get-delta",
            "snap-t",
            json!({ "baseSnapshotId": "snap-s", "targetSnapshotId": "snap-t" }),
        ),
        ("Node.NodeStageVolume", "stage-volume", "vol-v", staged.clone()),
        (
            "Node.NodePublishVolume",
            "publish-volume",
            "vol-v",
            with(&staged, json!({ "targetPath": "/nowhere/target" })),
        ),
        (
            "Node.NodeExpandVolume",
            "node-expand-volume",
            "vol-v",
            with(&staged, json!({ "volumePath": "/nowhere/target" })),
        ),
        ("Node.NodeGetStorageHealth", "get-storage-health", "host", json!({})),
    ]
}

/// The same for csi-addons.
fn addons() -> Vec<(&'static str, &'static str, &'static str, Json)> {
    let capability = json!({
        "mount": { "fsType": "ext4", "mountFlags": [FLAG] }, "accessMode": { "mode": "SINGLE_NODE_WRITER" }
    });
    let on = |id: &str| json!({ "replicationSource": { "volume": { "volumeId": id } } });
    let volume = json!({ "volumeId": "vol-v" });
    let reclaim = json!({ "volumeId": "vol-v", "volumePath": "/nowhere", "volumeCapability": capability });
    let rotate = json!({ "volumeId": "vol-v", "volumeCapability": capability });
    let group = json!({ "volumeGroupId": "vg-g" });
    let networks = json!({ "cidrs": [{ "cidr": "192.0.2.0/24" }] });
    vec![
        ("Controller.EnableVolumeReplication", "enable-replication", "vol-p", on("vol-p")),
        ("Controller.DisableVolumeReplication", "disable-replication", "vol-q", on("vol-q")),
        ("Controller.PromoteVolume", "promote", "vol-p", on("vol-p")),
        ("Controller.DemoteVolume", "demote", "vol-q", on("vol-q")),
        ("Controller.ResyncVolume", "resync", "vol-q", on("vol-q")),
        ("Controller.GetVolumeReplicationInfo", "get-replication", "vol-p", on("vol-p")),
        ("Controller.GetReplicationDestinationInfo", "get-destination", "vol-p", on("vol-p")),
        ("Controller.CreateVolumeGroup", "create-volume-group", "n", json!({ "name": "n" })),
        (
            "Controller.ModifyVolumeGroupMembership",
            "modify-membership",
            "vg-g",
            json!({ "volumeGroupId": "vg-g", "volumeIds": ["vol-v"] }),
        ),
        ("Controller.DeleteVolumeGroup", "delete-volume-group", "vg-g", group.clone()),
        ("Controller.ControllerGetVolumeGroup", "get-volume-group", "vg-g", group),
        ("Controller.ListVolumeGroups", "list-volume-groups", "all", json!({})),
        ("FenceController.FenceClusterNetwork", "fence", "all", networks.clone()),
        ("FenceController.UnfenceClusterNetwork", "unfence", "all", networks),
        ("FenceController.ListClusterFence", "list-fences", "all", json!({})),
        ("FenceController.GetFenceClients", "get-fence-clients", "all", json!({})),
        ("ReclaimSpaceController.ControllerReclaimSpace", "reclaim-space", "vol-v", volume),
        ("ReclaimSpaceNode.NodeReclaimSpace", "node-reclaim-space", "vol-v", reclaim),
        ("EncryptionKeyRotationController.EncryptionKeyRotate", "rotate-key", "vol-v", rotate),
    ]
}

/// All of them.
fn table() -> Vec<(&'static str, &'static str, &'static str, Json)> {
    let mut all = methods();
    all.extend(addons());
    all
}

/// A mount flag may hold a secret, so the host says none by itself; an answer may repeat it to the
/// client that sent it (`ValidateVolumeCapabilities` must).
const FLAG: &str = "password=c4n4ry-fl4g";

/// Secret values, counted, that look different in both alphabets of base 64.
#[derive(Debug, Default)]
pub struct Canaries(Vec<String>);

impl Canaries {
    pub fn next(&mut self) -> String {
        let canary = format!("c4n4ry~{}?>>?ÿ", self.0.len());
        self.0.push(canary.clone());
        canary
    }

    /// Puts a fresh value, or several, into every secret field of a request. Gives how many fields.
    pub fn fill(&mut self, request: &mut DynamicMessage) -> usize {
        let fields: Vec<_> = request.descriptor().fields().filter(is_secret).collect();
        for field in &fields {
            let value = if field.is_map() {
                let entry = |key: &str, canary: String| (MapKey::String(key.to_owned()), Value::String(canary));
                Value::Map([entry("user", self.next()), entry("key", self.next())].into())
            } else {
                Value::String(self.next())
            };
            request.set_field(field, value);
        }
        fields.len()
    }

    /// Where a canary stands in a text, plain or coded.
    fn found_in(&self, text: &str) -> Option<String> {
        let text = text.to_ascii_lowercase();
        self.0.iter().flat_map(|canary| forms(canary)).find(|form| text.contains(form.as_str()))
    }
}

/// How a value can be written, in small letters.
fn forms(value: &str) -> Vec<String> {
    // Behind one or two other characters, without those in which a neighbour has a part.
    let behind = |neighbours: usize| {
        let coded = STANDARD_NO_PAD.encode(format!("{}{value}", "x".repeat(neighbours)));
        coded[4..coded.len() - 4].to_owned()
    };
    let whole = [value.to_owned(), STANDARD_NO_PAD.encode(value), URL_SAFE_NO_PAD.encode(value), behind(1), behind(2)];
    let digits: Vec<_> = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let coded = [digits.concat(), format!("%{}", digits.join("%"))];
    whole.map(|form| form.to_ascii_lowercase()).into_iter().chain(coded).collect()
}

pub fn is_secret(field: &FieldDescriptor) -> bool {
    let marks = field.options();
    marks.extensions().any(|(mark, value)| mark.full_name() == "csi.v1.csi_secret" && value.as_bool() == Some(true))
}

fn has_secret(message: &MessageDescriptor) -> bool {
    message.fields().any(|field| is_secret(&field))
}

pub fn secret_methods() -> Vec<MethodDescriptor> {
    let contracts = wire::contracts();
    let methods: Vec<_> = contracts.services().flat_map(|service| service.methods().collect::<Vec<_>>()).collect();
    methods.into_iter().filter(|method| has_secret(&method.input())).collect()
}

pub fn name_of(method: &MethodDescriptor) -> String {
    format!("{}.{}", method.parent_service().name(), method.name())
}

/// A volume, two snapshots for a difference, and a group snapshot of one member; a primary and a
/// secondary source of replication, and an empty volume group.
async fn prepare(host: &TestHost) {
    let separator = '\u{1f}';
    let volume = format!("4096{separator}none{separator}{separator}made by the test");
    let snapshot = format!("vol-v{separator}4096{separator}1{separator}");
    let member = format!("{snapshot}group-g");
    let replica = |role: &str| format!("{role}{separator}{separator}[]{separator}false");
    let (primary, secondary) = (replica("primary"), replica("secondary"));
    let group = format!("[]{separator}");
    let wishes = [
        ("set:volume/vol-v", volume.as_str()),
        ("set:volume/vol-p", &volume),
        ("set:volume/vol-q", &volume),
        ("set:replica/volume/vol-p", &primary),
        ("set:replica/volume/vol-q", &secondary),
        ("set:volume-group/vg-g", &group),
        ("set:snapshot/snap-s", &snapshot),
        ("set:snapshot/snap-t", &snapshot),
        ("set:snapshot/snap-member", &member),
        // What an earlier creation made would count as the group's, too.
        ("unset:snapshot/snap-group-g-vol-v", ""),
    ];
    host.control(&wishes).await;
}

#[test]
fn the_table_has_every_method_with_secrets() {
    let mut marked: Vec<_> = secret_methods().iter().map(name_of).collect();
    let mut listed: Vec<_> = table().into_iter().map(|(name, ..)| name.to_owned()).collect();
    marked.sort();
    listed.sort();
    assert_eq!(marked, listed);
}

#[tokio::test]
async fn secrets_show_nowhere() {
    let mut host = TestHost::start(Guest::TESTER, Options::default().log("trace").limit("log-burst", "8MiB")).await;
    let (mut canaries, table) = (Canaries::default(), table());
    for method in secret_methods() {
        let (_, operation, object, json) = table.iter().find(|(name, ..)| *name == name_of(&method)).unwrap();
        let channel = host.connect().await;
        for word in ["leak", "panic", ""] {
            prepare(&host).await;
            let (key, leaks) = (format!("act/{operation}/{object}"), word == "leak");
            let wish = if word.is_empty() { format!("unset:{key}") } else { format!("set:{key}") };
            host.control(&[(&wish, word)]).await;
            let mut request = DynamicMessage::deserialize(method.input(), json.clone()).unwrap();
            assert!(canaries.fill(&mut request) > 0);
            let answer = wire::call(channel.clone(), &method, &request).await;
            assert_eq!(answer.is_err(), !word.is_empty(), "{}: {answer:?}", name_of(&method));
            let said = format!("{answer:?}");
            assert!(!leaks || said.contains("leaked *** and ***"), "{said}");
            assert_eq!(canaries.found_in(&said), None, "{said}");
            assert!(answer.is_ok() || !said.contains(FLAG), "{said}");
        }
        // Refused before the backend sees it: nothing but secrets in the request.
        let mut request = DynamicMessage::new(method.input());
        canaries.fill(&mut request);
        let said = format!("{:?}", wire::call(channel, &method, &request).await);
        assert_eq!(canaries.found_in(&said), None, "{said}");
    }
    host.stop().await;

    let log = host.log.text();
    let panics = log.lines().filter(|line| line.contains("with secrets: *** and ***")).count();
    assert!(panics >= table.len(), "the words of a panic come without its secrets: {panics}");
    let leaked = [
        "on stdout: *** and ***",
        "on stderr: *** and ***",
        "in the log: *** and ***",
        "in base64: ***",
        "in digits: *** ***",
        "escaped: *** ***",
        "louder: ***",
    ];
    for line in leaked {
        assert!(log.matches(line).count() >= table.len(), "the backend did say its secrets: {line}");
    }
    assert!(log.contains("TRACE"), "the log is at its loudest");
    let line = log.lines().find(|line| line.contains(FLAG) || canaries.found_in(line).is_some());
    assert_eq!(line, None);
    for file in std::fs::read_dir(host.state()).unwrap().map(|entry| entry.unwrap().path()) {
        if file.is_file() {
            let bytes = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
            assert!(!bytes.contains(FLAG) && canaries.found_in(&bytes).is_none(), "{}", file.display());
        }
    }
}

/// A backend may keep a secret and say it when a call comes that has no part in it.
#[tokio::test]
async fn the_next_call_says_no_secret() {
    let host = TestHost::tester().await;
    host.instruct("create-volume", "a", "keep").await;
    host.instruct("create-volume", "b", "tell").await;
    let secrets = [("key".to_owned(), "0pen~sesame".to_owned())].into();
    let mut client = host.controller().await;
    client.create_volume(CreateVolumeRequest { secrets, ..requests::create("a") }).await.unwrap();
    let status = refused(client.create_volume(requests::create("b")).await);
    expect(&status, Code::Unavailable, "it was ***");
    host.log.wait("context=\"tell\"", 1).await;
    assert!(host.log.text().contains("it was ***") && !host.log.text().contains("0pen~sesame"));
}

/// An instance that serves another call next does not take along what it said in this one.
#[tokio::test]
async fn an_unfinished_line_ends_with_its_call() {
    let reuse = "instances = { reuse = { calls = 1000, idle = \"60s\" } }";
    let host = TestHost::start(Guest::TESTER, Options::default().backend(reuse)).await;
    host.instruct("create-volume", "a", "mutter").await;
    let secrets = [("key".to_owned(), "0pen~sesame".to_owned())].into();
    let request = CreateVolumeRequest { secrets, ..requests::create("a") };
    host.controller().await.create_volume(request).await.unwrap();
    // Nothing else is said that could end the line.
    host.log.wait("muttered: ***", 1).await;
    assert!(!host.log.text().contains("0pen~sesame"));
}

/// What an answer tells, clients keep and show. What the client itself says in the open may come back.
#[tokio::test]
async fn answers_with_secrets_are_refused() {
    let host = TestHost::tester().await;
    let mut client = host.controller().await;
    let secrets = || [("key".to_owned(), "0pen~sesame".to_owned())].into();
    for (name, flaw) in [("a", "secret-id"), ("b", "secret-context"), ("c", "secret-key")] {
        host.instruct("create-volume", name, &format!("bad {flaw}")).await;
        let request = CreateVolumeRequest { secrets: secrets(), ..requests::create(name) };
        let status = refused(client.create_volume(request).await);
        expect(&status, Code::Unavailable, "the answer holds a secret of the request");
        assert!(!format!("{status:?}{}", host.log.text()).to_ascii_lowercase().contains("0pen~sesame"));
    }
    host.instruct("create-volume", "d", "bad secret-context").await;
    let parameters = [("door".to_owned(), "0pen~sesame".to_owned())].into();
    let request = CreateVolumeRequest { secrets: secrets(), parameters, ..requests::create("d") };
    let volume = client.create_volume(request).await.unwrap().into_inner().volume.unwrap();
    assert_eq!(volume.volume_context.get("login").map(String::as_str), Some("0pen~sesame"));
}

/// Too short to be replaced in every ordinary word: a line that has it is dropped.
#[tokio::test]
async fn words_with_a_short_secret_are_dropped() {
    let host = TestHost::tester().await;
    host.instruct("create-volume", "a", "leak").await;
    let secrets = [("pin".to_owned(), "q7!".to_owned())].into();
    let request = CreateVolumeRequest { secrets, ..requests::create("a") };
    let status = refused(host.controller().await.create_volume(request).await);
    expect(&status, Code::Unavailable, "hold a secret and are not shown");
    assert!(!host.log.text().contains("q7!") && !status.message().contains("q7!"));
}
