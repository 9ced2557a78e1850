//! What rules make before they can look at anything: names, requests, volumes, snapshots, groups,
//! published volumes. A failure here blocks a rule and never breaks it.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::{Received, Stop, Trial};
use crate::wire::Words;
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::controller_service_capability::rpc::Type as Controller;
use crate::wire::proto::csi::v1::node_service_capability::rpc::Type as Node;
use crate::wire::proto::csi::v1::plugin_capability::service::Type as Plugin;
use crate::wire::proto::csi::v1::volume_capability::access_mode::Mode;
use crate::wire::proto::replication as r;
use crate::wire::proto::volumegroup as g;
use crate::with::Access;

/// What replication works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Volume,
    Group,
    Snapshot,
}

/// A source by kind and id.
pub(crate) fn source(kind: Source, id: &str) -> r::ReplicationSource {
    use r::replication_source::{Type, VolumeGroupSource, VolumeSnapshotSource, VolumeSource};
    let id = id.to_owned();
    let of = match kind {
        Source::Volume => Type::Volume(VolumeSource { volume_id: id }),
        Source::Group => Type::Volumegroup(VolumeGroupSource { volume_group_id: id }),
        Source::Snapshot => Type::Volumesnapshot(VolumeSnapshotSource { volume_snapshot_id: id }),
    };
    r::ReplicationSource { r#type: Some(of) }
}

/// The volume that a source is; empty for any other kind.
pub(crate) fn volume_of(source: Option<&r::ReplicationSource>) -> String {
    match source.and_then(|source| source.r#type.as_ref()) {
        Some(r::replication_source::Type::Volume(it)) => it.volume_id.clone(),
        _ => String::new(),
    }
}

fn capability(access: v1::volume_capability::AccessType, mode: Mode) -> v1::VolumeCapability {
    let access_mode = Some(v1::volume_capability::AccessMode { mode: mode.into() });
    v1::VolumeCapability { access_type: Some(access), access_mode }
}

/// A raw block device.
pub(crate) fn block(mode: Mode) -> v1::VolumeCapability {
    capability(v1::volume_capability::AccessType::Block(v1::volume_capability::BlockVolume {}), mode)
}

/// A file system.
pub(crate) fn mount(of: v1::volume_capability::MountVolume, mode: Mode) -> v1::VolumeCapability {
    capability(v1::volume_capability::AccessType::Mount(of), mode)
}

/// A volume that is published on a node, and how.
#[derive(Debug, Clone)]
pub(crate) struct Published {
    /// The stage call, where the node stages.
    pub(crate) stage: Option<v1::NodeStageVolumeRequest>,
    /// The publish call.
    pub(crate) publish: v1::NodePublishVolumeRequest,
}

impl Published {
    /// The call that takes the volume away from the target again.
    pub(crate) fn unpublish(&self) -> v1::NodeUnpublishVolumeRequest {
        let it = &self.publish;
        v1::NodeUnpublishVolumeRequest { volume_id: it.volume_id.clone(), target_path: it.target_path.clone() }
    }

    /// The call that undoes staging.
    pub(crate) fn unstage(&self) -> Option<v1::NodeUnstageVolumeRequest> {
        self.stage.as_ref().map(|it| v1::NodeUnstageVolumeRequest {
            volume_id: it.volume_id.clone(),
            staging_target_path: it.staging_target_path.clone(),
        })
    }
}

impl Trial<'_> {
    /// A name that nothing has yet.
    pub(crate) fn name(&self) -> String {
        format!("conform-{}-{}", self.run_context.run, self.number())
    }

    /// An id that nothing has.
    pub(crate) fn unknown(&self) -> String {
        let mixed = self.number().wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("conform-no-such-{mixed:016x}")
    }

    /// Skips unless the controller can do this.
    pub(crate) fn needs(&self, what: Controller) -> Result<(), Stop> {
        self.needs_plugin(Plugin::ControllerService)?;
        if self.here()?.abilities.controller.contains(&what.into()) {
            return Ok(());
        }
        Err(Stop::Skip(format!("the controller does not advertise {}", what.as_str_name())))
    }

    /// Skips unless the plugin says so.
    pub(crate) fn needs_plugin(&self, what: Plugin) -> Result<(), Stop> {
        if self.here()?.abilities.plugin.contains(&what.into()) {
            return Ok(());
        }
        Err(Stop::Skip(format!("the plugin does not advertise {}", what.as_str_name())))
    }

    /// Whether the controller can do this.
    pub(crate) fn can(&self, what: Controller) -> bool {
        self.here().is_ok_and(|site| site.abilities.controller.contains(&what.into()))
    }

    /// Whether the node can do this.
    pub(crate) fn node_can(&self, what: Node) -> bool {
        self.here().is_ok_and(|site| site.abilities.node.contains(&what.into()))
    }

    /// Skips unless the node can do this.
    pub(crate) fn needs_node(&self, what: Node) -> Result<(), Stop> {
        if self.node_can(what) {
            return Ok(());
        }
        Err(Stop::Skip(format!("the node does not advertise {}", what.as_str_name())))
    }

    /// Whether the add-ons can do this: the field of the capability's oneof, and the value.
    pub(crate) fn addon(&self, kind: u32, value: impl Into<i32>) -> bool {
        let value = value.into();
        self.here().is_ok_and(|site| site.abilities.addons.contains(&(kind, value)))
    }

    /// Skips unless the add-ons can do this.
    pub(crate) fn needs_addon(&self, kind: u32, value: impl Into<i32>, name: &str) -> Result<(), Stop> {
        if self.here()?.addons.is_none() {
            return Err(Stop::Skip("no add-ons socket is given (--addons)".to_owned()));
        }
        if self.addon(kind, value) { Ok(()) } else { Err(Stop::Skip(format!("the add-ons do not advertise {name}"))) }
    }

    /// The usual capability with another mode.
    pub(crate) fn capability(&self, mode: Mode) -> v1::VolumeCapability {
        self.capability_of(self.with().capabilities.access, mode)
    }

    /// A capability of this access type.
    pub(crate) fn capability_of(&self, access: Access, mode: Mode) -> v1::VolumeCapability {
        match access {
            Access::Block => block(mode),
            Access::Mount => mount(self.mount_volume(), mode),
        }
    }

    /// How file systems are mounted.
    pub(crate) fn mount_volume(&self) -> v1::volume_capability::MountVolume {
        let known = &self.with().capabilities;
        v1::volume_capability::MountVolume {
            fs_type: known.fs_type.clone(),
            mount_flags: known.mount_flags.clone(),
            volume_mount_group: String::new(),
        }
    }

    /// A request for a new volume, for one writer.
    pub(crate) fn new_volume(&self) -> v1::CreateVolumeRequest {
        v1::CreateVolumeRequest {
            name: self.name(),
            capacity_range: Some(v1::CapacityRange { required_bytes: self.with().sizes.volume, limit_bytes: 0 }),
            volume_capabilities: vec![self.capability(Mode::SingleNodeWriter)],
            parameters: self.with().parameters.volume.clone(),
            ..Default::default()
        }
    }

    /// A new volume.
    pub(crate) async fn volume(self) -> Result<v1::Volume, Stop> {
        self.volume_of(self.new_volume()).await
    }

    /// A volume as asked for.
    pub(crate) async fn volume_of(self, request: v1::CreateVolumeRequest) -> Result<v1::Volume, Stop> {
        self.needs(Controller::CreateDeleteVolume)?;
        let got = self.given(request).await?;
        got.volume.clone().ok_or_else(|| Stop::Blocked("CreateVolume answers without a volume".into(), Some(got.at())))
    }

    /// Several new volumes.
    pub(crate) async fn volumes(self, count: usize) -> Result<Vec<v1::Volume>, Stop> {
        let made = (0..count).map(|_| self.volume());
        futures_util::future::try_join_all(made).await
    }

    /// A volume to publish: a new one, or the one that is there already.
    pub(crate) async fn any_volume(self) -> Result<v1::Volume, Stop> {
        if self.can(Controller::CreateDeleteVolume) {
            return self.volume().await;
        }
        self.existing()
    }

    /// The volume that the run did not make.
    pub(crate) fn existing(&self) -> Result<v1::Volume, Stop> {
        let known = &self.with().volumes;
        let id = known.existing.clone();
        let volume_id = id.ok_or_else(|| Stop::Skip("--with gives no volumes.existing".to_owned()))?;
        Ok(v1::Volume { volume_id, volume_context: known.existing_context.clone(), ..Default::default() })
    }

    /// A request for a snapshot.
    pub(crate) fn new_snapshot(&self, of: &str) -> v1::CreateSnapshotRequest {
        v1::CreateSnapshotRequest {
            source_volume_id: of.to_owned(),
            name: self.name(),
            parameters: self.with().parameters.snapshot.clone(),
            ..Default::default()
        }
    }

    /// A snapshot that is ready to use.
    pub(crate) async fn snapshot(self, of: &str) -> Result<v1::Snapshot, Stop> {
        self.needs(Controller::CreateDeleteSnapshot)?;
        self.snapshot_of(self.new_snapshot(of)).await
    }

    /// A snapshot as asked for, once it is ready.
    pub(crate) async fn snapshot_of(self, request: v1::CreateSnapshotRequest) -> Result<v1::Snapshot, Stop> {
        let mut pause = super::Pause::new(self.with().patience);
        loop {
            let got = self.given(request.clone()).await?;
            let none = || Stop::Blocked("CreateSnapshot answers without a snapshot".into(), Some(got.at()));
            let snapshot = got.snapshot.clone().ok_or_else(none)?;
            if snapshot.ready_to_use || !pause.rest().await {
                return Ok(snapshot);
            }
        }
    }

    /// The id of a node.
    pub(crate) fn node_id(&self, number: usize) -> Result<String, Stop> {
        let id = self.here()?.node_ids.get(number).cloned();
        id.ok_or_else(|| Stop::Skip(format!("no node {} is known (--csi-node, or nodes in --with)", number + 1)))
    }

    /// A request to attach a volume to a node.
    pub(crate) fn attach(&self, volume: &v1::Volume, node: usize) -> Result<v1::ControllerPublishVolumeRequest, Stop> {
        Ok(v1::ControllerPublishVolumeRequest {
            volume_id: volume.volume_id.clone(),
            node_id: self.node_id(node)?,
            volume_capability: Some(self.capability(Mode::SingleNodeWriter)),
            volume_context: volume.volume_context.clone(),
            ..Default::default()
        })
    }

    /// Skips unless there is a node.
    pub(crate) fn needs_some_node(&self) -> Result<(), Stop> {
        if self.here()?.nodes.is_empty() {
            return Err(Stop::Skip("the socket serves no node, and no --csi-node is given".to_owned()));
        }
        Ok(())
    }

    /// The calls that publish a volume at a new target, attached but neither staged nor published yet.
    pub(crate) async fn plan(self, volume: &v1::Volume, how: v1::VolumeCapability) -> Result<Published, Stop> {
        self.needs_some_node()?;
        let mut context = Words::new();
        if self.can(Controller::PublishUnpublishVolume) {
            let mut attach = self.attach(volume, self.node)?;
            attach.volume_capability = Some(how.clone());
            context = self.given(attach).await?.publish_context.clone();
        }
        let here = self.directory()?;
        let stage = self.node_can(Node::StageUnstageVolume).then(|| v1::NodeStageVolumeRequest {
            volume_id: volume.volume_id.clone(),
            publish_context: context.clone(),
            staging_target_path: text(&here.join("stage")),
            volume_capability: Some(how.clone()),
            volume_context: volume.volume_context.clone(),
            ..Default::default()
        });
        let publish = v1::NodePublishVolumeRequest {
            volume_id: volume.volume_id.clone(),
            publish_context: context,
            staging_target_path: stage.as_ref().map(|it| it.staging_target_path.clone()).unwrap_or_default(),
            target_path: text(&here.join("target")),
            volume_capability: Some(how),
            volume_context: volume.volume_context.clone(),
            ..Default::default()
        };
        Ok(Published { stage, publish })
    }

    /// A volume that is attached and staged, as far as the driver does that.
    pub(crate) async fn staged(self, volume: &v1::Volume, how: v1::VolumeCapability) -> Result<Published, Stop> {
        let plan = self.plan(volume, how).await?;
        if let Some(stage) = &plan.stage {
            self.given(stage.clone()).await?;
        }
        Ok(plan)
    }

    /// A volume that is published.
    pub(crate) async fn published(self, volume: &v1::Volume, how: v1::VolumeCapability) -> Result<Published, Stop> {
        let plan = self.staged(volume, how).await?;
        self.given(plan.publish.clone()).await?;
        Ok(plan)
    }

    /// A volume that is in use: attached, or published where the driver does not attach.
    pub(crate) async fn in_use(self, volume: &v1::Volume) -> Result<(), Stop> {
        let how = self.capability(Mode::SingleNodeWriter);
        if self.can(Controller::PublishUnpublishVolume) {
            self.given(self.attach(volume, 0)?).await?;
            return Ok(());
        }
        self.published(volume, how).await.map(drop)
    }

    /// Publishes a volume once, so that somebody can write on it, and takes it back.
    pub(crate) async fn used(self, volume: &v1::Volume, how: v1::VolumeCapability, by: fn(&Path)) -> Result<(), Stop> {
        let plan = self.published(volume, how).await?;
        by(Path::new(&plan.publish.target_path));
        self.given(plan.unpublish()).await?;
        if let Some(unstage) = plan.unstage() {
            self.given(unstage).await?;
        }
        if self.can(Controller::PublishUnpublishVolume) {
            let (volume_id, node_id) = (volume.volume_id.clone(), self.node_id(self.node)?);
            self.given(v1::ControllerUnpublishVolumeRequest { volume_id, node_id, ..Default::default() }).await?;
        }
        Ok(())
    }

    /// A directory of its own with `stage` and `second` in it, and room for targets.
    pub(crate) fn directory(&self) -> Result<PathBuf, Stop> {
        let number = self.run_context.counter.fetch_add(1, Ordering::Relaxed);
        let here = self.run_context.work.join(number.to_string());
        let made = std::fs::create_dir_all(here.join("stage"));
        made.map_err(|e| Stop::Blocked(format!("{}: {e}", here.display()), None))?;
        Ok(here)
    }

    /// A target beside another one.
    pub(crate) fn second_target(&self, plan: &Published) -> String {
        format!("{}-{}", plan.publish.target_path, self.number())
    }

    /// A request for a volume group.
    pub(crate) fn new_group(&self, members: &[&v1::Volume]) -> g::CreateVolumeGroupRequest {
        g::CreateVolumeGroupRequest {
            name: self.name(),
            parameters: self.with().parameters.group.clone(),
            volume_ids: members.iter().map(|volume| volume.volume_id.clone()).collect(),
            ..Default::default()
        }
    }

    /// A volume group.
    pub(crate) async fn group(self, members: &[&v1::Volume]) -> Result<g::VolumeGroup, Stop> {
        let got = self.given(self.new_group(members)).await?;
        let none = || Stop::Blocked("CreateVolumeGroup answers without a group".into(), Some(got.at()));
        got.volume_group.clone().ok_or_else(none)
    }

    /// Whether a volume is there, as `ValidateVolumeCapabilities` sees it.
    pub(crate) async fn validate(self, volume_id: &str) -> super::Answer<v1::ValidateVolumeCapabilitiesResponse> {
        let volume_capabilities = vec![self.capability(Mode::SingleNodeWriter)];
        let volume_id = volume_id.to_owned();
        self.call(v1::ValidateVolumeCapabilitiesRequest { volume_id, volume_capabilities, ..Default::default() }).await
    }

    /// All pages of `ListVolumes`, `size` entries each.
    pub(crate) async fn pages(self, size: i32) -> Result<Vec<Received<v1::ListVolumesResponse>>, Stop> {
        let mut pages = Vec::new();
        let mut token = String::new();
        loop {
            let page = self.ok(v1::ListVolumesRequest { max_entries: size, starting_token: token.clone() }).await?;
            token.clone_from(&page.next_token);
            let is_last = token.is_empty();
            page.check(is_last || pages.len() < PAGES, "the pages do not end")?;
            pages.push(page);
            if is_last {
                return Ok(pages);
            }
        }
    }
}

/// More pages than any driver under test has.
pub(crate) const PAGES: usize = 10_000;

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
