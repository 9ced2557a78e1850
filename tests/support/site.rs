//! A host that serves the reference backend on a place, and what clients ask of it, by volume. It
//! asserts nothing: every call gives the answer or the refusal.

use std::collections::BTreeSet;
use std::path::Path;

use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::group_controller_client::GroupControllerClient;
use drivebay_proto::pb::csi::v1::node_client::NodeClient;
use drivebay_proto::pb::csi::v1::volume_capability::{AccessMode, AccessType, BlockVolume, MountVolume, access_mode};
use drivebay_proto::pb::csi::v1::volume_content_source::{SnapshotSource, Type, VolumeSource};
use drivebay_proto::pb::csi::v1::{
    ControllerExpandVolumeRequest, CreateVolumeRequest, ListSnapshotsRequest, ListVolumesRequest,
    NodeExpandVolumeRequest, NodePublishVolumeRequest, NodeStageVolumeRequest, NodeUnpublishVolumeRequest,
    NodeUnstageVolumeRequest, VolumeCapability, VolumeContentSource,
};
use tonic::Status;
use tonic::transport::Channel;

use super::place::{Place, PoolKind};
use super::tap::Tap;
use super::{Guest, Options, TestHost, beside_steps, requests};

/// What a volume holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Content {
    Ext4,
    Xfs,
    Btrfs,
    Block,
    Directory,
}

impl Content {
    /// The name of its file system; empty where it has none of its own.
    pub fn file_system(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::Block | Self::Directory => "",
        }
    }

    /// A size that is enough for it, in bytes.
    pub fn bytes(self) -> i64 {
        let mib = match self {
            Self::Ext4 => 32,
            Self::Xfs => 320,
            Self::Btrfs => 160,
            Self::Block | Self::Directory => 8,
        };
        mib << 20
    }

    fn capability(self) -> VolumeCapability {
        let fs_type = self.file_system().to_owned();
        let access_type = match self {
            Self::Block => AccessType::Block(BlockVolume {}),
            _ => AccessType::Mount(MountVolume { fs_type, ..Default::default() }),
        };
        let mode = access_mode::Mode::SingleNodeWriter.into();
        VolumeCapability { access_mode: Some(AccessMode { mode }), access_type: Some(access_type) }
    }
}

/// What a volume is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Snapshot(String),
    Volume(String),
}

/// A volume as its client knows it.
#[derive(Debug, Clone)]
pub struct Volume {
    pub id: String,
    pub name: String,
    pub content: Content,
    context: std::collections::BTreeMap<String, String>,
}

impl Volume {
    /// A volume that came into being otherwise, as a copy at a second site does.
    pub fn known(id: &str, name: &str, content: Content) -> Self {
        Self { id: id.to_owned(), name: name.to_owned(), content, context: std::collections::BTreeMap::new() }
    }
}

/// A running host and its place. The host goes first.
#[derive(Debug)]
pub struct Site {
    pub host: TestHost,
    pub place: Place,
}

impl Site {
    /// None: nothing can be mounted here, which is said aloud.
    pub async fn start(kind: PoolKind) -> Option<Self> {
        let place = Place::make(kind)?;
        let host = TestHost::start(Guest("local"), options(&place)).await;
        Some(Self { host, place })
    }

    /// The same with a tap on the host, which counts changes in the pool, at the pods and in the
    /// host's state.
    pub async fn tapped(kind: PoolKind) -> Option<(Self, Tap)> {
        let place = Place::make(kind)?;
        let tap = Tap::new(vec![place.pool(), place.path("pods")]);
        let host = TestHost::start(Guest("local"), options(&place).tapped(&tap)).await;
        tap.watch(host.state());
        Some((Self { host, place }, tap))
    }

    pub async fn create(&self, name: &str, content: Content, source: Option<Source>) -> Result<Volume, Status> {
        let request = create(name, content, source);
        let answer = beside_steps(|| async { self.controller().create_volume(request.clone()).await }).await?;
        let volume = answer.into_inner().volume.expect("a new volume is described");
        Ok(Volume { id: volume.volume_id, name: name.to_owned(), content, context: volume.volume_context })
    }

