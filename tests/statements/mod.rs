//! Statements of the specifications that a host and its reference backend must both keep, each through the socket
//! and in the fields that clients in the field send. The rules' own cases stand with the rules.

mod nonsense;

use prost_reflect::DescriptorPool;
use serde_json::{Value as Json, json};
use tonic::{Code, Status};

use crate::support::{Guest, Node, Options, Pool, TestHost, expect, wire};

const CREATE: &str = "csi.v1.Controller/CreateVolume";
const CREATE_GROUP: &str = "volumegroup.Controller/CreateVolumeGroup";
const MODIFY_GROUP: &str = "volumegroup.Controller/ModifyVolumeGroupMembership";
const DELETE_GROUP: &str = "volumegroup.Controller/DeleteVolumeGroup";
const CUT_GROUP: &str = "csi.v1.GroupController/CreateVolumeGroupSnapshot";
const DELETE_CUT: &str = "csi.v1.GroupController/DeleteVolumeGroupSnapshot";
const GET_CUT: &str = "csi.v1.GroupController/GetVolumeGroupSnapshot";

/// The reference backend on a plain directory. The host goes first.
struct Site {
    host: TestHost,
    #[expect(dead_code, reason = "it is kept, and removed after the host")]
    pool: Pool,
    contracts: DescriptorPool,
}

impl Site {
    async fn new() -> Self {
        let pool = Pool::plain();
        let host = TestHost::start(Guest::LOCAL, Options::default().pool(&pool.path(), Node::Withheld)).await;
        Self { host, pool, contracts: wire::contracts() }
    }

    async fn ask(&self, method: &str, request: Json) -> Result<Json, Status> {
        wire::ask(self.host.connect_later(), &self.contracts, method, request).await
    }

    async fn good(&self, method: &str, request: Json) -> Json {
        self.ask(method, request.clone()).await.unwrap_or_else(|status| panic!("{method} {request}: {status:?}"))
    }

    async fn bad(&self, method: &str, request: Json, code: Code, words: &str) {
        expect(&self.ask(method, request).await.expect_err(words), code, words);
    }

    /// A directory as a volume; its id.
    async fn directory(&self, name: &str) -> String {
        let made = self.good(
            CREATE,
            json!({ "name": name, "volumeCapabilities": [mount(1)],
            "parameters": { "kind": "directory" } }),
        );
        made.await["volume"]["volumeId"].as_str().unwrap().to_owned()
    }

    async fn group(&self, name: &str, volumes: &[&str]) -> String {
        let made = self.good(CREATE_GROUP, json!({ "name": name, "volumeIds": volumes })).await;
        made["volumeGroup"]["volumeGroupId"].as_str().unwrap().to_owned()
    }

    /// No call was held against the backend.
    async fn assert_unblamed(&self) {
        let breaker = self.host.status().await["breaker"].clone();
        assert_eq!((breaker["state"].as_str(), breaker["series"].as_u64()), (Some("closed"), Some(0)), "{breaker}");
    }
}

/// A capability to mount, with a mode by its number.
fn mount(mode: i32) -> Json {
    json!({ "mount": {}, "accessMode": { "mode": mode } })
}

fn members(answer: &Json) -> Vec<&str> {
    let volumes = answer["volumeGroup"]["volumes"].as_array().map_or(&[][..], Vec::as_slice);
    volumes.iter().map(|volume| volume["volumeId"].as_str().unwrap()).collect()
}

/// G-02, G-09: a group is found by its name, wherever its members are by now.
#[tokio::test]
async fn a_group_whose_members_have_moved_is_found_by_its_name() {
    let site = Site::new().await;
    let (one, two, three) = (site.directory("1").await, site.directory("2").await, site.directory("3").await);
    let group = site.group("g", &[&one, &two]).await;
    site.good(MODIFY_GROUP, json!({ "volumeGroupId": group, "volumeIds": [two] })).await;
    let other = site.group("h", &[&one, &three]).await;
    for _ in 0..6 {
        let again = site.good(CREATE_GROUP, json!({ "name": "g", "volumeIds": [one, two] })).await;
        assert_eq!(
            (again["volumeGroup"]["volumeGroupId"].as_str(), members(&again)),
            (Some(group.as_str()), vec![&*two])
        );
        let never = json!({ "name": "g", "volumeIds": [three] });
        site.bad(CREATE_GROUP, never, Code::AlreadyExists, &format!("volume {three} is in volume group {other}")).await;
        let limited = json!({ "name": "g", "parameters": { "max-volumes": "7" } });
        site.bad(CREATE_GROUP, limited, Code::AlreadyExists, "max-volumes").await;
        let new = json!({ "name": "n", "volumeIds": [three] });
        site.bad(CREATE_GROUP, new, Code::FailedPrecondition, "in one group only").await;
        let unknown = json!({ "volumeGroupId": "f".repeat(32), "volumeIds": [three, "nobody"] });
        site.bad(MODIFY_GROUP, unknown, Code::NotFound, "there is no volume group").await;
    }
    site.assert_unblamed().await;
}

