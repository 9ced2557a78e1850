//! A volume's life, from its creation to its end, at one site and at two, as a client of the sockets
//! sees it: the order of calls, what each must answer, and taking away what was made, whatever happened on the way.

mod client;
mod mounted;
mod requests;
mod sites;
mod swap;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio_util::sync::CancellationToken;

use super::node::NodeWork;
use super::steps::{Halt, Steps};
use super::{Place, print};
use client::{Client, Clients, Side, size};
use drivebay_proto::pb::csi::v1;
use requests::{Source, Volume};

/// How large the volume is made.
const SIZE: i64 = 64 << 20;
/// How large it is after it has grown.
const GROWN: i64 = 96 << 20;
/// How long the backend may take until it is ready, and how often it is asked.
const READY_WITHIN: Duration = Duration::from_secs(30);
const ASK_EVERY: Duration = Duration::from_millis(50);

/// What a walk has made and must take away, last made first.
#[derive(Debug, Clone)]
enum Made {
    Volume(String),
    Snapshot(String),
    Attached(String),
    Staged(String, String),
    Published(String, String),
    Replicated(String),
}

impl Made {
    /// Whether it is undone by unmounting.
    const fn is_mount(&self) -> bool {
        matches!(self, Self::Attached(_) | Self::Staged(..) | Self::Published(..))
    }
}

/// A walk under way.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    place: &'a Place,
    clients: Clients,
    steps: Steps,
    made: Vec<(Side, Made)>,
    /// Tells the objects of this walk from those of others on the same pool.
    tag: String,
}

