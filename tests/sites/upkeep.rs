//! Space that is given back, counted in the pool, and nodes that are fenced: two hosts on one pool.

use std::os::unix::fs::MetadataExt as _;

use serde_json::{Value as Json, json};
use tonic::{Code, Status};

use crate::support::place::{Place, PoolKind};
use crate::support::site::{Content, Site, Volume, options_with};
use crate::support::{Guest, TestHost, expect, wire};

const MIB: u64 = 1 << 20;

async fn ask(host: &TestHost, method: &str, request: Json) -> Result<Json, Status> {
    wire::ask(host.connect_later(), &wire::contracts(), method, request).await
}

/// The blocks of an image, in bytes.
fn taken(site: &Site, volume: &Volume) -> u64 {
    std::fs::metadata(site.place.image("volumes", &volume.id)).unwrap().blocks() * 512
}

/// What an answer tells of before and after.
fn told(answer: &Json) -> (u64, u64) {
    let bytes = |usage: &str| answer[usage]["usageBytes"].as_str().unwrap().parse().unwrap();
    (bytes("preUsage"), bytes("postUsage"))
}

/// Zeros become holes in an image that nobody uses; a file system that is mounted is trimmed.
#[tokio::test]
async fn reclaiming_gives_real_bytes_back() {
    let Some(site) = Site::start(PoolKind::Xfs).await else { return };
    let block = site.create("block", Content::Block, None).await.unwrap();
    let image = site.place.image("volumes", &block.id);
    let mut bytes = vec![7; usize::try_from(8 * MIB).unwrap()];
    std::fs::write(&image, &bytes).unwrap();
    bytes[1 << 20..6 << 20].fill(0);
    std::fs::write(&image, &bytes).unwrap();
    std::fs::File::open(&image).unwrap().sync_all().unwrap();
    let before = taken(&site, &block);
    let request = json!({ "volumeId": block.id });
    let answer = ask(&site.host, "reclaimspace.ReclaimSpaceController/ControllerReclaimSpace", request).await.unwrap();
    let after = taken(&site, &block);
    assert_eq!(told(&answer), (before, after));
    assert!(before - after >= 5 * MIB, "{before} and {after}");
    assert!(std::fs::read(&image).unwrap() == bytes, "the contents have changed");

    let mounted = site.create("mounted", Content::Ext4, None).await.unwrap();
    site.mount(&mounted).await.unwrap();
    let file = std::path::PathBuf::from(site.target(&mounted)).join("file");
    std::fs::write(&file, vec![7; usize::try_from(12 * MIB).unwrap()]).unwrap();
    std::fs::File::open(&file).unwrap().sync_all().unwrap();
    std::fs::remove_file(&file).unwrap();
    std::fs::File::open(site.target(&mounted)).unwrap().sync_all().unwrap();
    let full = taken(&site, &mounted);
    let request = json!({ "volumeId": mounted.id, "volumePath": site.target(&mounted) });
    let answer = ask(&site.host, "reclaimspace.ReclaimSpaceNode/NodeReclaimSpace", request).await.unwrap();
    let (before, after) = told(&answer);
    assert!(before <= full && before - after >= 10 * MIB && after == taken(&site, &mounted), "{full}: {answer}");
    let elsewhere = json!({ "volumeId": mounted.id, "volumePath": "/elsewhere" });
    let refused = ask(&site.host, "reclaimspace.ReclaimSpaceNode/NodeReclaimSpace", elsewhere).await;
    expect(&refused.unwrap_err(), Code::NotFound, "");
}