/// A secret may be a word that any answer has: it is not shown, and says nothing about the backend.
#[tokio::test]
async fn a_secret_that_is_a_word_of_every_answer_is_not_held_against_the_backend() {
    let site = Site::new().await;
    site.directory("v").await;
    let request = json!({ "name": "v", "volumeCapabilities": [mount(1)], "parameters": { "kind": "directory" },
        "secrets": { "word": "promised, not enforced" } });
    for _ in 0..8 {
        site.bad(CREATE, request.clone(), Code::Unavailable, "the answer holds a secret of the request").await;
    }
    site.assert_unblamed().await;
}

/// T2: REQUIRED of what is there; what is not there has no members.
#[tokio::test]
async fn the_members_of_a_group_snapshot_must_be_named() {
    let site = Site::new().await;
    let volume = site.directory("v").await;
    let cut = site.good(CUT_GROUP, json!({ "name": "c", "sourceVolumeIds": [volume] })).await;
    let (id, member) = (&cut["groupSnapshot"]["groupSnapshotId"], &cut["groupSnapshot"]["snapshots"][0]["snapshotId"]);
    for method in [GET_CUT, DELETE_CUT] {
        site.bad(method, json!({ "groupSnapshotId": id }), Code::InvalidArgument, "snapshot_ids: is required").await;
    }
    let named = json!({ "groupSnapshotId": id, "snapshotIds": [member] });
    assert_eq!(site.good(GET_CUT, named.clone()).await["groupSnapshot"]["groupSnapshotId"], *id);
    site.good(DELETE_CUT, named.clone()).await;
    site.good(DELETE_CUT, json!({ "groupSnapshotId": id })).await;
    site.bad(GET_CUT, json!({ "groupSnapshotId": id }), Code::NotFound, "").await;
}

/// CSI, `NodePublishVolume`: the stage is a precondition, and the request itself is judged before it.
#[tokio::test]
async fn a_publish_without_a_stage_fails_by_precondition() {
    const PUBLISH: &str = "csi.v1.Node/NodePublishVolume";
    let site = Site::new().await;
    let volume = site.directory("v").await;
    let request = json!({ "volumeId": volume, "targetPath": "/tmp/target", "volumeCapability": mount(1) });
    site.bad(PUBLISH, request, Code::FailedPrecondition, "staging_target_path: is required").await;
    let less = json!({ "volumeId": volume, "targetPath": "/tmp/target" });
    site.bad(PUBLISH, less, Code::InvalidArgument, "volume_capability: is required").await;
}

/// Snapshots are independent here: a group goes as its volumes would.
#[tokio::test]
async fn a_group_goes_and_the_snapshots_of_its_members_stay() {
    let site = Site::new().await;
    let volume = site.directory("v").await;
    let cut = site.good("csi.v1.Controller/CreateSnapshot", json!({ "name": "s", "sourceVolumeId": volume })).await;
    let group = site.group("g", &[&volume]).await;
    site.good(DELETE_GROUP, json!({ "volumeGroupId": group })).await;
    let snapshot = &cut["snapshot"]["snapshotId"];
    let listed = site.good("csi.v1.Controller/ListSnapshots", json!({ "snapshotId": snapshot })).await;
    assert_eq!(listed["entries"][0]["snapshot"]["sourceVolumeId"], volume, "{listed}");
    let gone = site.ask("csi.v1.Controller/ControllerGetVolume", json!({ "volumeId": volume })).await;
    expect(&gone.unwrap_err(), Code::NotFound, &volume);
}