    pub async fn delete(&self, volume: &Volume) -> Result<(), Status> {
        beside_steps(|| async { self.controller().delete_volume(requests::delete(&volume.id)).await }).await.map(drop)
    }

    /// Gives the snapshot's id.
    pub async fn snapshot(&self, name: &str, volume: &Volume) -> Result<String, Status> {
        let request = requests::snapshot(name, &volume.id);
        let answer = beside_steps(|| async { self.controller().create_snapshot(request.clone()).await }).await?;
        Ok(answer.into_inner().snapshot.expect("a new snapshot is described").snapshot_id)
    }

    pub async fn delete_snapshot(&self, snapshot: &str) -> Result<(), Status> {
        beside_steps(|| async { self.controller().delete_snapshot(requests::delete_snapshot(snapshot)).await })
            .await
            .map(drop)
    }

    pub async fn stage(&self, volume: &Volume) -> Result<(), Status> {
        let request = NodeStageVolumeRequest {
            volume_id: volume.id.clone(),
            staging_target_path: self.staging(volume),
            volume_capability: Some(volume.content.capability()),
            volume_context: volume.context.clone(),
            ..Default::default()
        };
        beside_steps(|| async { self.node().node_stage_volume(request.clone()).await }).await.map(drop)
    }

    pub async fn publish(&self, volume: &Volume) -> Result<(), Status> {
        let request = NodePublishVolumeRequest {
            volume_id: volume.id.clone(),
            staging_target_path: self.staging(volume),
            target_path: self.target(volume),
            volume_capability: Some(volume.content.capability()),
            volume_context: volume.context.clone(),
            ..Default::default()
        };
        beside_steps(|| async { self.node().node_publish_volume(request.clone()).await }).await.map(drop)
    }

    pub async fn unpublish(&self, volume: &Volume) -> Result<(), Status> {
        let request = NodeUnpublishVolumeRequest { volume_id: volume.id.clone(), target_path: self.target(volume) };
        beside_steps(|| async { self.node().node_unpublish_volume(request.clone()).await }).await.map(drop)
    }

    pub async fn unstage(&self, volume: &Volume) -> Result<(), Status> {
        let staging_target_path = self.staging(volume);
        let request = NodeUnstageVolumeRequest { volume_id: volume.id.clone(), staging_target_path };
        beside_steps(|| async { self.node().node_unstage_volume(request.clone()).await }).await.map(drop)
    }

    /// A snapshot of all of them at one moment; gives the group's id and those of its members.
    pub async fn group(&self, name: &str, volumes: &[&Volume]) -> Result<(String, Vec<String>), Status> {
        let ids: Vec<_> = volumes.iter().map(|volume| volume.id.as_str()).collect();
        let request = requests::group_snapshot(name, &ids);
        let answer =
            beside_steps(|| async { self.groups().create_volume_group_snapshot(request.clone()).await }).await?;
        let group = answer.into_inner().group_snapshot.expect("a new group is described");
        Ok((group.group_snapshot_id, group.snapshots.into_iter().map(|member| member.snapshot_id).collect()))
    }

    pub async fn delete_group(&self, group: &str, members: &[String]) -> Result<(), Status> {
        let members: Vec<_> = members.iter().map(String::as_str).collect();
        let request = requests::delete_group_snapshot(group, &members);
        beside_steps(|| async { self.groups().delete_volume_group_snapshot(request.clone()).await }).await.map(drop)
    }

    /// The ids of all volumes that are listed.
    pub async fn volumes(&self) -> BTreeSet<String> {
        let mut client = self.controller();
        let (mut found, mut request) = (BTreeSet::new(), ListVolumesRequest::default());
        loop {
            let page = client.list_volumes(request.clone()).await.expect("volumes can be listed").into_inner();
            found.extend(page.entries.into_iter().filter_map(|entry| entry.volume).map(|volume| volume.volume_id));
            if page.next_token.is_empty() {
                return found;
            }
            request.starting_token = page.next_token;
        }
    }

