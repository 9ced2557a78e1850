//! The calls that are compared, and how their cost is taken.

use std::time::Instant;

use anyhow::{Context as _, Result};
use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::node_client::NodeClient;
use drivebay_proto::pb::csi::v1::volume_capability::access_mode::Mode;
use drivebay_proto::pb::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};
use drivebay_proto::pb::csi::v1::{self, VolumeCapability};
use futures_util::future::try_join_all;
use tonic::Status;
use tonic::transport::Channel;

use super::PAGE;
use super::driver::{Driver, to_f64};

/// What a call costs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// Processor time of the driver's processes, in microseconds.
    pub(crate) processor: f64,
    /// Calls answered in a second.
    pub(crate) rate: f64,
}

/// The client of a driver, with one volume that the calls are about.
pub(crate) struct Calls<'a> {
    driver: &'a Driver,
    channel: Channel,
    volume: v1::Volume,
}

impl<'a> Calls<'a> {
    pub(crate) async fn connect(driver: &'a Driver) -> Result<Self> {
        let channel = driver.connect().await?;
        let request = create(driver, "the-one");
        let made = ControllerClient::new(channel.clone()).create_volume(request).await?.into_inner();
        let volume = made.volume.context("no volume")?;
        let calls = Self { driver, channel, volume };
        calls.attach_again().await?;
        Ok(calls)
    }

    /// Rounds of one kind of call, one after the other: the median.
    pub(crate) async fn many(
        &self,
        rounds: usize,
        repeats: usize,
        call: impl AsyncFn(&Self) -> Result<(), Status>,
    ) -> Result<Cost> {
        let mut costs = Vec::new();
        for _ in 0..rounds {
            let (before, begin) = (self.driver.used()?, Instant::now());
            for _ in 0..repeats {
                call(self).await?;
            }
            costs.push(cost(repeats, self.driver.used()?.saturating_sub(before).as_secs_f64(), begin));
        }
        costs.sort_by(|a, b| a.processor.total_cmp(&b.processor));
        costs.get(costs.len() / 2).copied().context("no rounds")
    }

    /// New volumes, each connection one after the other.
    pub(crate) async fn fill(&self, volumes: usize, lanes: usize) -> Result<Cost> {
        let connections = try_join_all((0..lanes).map(|_| self.driver.connect())).await?;
        let (before, begin) = (self.driver.used()?, Instant::now());
        let each = volumes / lanes;
        try_join_all(connections.into_iter().enumerate().map(|(lane, channel)| async move {
            let mut client = ControllerClient::new(channel);
            for n in 0..each {
                client.create_volume(create(self.driver, &format!("volume-{lane}-{n}"))).await?;
            }
            Ok::<_, Status>(())
        }))
        .await?;
        Ok(cost(each * lanes, self.driver.used()?.saturating_sub(before).as_secs_f64(), begin))
    }

    fn controller(&self) -> ControllerClient<Channel> {
        // A page of 1,000 volumes is larger than clients' own limit.
        ControllerClient::new(self.channel.clone()).max_decoding_message_size(16 << 20)
    }

    pub(crate) async fn capabilities(&self) -> Result<(), Status> {
        let request = v1::ControllerGetCapabilitiesRequest {};
        self.controller().controller_get_capabilities(request).await.map(drop)
    }

    pub(crate) async fn create_again(&self) -> Result<(), Status> {
        self.controller().create_volume(create(self.driver, "the-one")).await.map(drop)
    }

    pub(crate) async fn validate(&self) -> Result<(), Status> {
        let request = v1::ValidateVolumeCapabilitiesRequest {
            volume_id: self.volume.volume_id.clone(),
            volume_context: self.volume.volume_context.clone(),
            volume_capabilities: vec![capability()],
            ..Default::default()
        };
        self.controller().validate_volume_capabilities(request).await.map(drop)
    }

    pub(crate) async fn attach_again(&self) -> Result<(), Status> {
        let request = v1::ControllerPublishVolumeRequest {
            volume_id: self.volume.volume_id.clone(),
            node_id: "node".to_owned(),
            volume_capability: Some(capability()),
            volume_context: self.volume.volume_context.clone(),
            ..Default::default()
        };
        self.controller().controller_publish_volume(request).await.map(drop)
    }

    pub(crate) async fn page(&self) -> Result<(), Status> {
        let request = v1::ListVolumesRequest { max_entries: PAGE, ..Default::default() };
        self.controller().list_volumes(request).await.map(drop)
    }

    fn paths(&self) -> (String, String) {
        let path = |name: &str| self.driver.pods.join(name).display().to_string();
        (path("stage"), path("target"))
    }

    /// Stages and publishes the volume.
    pub(crate) async fn publish(&self) -> Result<()> {
        let (stage, target) = self.paths();
        std::fs::create_dir_all(&stage)?;
        let mut node = NodeClient::new(self.channel.clone());
        let staged = v1::NodeStageVolumeRequest {
            volume_id: self.volume.volume_id.clone(),
            staging_target_path: stage.clone(),
            volume_capability: Some(capability()),
            volume_context: self.volume.volume_context.clone(),
            ..Default::default()
        };
        node.node_stage_volume(staged).await?;
        let published = v1::NodePublishVolumeRequest {
            volume_id: self.volume.volume_id.clone(),
            staging_target_path: stage,
            target_path: target,
            volume_capability: Some(capability()),
            volume_context: self.volume.volume_context.clone(),
            ..Default::default()
        };
        node.node_publish_volume(published).await?;
        Ok(())
    }

    /// Undoes it.
    pub(crate) async fn unpublish(&self) -> Result<()> {
        let (staging_target_path, target_path) = self.paths();
        let volume_id = self.volume.volume_id.clone();
        let mut node = NodeClient::new(self.channel.clone());
        let request = v1::NodeUnpublishVolumeRequest { volume_id: volume_id.clone(), target_path };
        node.node_unpublish_volume(request).await?;
        node.node_unstage_volume(v1::NodeUnstageVolumeRequest { volume_id, staging_target_path }).await?;
        Ok(())
    }

    pub(crate) async fn stats(&self) -> Result<(), Status> {
        let (staging_target_path, volume_path) = self.paths();
        let volume_id = self.volume.volume_id.clone();
        let request = v1::NodeGetVolumeStatsRequest { volume_id, volume_path, staging_target_path };
        NodeClient::new(self.channel.clone()).node_get_volume_stats(request).await.map(drop)
    }
}

fn cost(calls: usize, processor: f64, begin: Instant) -> Cost {
    let calls = to_f64(u64::try_from(calls).unwrap_or(u64::MAX));
    Cost { processor: processor * 1e6 / calls, rate: calls / begin.elapsed().as_secs_f64() }
}

fn create(driver: &Driver, name: &str) -> v1::CreateVolumeRequest {
    v1::CreateVolumeRequest {
        name: name.to_owned(),
        capacity_range: Some(v1::CapacityRange { required_bytes: 1 << 20, limit_bytes: 0 }),
        volume_capabilities: vec![capability()],
        parameters: driver.parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        ..Default::default()
    }
}

fn capability() -> VolumeCapability {
    VolumeCapability {
        access_mode: Some(AccessMode { mode: Mode::SingleNodeWriter.into() }),
        access_type: Some(AccessType::Mount(MountVolume::default())),
    }
}
