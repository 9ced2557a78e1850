//! csi-addons as its clients see it, on the test backend: which services are there, what the host
//! decides for every backend, and what it makes of bad answers; and on the reference backend, as far
//! as one site goes. Knows no storage.

mod dialects;
mod groups;
mod locks;
mod reference;
mod replication;
mod upkeep;

use std::collections::BTreeMap;

use prost_reflect::DescriptorPool;
use serde_json::{Value as Json, json};
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::support::wire::{self, ask as call};
use crate::support::{Guest, Options, TestHost, expect};

/// Separates the fields of the test backend's records.
const NEXT: char = '\u{1f}';

/// A host with the test backend, and calls written as JSON.
struct Site {
    host: TestHost,
    channel: Channel,
    contracts: DescriptorPool,
}

impl Site {
    async fn new() -> Self {
        Self::with("").await
    }

    /// The test backend with further features.
    async fn with(features: &str) -> Self {
        let options = Options::default().setting("features", features);
        let host = TestHost::start(Guest::TESTER, options).await;
        let channel = host.connect().await;
        Self { host, channel, contracts: wire::contracts() }
    }

    /// Calls `service/Method`.
    async fn call(&self, method: &str, request: Json) -> Result<Json, Status> {
        call(self.channel.clone(), &self.contracts, method, request).await
    }

    /// The answer of a call that must succeed.
    async fn good(&self, method: &str, request: Json) -> Json {
        self.call(method, request).await.unwrap_or_else(|status| panic!("{method}: {status:?}"))
    }

    /// A call that must be refused.
    async fn bad(&self, method: &str, request: Json, code: Code, words: &str) {
        let status = self.call(method, request).await.expect_err(method);
        expect(&status, code, words);
    }

    /// Puts volumes there.
    async fn volumes(&self, ids: &[&str]) {
        for id in ids {
            let record = format!("4096{NEXT}none{NEXT}{NEXT}made by the test");
            self.host.control(&[(&format!("set:volume/{id}"), &record)]).await;
        }
    }

    /// Puts a volume group there.
    async fn group(&self, id: &str, members: &[&str]) {
        self.volumes(members).await;
        let record = format!("[]{NEXT}{}", members.join(","));
        self.host.control(&[(&format!("set:volume-group/{id}"), &record)]).await;
    }

    /// Makes a source replicated: `volume/ID`, `group/ID` or `snapshot/ID`.
    async fn replicated(&self, source: &str, role: &str) {
        let record = format!("{role}{NEXT}{NEXT}[]{NEXT}false");
        self.host.control(&[(&format!("set:replica/{source}"), &record)]).await;
    }

    /// What the backend remembers of replications.
    async fn replicas(&self) -> BTreeMap<String, String> {
        self.host.control(&[("get:replica/", "")]).await
    }
}

fn volume(id: &str) -> Json {
    json!({ "volume": { "volumeId": id } })
}

fn group(id: &str) -> Json {
    json!({ "volumegroup": { "volumeGroupId": id } })
}

fn snapshot(id: &str) -> Json {
    json!({ "volumesnapshot": { "volumeSnapshotId": id } })
}

/// A request on a source and nothing else.
fn on(source: &Json) -> Json {
    json!({ "replicationSource": source })
}