/// CSI, `GetCapacity`: what satisfies all that is given. Mode 0 is what provisioner 3.6.4 sends.
#[tokio::test]
async fn there_is_no_capacity_for_what_cannot_be_made() {
    let site = Site::new().await;
    let block = json!({ "block": {}, "accessMode": { "mode": 1 } });
    let directory = json!({ "kind": "directory" });
    for (capabilities, parameters, some) in [
        (json!([]), json!({}), true),
        (json!([block]), json!({}), true),
        (json!([block]), directory.clone(), false),
        (json!([mount(1)]), directory.clone(), true),
        (json!([mount(5)]), directory.clone(), true),
        (json!([mount(0)]), directory.clone(), true),
        (json!([mount(1), block]), directory.clone(), false),
        (json!([mount(5)]), json!({}), false),
        (json!([]), json!({ "kind": "tape" }), false),
        (json!([]), json!({ "colour": "red" }), false),
        (json!([mount(1)]), json!({ "kind": "directory", "reserve": "full" }), false),
        (json!([{ "mount": { "fsType": "fat12" }, "accessMode": { "mode": 1 } }]), json!({}), false),
    ] {
        let request = json!({ "volumeCapabilities": capabilities, "parameters": parameters });
        let told = site.good("csi.v1.Controller/GetCapacity", request.clone()).await;
        let capacity: i64 = told["availableCapacity"].as_str().map_or(0, |bytes| bytes.parse().unwrap());
        assert_eq!(capacity > 0, some, "{request}: {told}");
    }
}

/// CSI, `ValidateVolumeCapabilities`: what the client adds itself is its own (T4).
#[tokio::test]
async fn only_the_volumes_own_context_is_confirmed() {
    let site = Site::new().await;
    let volume = site.directory("v").await;
    for (context, confirmed) in [
        (json!({}), true),
        (json!({ "kind": "directory", "capacity": "promised, not enforced" }), true),
        (json!({ "kind": "directory", "storage.kubernetes.io/csiProvisionerIdentity": "1-local" }), true),
        (json!({ "kind": "image" }), false),
        (json!({ "colour": "red" }), false),
    ] {
        let request = json!({ "volumeId": volume, "volumeCapabilities": [mount(1)], "volumeContext": context });
        let told = site.good("csi.v1.Controller/ValidateVolumeCapabilities", request).await;
        assert_eq!(told.get("confirmed").is_some(), confirmed, "{context}: {told}");
        assert_eq!(told.get("message").is_none(), confirmed, "{context}: {told}");
    }
}

/// The fields of the csi-addons sidecar: a volume's attributes stand where parameters do.
#[tokio::test]
async fn reclaiming_takes_the_attributes_of_the_volume() {
    const RECLAIM: &str = "reclaimspace.ReclaimSpaceController/ControllerReclaimSpace";
    let site = Site::new().await;
    let block = json!({ "block": {}, "accessMode": { "mode": 1 } });
    let range = json!({ "requiredBytes": 1 << 20 });
    let request = json!({ "name": "v", "volumeCapabilities": [block], "capacityRange": range });
    let volume = site.good(CREATE, request).await["volume"].clone();
    let mut parameters = volume["volumeContext"].clone();
    parameters["storage.kubernetes.io/csiProvisionerIdentity"] = json!("1732400000000-8081-local.drivebay.dev");
    parameters["reserve"] = json!("thin");
    site.good(RECLAIM, json!({ "volumeId": volume["volumeId"], "parameters": parameters })).await;
    parameters["colour"] = json!("red");
    let unknown = json!({ "volumeId": volume["volumeId"], "parameters": parameters });
    site.bad(RECLAIM, unknown, Code::InvalidArgument, "unknown parameter: colour").await;
}

/// What is served is listed.
#[tokio::test]
async fn reflection_lists_all_that_is_served() {
    // Field 7 of the request: list the services.
    let request = vec![0x3a, 1, b'*'];
    let site = Site::new().await;
    for version in ["v1", "v1alpha"] {
        let path = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
        let answers = wire::stream(site.host.connect_later(), &path, request.clone()).await.unwrap();
        let listed = String::from_utf8_lossy(&answers.concat()).into_owned();
        let services = site.contracts.services().map(|service| service.full_name().to_owned());
        let further = ["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"].map(ToOwned::to_owned);
        for service in services.filter(|name| !name.starts_with("drivebay.")).chain(further) {
            assert!(listed.contains(&service), "{version} does not list {service}: {listed:?}");
        }
    }
}