impl<'a> Walk<'a> {
    /// Walks from the beginning to the end and says how it went.
    ///
    /// # Errors
    /// When a step failed, or `stop` was cancelled on the way.
    pub(super) async fn go(place: &'a Place, work: NodeWork, stop: CancellationToken) -> Result<(), Halt> {
        let mut steps = Steps::new(stop);
        let clients = match Clients::connect(place).await {
            Ok(clients) => clients,
            Err(words) => {
                let halt = steps.fail("connecting", &words);
                return steps.verdict(Err(halt));
            }
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let tag = format!("demo-{:x}", now.as_millis());
        let mut walk = Self { place, clients, steps, made: Vec::new(), tag };
        let lived = Box::pin(walk.life(work)).await;
        if !walk.made.is_empty() {
            walk.steps.act("everything is taken away");
        }
        let tidied = walk.tidy().await;
        if let Some(words) = work.left_out() {
            print(&format!("Left out: {words}."));
        }
        walk.steps.verdict(lived.and(tidied))
    }

    async fn life(&mut self, work: NodeWork) -> Result<(), Halt> {
        self.steps.act("a driver introduces itself");
        self.ready(Side::First).await?;
        self.ready(Side::Second).await?;
        self.introduction().await?;
        self.steps.act("a volume's life");
        let first = self.create("first", SIZE, None).await?;
        if work.mounts() {
            self.life_on_node(&first, work).await?;
        } else {
            let snapshot = self.snapshot_of_resting(&first).await?;
            self.create("restored", SIZE, Some(Source::Snapshot(snapshot))).await?;
        }
        if work != NodeWork::All {
            self.grow(&first).await?;
        }
        self.create("cloned", GROWN, Some(Source::Volume(first.id.clone()))).await?;
        self.listings().await?;
        self.steps.act("a volume fails over to another site, and back");
        self.life_at_two_sites(work).await?;
        self.steps.act("the backend is swapped while it is at work");
        self.swap_under_load().await
    }

    /// A client asks until the answer is yes: a backend may have to recover first.
    async fn ready(&mut self, side: Side) -> Result<(), Halt> {
        let client = self.clients.of(side).identity.clone();
        let asked = async {
            let mut pace = tokio::time::interval(ASK_EVERY);
            loop {
                pace.tick().await;
                let answer = client.clone().probe(v1::ProbeRequest::default()).await?;
                if answer.get_ref().ready == Some(true) {
                    return Ok(answer);
                }
            }
        };
        let asked = async {
            let late = |_| tonic::Status::unavailable("the backend does not get ready; its log says why");
            tokio::time::timeout(READY_WITHIN, asked).await.map_err(late)?
        };
        self.steps.call("Probe", asked, |_| format!("the driver is ready at site {}", side.name())).await.map(drop)
    }

    /// Who is there, and what it can do.
    async fn introduction(&mut self) -> Result<(), Halt> {
        let Client { identity, controller, node, addons, .. } = self.clients.of(Side::First);
        let steps = &mut self.steps;
        let asked = identity.get_plugin_info(v1::GetPluginInfoRequest::default());
        steps.call("GetPluginInfo", asked, |said| format!("this is {} {}", said.name, said.vendor_version)).await?;
        let asked = identity.get_plugin_capabilities(v1::GetPluginCapabilitiesRequest::default());
        let count = |n: usize| format!("it has {n} capabilities");
        steps.call("GetPluginCapabilities", asked, |said| count(said.capabilities.len())).await?;
        let asked = controller.controller_get_capabilities(v1::ControllerGetCapabilitiesRequest::default());
        let told = |said: &v1::ControllerGetCapabilitiesResponse| {
            format!("it can {}", client::controller_names(said).join(", "))
        };
        steps.call("ControllerGetCapabilities", asked, told).await?;
        let asked = node.node_get_info(v1::NodeGetInfoRequest::default());
        steps.call("NodeGetInfo", asked, |said| format!("this node is {}", said.node_id)).await?;
        let asked = addons.get_identity(drivebay_proto::pb::identity::GetIdentityRequest::default());
        let told = |said: &drivebay_proto::pb::identity::GetIdentityResponse| {
            format!("on the add-ons socket it is {}, too", said.name)
        };
        steps.call("GetIdentity", asked, told).await.map(drop)
    }

    async fn create(&mut self, name: &str, bytes: i64, source: Option<Source>) -> Result<Volume, Halt> {
        let origin = match &source {
            None => "new",
            Some(Source::Snapshot(_)) => "restored from the snapshot",
            Some(Source::Volume(_)) => "cloned from the first",
        };
        let name = format!("{}-{name}", self.tag);
        let asked =
            self.clients.of(Side::First).controller.create_volume(requests::create_volume(&name, bytes, source));
        let told = |said: &v1::CreateVolumeResponse| {
            let volume = said.volume.clone().unwrap_or_default();
            format!("volume {name}, {origin}, has {} and the id {}", size(volume.capacity_bytes), volume.volume_id)
        };
        let said = self.steps.call("CreateVolume", asked, told).await?;
        let volume = Volume::from(said.volume);
        self.made.push((Side::First, Made::Volume(volume.id.clone())));
        Ok(volume)
    }

    /// Takes a snapshot and gives its id; none: the driver cannot while the volume is in use.
    async fn snapshot(&mut self, volume: &Volume) -> Result<Option<String>, Halt> {
        let name = format!("{}-snapshot", self.tag);
        let asked =
            self.clients.of(Side::First).controller.create_snapshot(requests::create_snapshot(&name, &volume.id));
        let told = |said: &v1::CreateSnapshotResponse| {
            let snapshot = said.snapshot.clone().unwrap_or_default();
            let ready = if snapshot.ready_to_use { "ready to use" } else { "not ready yet" };
            format!("snapshot {} of the volume is {ready}", snapshot.snapshot_id)
        };
        let Some(said) = self.steps.attempt("CreateSnapshot", asked, told).await? else { return Ok(None) };
        let id = said.snapshot.unwrap_or_default().snapshot_id;
        self.made.push((Side::First, Made::Snapshot(id.clone())));
        Ok(Some(id))
    }

    /// Takes a snapshot of a volume that nobody uses: nothing is in the way then.
    async fn snapshot_of_resting(&mut self, volume: &Volume) -> Result<String, Halt> {
        match self.snapshot(volume).await? {
            Some(id) => Ok(id),
            None => Err(self.steps.fail("CreateSnapshot", "it is refused, though nobody uses the volume")),
        }
    }

    /// Grows the volume and tells whether its node has to do something, too.
    async fn grow(&mut self, volume: &Volume) -> Result<bool, Halt> {
        let asked =
            self.clients.of(Side::First).controller.controller_expand_volume(requests::expand(&volume.id, GROWN));
        let told =
            |said: &v1::ControllerExpandVolumeResponse| format!("the volume has {} now", size(said.capacity_bytes));
        let said = self.steps.call("ControllerExpandVolume", asked, told).await?;
        Ok(said.node_expansion_required)
    }

    /// What the walk has made must stand in the listings.
    async fn listings(&mut self) -> Result<(), Halt> {
        let asked = self.clients.of(Side::First).controller.list_volumes(v1::ListVolumesRequest::default());
        let told = |said: &v1::ListVolumesResponse| format!("there are {} volumes", said.entries.len());
        let said = self.steps.call("ListVolumes", asked, told).await?;
        let listed = |id: &String| said.entries.iter().any(|e| e.volume.as_ref().is_some_and(|v| v.volume_id == *id));
        let missing = self.made.iter().find_map(|(_, made)| match made {
            Made::Volume(id) if !listed(id) => Some(id.clone()),
            _ => None,
        });
        match missing {
            Some(id) => Err(self.steps.fail("ListVolumes", &format!("volume {id} is not in the list"))),
            None => Ok(()),
        }
    }

    /// Takes away everything that was made, last made first, also after a failure.
    async fn tidy(&mut self) -> Result<(), Halt> {
        let mut ended = Ok(());
        while let Some((side, made)) = self.made.pop() {
            ended = self.undo(side, made).await.and(ended);
        }
        self.sweep();
        ended
    }

    async fn undo(&mut self, side: Side, made: Made) -> Result<(), Halt> {
        let node_id = side.of(self.place).node_id;
        let Client { controller, node, replication, .. } = self.clients.of(side);
        let steps = &mut self.steps;
        match made {
            Made::Volume(volume_id) => {
                let told = format!("volume {volume_id} is gone");
                let asked = controller.delete_volume(v1::DeleteVolumeRequest { volume_id, ..Default::default() });
                steps.tidy("DeleteVolume", asked, |_| told).await.map(drop)
            }
            Made::Snapshot(snapshot_id) => {
                let told = format!("snapshot {snapshot_id} is gone");
                let asked = controller.delete_snapshot(v1::DeleteSnapshotRequest { snapshot_id, ..Default::default() });
                steps.tidy("DeleteSnapshot", asked, |_| told).await.map(drop)
            }
            Made::Attached(volume_id) => {
                let asked = controller.controller_unpublish_volume(requests::detach(volume_id, node_id));
                steps.tidy("ControllerUnpublishVolume", asked, |_| "detached from the node".to_owned()).await.map(drop)
            }
            Made::Staged(volume_id, staging_target_path) => {
                let asked = node.node_unstage_volume(v1::NodeUnstageVolumeRequest { volume_id, staging_target_path });
                steps.tidy("NodeUnstageVolume", asked, |_| "the device is free again".to_owned()).await.map(drop)
            }
            Made::Published(volume_id, target_path) => {
                let asked = node.node_unpublish_volume(v1::NodeUnpublishVolumeRequest { volume_id, target_path });
                steps.tidy("NodeUnpublishVolume", asked, |_| "the mount is gone".to_owned()).await.map(drop)
            }
            Made::Replicated(volume_id) => {
                let asked = replication.disable_volume_replication(requests::no_replication(&volume_id));
                let told = format!("volume {volume_id} at site {} stands alone again", side.name());
                steps.tidy("DisableVolumeReplication", asked, |_| told).await.map(drop)
            }
        }
    }
}