/// A request that every method accepts, on a volume `vol-v`, a group `vg-g` and a source `vol-r`.
const CALLS: [(&str, &str); 22] = [
    ("identity.Identity/GetIdentity", "{}"),
    ("identity.Identity/GetCapabilities", "{}"),
    ("identity.Identity/Probe", "{}"),
    ("replication.Controller/EnableVolumeReplication", r#"{"volumeId": "vol-r"}"#),
    ("replication.Controller/DemoteVolume", r#"{"volumeId": "vol-r"}"#),
    ("replication.Controller/ResyncVolume", r#"{"volumeId": "vol-r"}"#),
    ("replication.Controller/PromoteVolume", r#"{"volumeId": "vol-r"}"#),
    ("replication.Controller/GetVolumeReplicationInfo", r#"{"volumeId": "vol-r"}"#),
    (
        "replication.Controller/GetReplicationDestinationInfo",
        r#"{"replicationSource": {"volume": {"volumeId": "vol-r"}}}"#,
    ),
    ("replication.Controller/DisableVolumeReplication", r#"{"volumeId": "vol-r"}"#),
    ("volumegroup.Controller/CreateVolumeGroup", r#"{"name": "g", "volumeIds": ["vol-v"]}"#),
    ("volumegroup.Controller/ControllerGetVolumeGroup", r#"{"volumeGroupId": "vg-g"}"#),
    ("volumegroup.Controller/ListVolumeGroups", "{}"),
    ("volumegroup.Controller/ModifyVolumeGroupMembership", r#"{"volumeGroupId": "vg-g"}"#),
    ("volumegroup.Controller/DeleteVolumeGroup", r#"{"volumeGroupId": "vg-g"}"#),
    ("fence.FenceController/FenceClusterNetwork", r#"{"cidrs": [{"cidr": "192.0.2.0/24"}]}"#),
    ("fence.FenceController/UnfenceClusterNetwork", r#"{"cidrs": [{"cidr": "192.0.2.0/24"}]}"#),
    ("fence.FenceController/ListClusterFence", "{}"),
    ("fence.FenceController/GetFenceClients", "{}"),
    ("reclaimspace.ReclaimSpaceController/ControllerReclaimSpace", r#"{"volumeId": "vol-v"}"#),
    ("reclaimspace.ReclaimSpaceNode/NodeReclaimSpace", r#"{"volumeId": "vol-v", "volumePath": "/nowhere"}"#),
    ("encryptionkeyrotation.EncryptionKeyRotationController/EncryptionKeyRotate", r#"{"volumeId": "vol-v"}"#),
];

#[test]
fn the_calls_are_those_of_all_add_on_services() {
    let services: Vec<_> = wire::contracts().services().filter(|s| !s.full_name().starts_with("csi.")).collect();
    let methods = services
        .iter()
        .flat_map(|s| s.methods().map(|m| format!("{}/{}", s.full_name(), m.name())).collect::<Vec<_>>());
    let mut methods: Vec<_> = methods.collect();
    let mut listed: Vec<_> = CALLS.iter().map(|(method, _)| (*method).to_owned()).collect();
    methods.sort();
    listed.sort();
    assert_eq!((services.len(), methods), (7, listed));
}

/// Each socket answers the other's services, too.
#[tokio::test]
async fn every_add_on_call_on_both_sockets() {
    let host = TestHost::start(Guest::TESTER, Options::default().with_addons()).await;
    let site = Site { channel: host.connect().await, host, contracts: wire::contracts() };
    site.volumes(&["vol-v", "vol-r"]).await;
    for channel in [site.channel.clone(), site.host.connect_addons().await] {
        for (method, request) in CALLS {
            let request = serde_json::from_str(request).unwrap();
            let answer = call(channel.clone(), &site.contracts, method, request).await;
            answer.unwrap_or_else(|status| panic!("{method}: {status:?}"));
        }
        let csi = call(channel, &site.contracts, "csi.v1.Identity/GetPluginInfo", json!({})).await.unwrap();
        assert_eq!(csi["name"], "tester.drivebay.dev");
    }
}

/// A minimal backend has none of it: every call says so, and no capability claims otherwise.
#[tokio::test]
async fn what_a_backend_does_not_export_is_not_there() {
    let host = TestHost::start(Guest("minimal-rust"), Options::default()).await;
    let (channel, contracts) = (host.connect().await, wire::contracts());
    for (method, request) in CALLS.into_iter().filter(|(method, _)| !method.starts_with("identity.")) {
        let answer = call(channel.clone(), &contracts, method, serde_json::from_str(request).unwrap()).await;
        expect(&answer.expect_err(method), Code::Unimplemented, "does not export drivebay:backend/");
    }
    let told = call(channel, &contracts, "identity.Identity/GetCapabilities", json!({})).await.unwrap();
    assert_eq!(told["capabilities"], json!([{ "service": { "type": "CONTROLLER_SERVICE" } }]));
}

/// One message a value; exports and features say which.
#[tokio::test]
async fn capabilities_follow_from_exports_and_features() {
    let always = [
        ("service", "CONTROLLER_SERVICE"),
        ("service", "NODE_SERVICE"),
        ("reclaimSpace", "OFFLINE"),
        ("reclaimSpace", "ONLINE"),
        ("networkFence", "NETWORK_FENCE"),
        ("networkFence", "GET_CLIENTS_TO_FENCE"),
        ("volumeReplication", "VOLUME_REPLICATION"),
        ("volumeReplication", "GET_REPLICATION_DESTINATION_INFO"),
        ("volumeGroup", "VOLUME_GROUP"),
    ];
    let by_feature = [
        ("one-group-per-volume", ("volumeGroup", "LIMIT_VOLUME_TO_ONE_VOLUME_GROUP")),
        ("group-keeps-volumes", ("volumeGroup", "DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES")),
    ];
    let after = [
        ("volumeGroup", "MODIFY_VOLUME_GROUP"),
        ("volumeGroup", "GET_VOLUME_GROUP"),
        ("volumeGroup", "LIST_VOLUME_GROUPS"),
        ("encryptionKeyRotation", "ENCRYPTIONKEYROTATION"),
    ];
    for chosen in [&by_feature[..0], &by_feature[..1], &by_feature[1..], &by_feature[..]] {
        let features: Vec<_> = chosen.iter().map(|(feature, _)| *feature).collect();
        let site = Site::with(&features.join(" ")).await;
        let expected = always.into_iter().chain(chosen.iter().map(|(_, value)| *value)).chain(after);
        let expected: Vec<_> = expected.map(|(kind, value)| json!({ kind: { "type": value } })).collect();
        let told = site.good("identity.Identity/GetCapabilities", json!({})).await;
        assert_eq!(told["capabilities"], Json::Array(expected), "{features:?}");
    }
}