/// The list lies in the pool: what one host fences is refused at the other.
#[tokio::test]
async fn a_fenced_node_is_given_nothing_new() {
    let Some(place) = Place::make(PoolKind::Xfs) else { return };
    let host = |node: &str, address: &str| {
        let options = options_with(&place, node, &[]).setting("addresses", address).setting("nodes", "node-1,node-2");
        TestHost::start(Guest::LOCAL, options)
    };
    let (first, second) = tokio::join!(host("node-1", "192.0.2.1"), host("node-2", "198.51.100.2,2001:db8::2"));
    let site = Site { host: first, place };
    let volumes = [
        site.create("attached", Content::Ext4, None).await.unwrap(),
        site.create("before", Content::Ext4, None).await.unwrap(),
        site.create("after", Content::Ext4, None).await.unwrap(),
    ];
    let node = Node { host: &second, site: &site };
    node.stage(&volumes[1]).await.unwrap();

    let clients = ask(&second, "fence.FenceController/GetFenceClients", json!({})).await.unwrap();
    let clients = clients["clients"].as_array().unwrap();
    let addresses = |node: &str| {
        let client = clients.iter().find(|client| client["id"] == node).unwrap_or_else(|| panic!("{clients:?}"));
        client["addresses"].as_array().unwrap().iter().map(|one| one["cidr"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(addresses("node-1"), ["192.0.2.1/32"]);
    assert_eq!(addresses("node-2"), ["198.51.100.2/32", "2001:db8::2/128"]);

    let network = json!({ "cidrs": [{ "cidr": "2001:db8::/64" }] });
    for _ in 0..2 {
        ask(&site.host, "fence.FenceController/FenceClusterNetwork", network.clone()).await.unwrap();
    }
    let listed = ask(&second, "fence.FenceController/ListClusterFence", json!({})).await.unwrap();
    assert_eq!(listed, network);
    let words = "2001:db8::2 lies in 2001:db8::/64";
    expect(&node.stage(&volumes[2]).await.unwrap_err(), Code::FailedPrecondition, words);
    expect(&node.publish(&volumes[1]).await.unwrap_err(), Code::FailedPrecondition, words);
    expect(&attach(&site, &volumes[0], "node-2").await.unwrap_err(), Code::FailedPrecondition, words);
    attach(&site, &volumes[0], "node-1").await.expect("another node is not fenced");
    site.mount(&volumes[2]).await.expect("another node is not fenced");
    site.unmount(&volumes[2]).await.unwrap();
    // What it has it may give back.
    node.unstage(&volumes[1]).await.unwrap();

    for _ in 0..2 {
        ask(&second, "fence.FenceController/UnfenceClusterNetwork", network.clone()).await.unwrap();
    }
    node.stage(&volumes[1]).await.unwrap();
    node.unstage(&volumes[1]).await.unwrap();
}

async fn attach(site: &Site, volume: &Volume, node: &str) -> Result<Json, Status> {
    let capability = json!({ "mount": {}, "accessMode": { "mode": "SINGLE_NODE_WRITER" } });
    let request = json!({ "volumeId": volume.id, "nodeId": node, "volumeCapability": capability });
    ask(&site.host, "csi.v1.Controller/ControllerPublishVolume", request).await
}

/// The second host of a pool, which mounts at places of its own.
struct Node<'a> {
    host: &'a TestHost,
    site: &'a Site,
}

impl Node<'_> {
    async fn stage(&self, volume: &Volume) -> Result<Json, Status> {
        ask(self.host, "csi.v1.Node/NodeStageVolume", self.request(volume, json!({}))).await
    }

    async fn publish(&self, volume: &Volume) -> Result<Json, Status> {
        let target = self.site.place.pod(&format!("{}-at-2", volume.name)).join("target");
        ask(self.host, "csi.v1.Node/NodePublishVolume", self.request(volume, json!({ "targetPath": target }))).await
    }

    async fn unstage(&self, volume: &Volume) -> Result<Json, Status> {
        let mut request = self.request(volume, json!({}));
        request.as_object_mut().unwrap().remove("volumeCapability");
        ask(self.host, "csi.v1.Node/NodeUnstageVolume", request).await
    }

    fn request(&self, volume: &Volume, mut more: Json) -> Json {
        more["volumeId"] = json!(volume.id);
        more["stagingTargetPath"] = json!(self.site.place.pod(&format!("{}-at-2", volume.name)).join("staging"));
        more["volumeCapability"] = json!({ "mount": {}, "accessMode": { "mode": "SINGLE_NODE_WRITER" } });
        more
    }
}