    /// The ids of all snapshots that are listed.
    pub async fn snapshots(&self) -> BTreeSet<String> {
        let mut client = self.controller();
        let (mut found, mut request) = (BTreeSet::new(), ListSnapshotsRequest::default());
        loop {
            let page = client.list_snapshots(request.clone()).await.expect("snapshots can be listed").into_inner();
            let entries = page.entries.into_iter().filter_map(|entry| entry.snapshot);
            found.extend(entries.map(|snapshot| snapshot.snapshot_id));
            if page.next_token.is_empty() {
                return found;
            }
            request.starting_token = page.next_token;
        }
    }

    /// Stages and publishes.
    pub async fn mount(&self, volume: &Volume) -> Result<(), Status> {
        self.stage(volume).await?;
        self.publish(volume).await
    }

    /// Unpublishes and unstages.
    pub async fn unmount(&self, volume: &Volume) -> Result<(), Status> {
        self.unpublish(volume).await?;
        self.unstage(volume).await
    }

    /// Expands, the controller's part; gives the new size in bytes.
    pub async fn expand(&self, volume: &Volume, bytes: i64) -> Result<i64, Status> {
        let request = ControllerExpandVolumeRequest {
            volume_capability: Some(volume.content.capability()),
            ..requests::expand(&volume.id, bytes)
        };
        let answer =
            beside_steps(|| async { self.controller().controller_expand_volume(request.clone()).await }).await?;
        Ok(answer.into_inner().capacity_bytes)
    }

    /// Expands, the node's part.
    pub async fn expand_on_node(&self, volume: &Volume, bytes: i64) -> Result<(), Status> {
        let request = NodeExpandVolumeRequest {
            volume_id: volume.id.clone(),
            volume_path: self.target(volume),
            staging_target_path: self.staging(volume),
            capacity_range: Some(requests::size(bytes)),
            volume_capability: Some(volume.content.capability()),
            ..Default::default()
        };
        beside_steps(|| async { self.node().node_expand_volume(request.clone()).await }).await.map(drop)
    }

    fn controller(&self) -> ControllerClient<Channel> {
        ControllerClient::new(self.host.connect_later())
    }

    fn groups(&self) -> GroupControllerClient<Channel> {
        GroupControllerClient::new(self.host.connect_later())
    }

    fn node(&self) -> NodeClient<Channel> {
        NodeClient::new(self.host.connect_later())
    }

    /// Where a workload finds the volume: a directory or a device.
    pub fn target(&self, volume: &Volume) -> String {
        self.place.pod(&volume.name).join("target").to_str().unwrap().to_owned()
    }

    fn staging(&self, volume: &Volume) -> String {
        self.place.pod(&volume.name).join("staging").to_str().unwrap().to_owned()
    }
}

/// A host with the pool of a place and the right to mount.
pub fn options(place: &Place) -> Options {
    options_with(place, "this-node", &[])
}

/// The same with a name and further directories, each with the component's name for it.
pub fn options_with(place: &Place, node: &str, further: &[(&Path, &str)]) -> Options {
    let pool = place.pool();
    let all = std::iter::once((pool.as_path(), "/pool")).chain(further.iter().copied());
    let grants: Vec<_> = all
        .map(|(host, guest)| format!("{{ host = \"{}\", guest = \"{guest}\", write = true }}", host.display()))
        .collect();
    let grant = format!("directories = [{}]", grants.join(", "));
    Options::default().backend(&format!("node-id = \"{node}\"")).grant(&grant).grant("node = true")
}

/// The request for a volume.
pub fn create(name: &str, content: Content, source: Option<Source>) -> CreateVolumeRequest {
    let kind = if content == Content::Directory { "directory" } else { "image" };
    let source = source.map(|source| match source {
        Source::Snapshot(snapshot_id) => Type::Snapshot(SnapshotSource { snapshot_id }),
        Source::Volume(volume_id) => Type::Volume(VolumeSource { volume_id }),
    });
    CreateVolumeRequest {
        name: name.to_owned(),
        capacity_range: Some(requests::size(content.bytes())),
        volume_capabilities: vec![content.capability()],
        parameters: [("kind".to_owned(), kind.to_owned())].into(),
        volume_content_source: source.map(|source| VolumeContentSource { r#type: Some(source) }),
        ..Default::default()
    }
}
