//! The load: 20 calls at once, in the two shapes of real clients. A sidecar has one connection and many
//! workers; the node's agent opens a connection for every call.

mod usage;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::{self, volume_capability as capability};
use tonic::transport::{Channel, Endpoint};

use self::usage::Usage;

const LANES: usize = 20;
pub(crate) const ROUND: Duration = Duration::from_secs(2);
/// Between two calls of a client that is not in a hurry.
const PAUSE: Duration = Duration::from_millis(5);

/// What a round showed. All but the rate is for a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// Calls answered, by the second.
    pub(crate) rate: f64,
    /// Processor time of client and server together, in microseconds: what is left of the
    /// rate's ratio when the machine has other things to do.
    pub(crate) cost: f64,
    /// Of the server alone.
    pub(crate) server: f64,
    /// How often the server's threads waited.
    pub(crate) waits: f64,
    /// Pages mapped into the server.
    pub(crate) faults: f64,
}

impl Round {
    /// In a line.
    pub(crate) fn words(&self) -> String {
        let Self { cost, server, waits, faults, .. } = self;
        format!(
            "{cost:.1} us of processor time, {server:.1} of it the server's; {waits:.2} waits, {faults:.2} page faults"
        )
    }
}

/// The round in the middle, by its cost.
pub(crate) fn middle(mut rounds: Vec<Round>) -> Round {
    rounds.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    rounds[rounds.len() / 2]
}

/// How calls are spread.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// All of them on one connection.
    Shared,
    /// Each lane on a connection of its own.
    Spread,
}

/// The clients of one server.
pub(crate) struct Clients(Vec<ControllerClient<Channel>>);

impl Clients {
    /// Connects them all.
    pub(crate) async fn connect(socket: &Path, shape: Shape) -> Result<Self> {
        let endpoint = Endpoint::from_shared(format!("unix://{}", socket.display()))?;
        let mut clients = vec![ControllerClient::new(endpoint.connect().await?); LANES];
        if matches!(shape, Shape::Spread) {
            for client in &mut clients {
                *client = ControllerClient::new(endpoint.connect().await?);
            }
        }
        Ok(Self(clients))
    }

    /// A round of `CreateVolume` calls.
    pub(crate) async fn creates(&self) -> Result<Round> {
        self.round(async |client, n| client.create_volume(create(n)).await.map(drop)).await
    }

    /// A round of `CreateVolume` calls whose guests compute.
    pub(crate) async fn computes(&self, rounds: u64) -> Result<Round> {
        self.round(async |client, n| client.create_volume(create_after(rounds, n)).await.map(drop)).await
    }

    /// Milliseconds that calls out of facts take on a connection of their own, one after the other, until `end`; sorted.
    pub(crate) async fn waits(&self, end: Instant) -> Result<Vec<f64>> {
        let mut client = self.0.first().context("there is a client")?.clone();
        let mut all = Vec::new();
        while Instant::now() < end {
            let begin = Instant::now();
            client.controller_get_capabilities(v1::ControllerGetCapabilitiesRequest {}).await?;
            all.push(begin.elapsed().as_secs_f64() * 1e3);
            tokio::time::sleep(PAUSE).await;
        }
        all.sort_by(f64::total_cmp);
        Ok(all)
    }

    /// A round of `ControllerGetCapabilities` calls.
    pub(crate) async fn capabilities(&self) -> Result<Round> {
        let request = || v1::ControllerGetCapabilitiesRequest {};
        self.round(async |client, _| client.controller_get_capabilities(request()).await.map(drop)).await
    }

    async fn round<F>(&self, call: F) -> Result<Round>
    where
        F: AsyncFn(&mut ControllerClient<Channel>, usize) -> Result<(), tonic::Status>,
    {
        let (before, begin) = (Usage::now()?, Instant::now());
        let lanes = self.0.iter().cloned().enumerate().map(|(lane, mut client)| {
            let call = &call;
            async move {
                let mut done = 0_usize;
                while begin.elapsed() < ROUND {
                    // A name of its own for every call: the same one would be locked.
                    call(&mut client, lane * 1_000_000 + done).await?;
                    done += 1;
                }
                Ok::<_, tonic::Status>(done)
            }
        });
        let done: usize = futures_util::future::try_join_all(lanes).await?.into_iter().sum();
        let (took, used) = (begin.elapsed().as_secs_f64(), Usage::now()?.since(before));
        let done = f64::from(u32::try_from(done)?);
        let each = |time: Duration| time.as_secs_f64() * 1e6 / done;
        let count = |count: u64| u32::try_from(count).map(|count| f64::from(count) / done);
        Ok(Round {
            rate: done / took,
            cost: each(used.all),
            server: each(used.server),
            waits: count(used.waits)?,
            faults: count(used.faults)?,
        })
    }
}

/// A request to a backend that computes before it answers.
pub(crate) fn create_after(rounds: u64, n: usize) -> v1::CreateVolumeRequest {
    let mut request = create(n);
    request.parameters.insert("rounds".to_owned(), rounds.to_string());
    request
}

/// A request as the provisioner sends it.
pub(crate) fn create(n: usize) -> v1::CreateVolumeRequest {
    let mode = capability::access_mode::Mode::SingleNodeWriter.into();
    let mount = capability::MountVolume { fs_type: "ext4".to_owned(), ..Default::default() };
    v1::CreateVolumeRequest {
        name: format!("pvc-0f6b1c1e-8a43-4b8e-9c55-{n:012}"),
        capacity_range: Some(v1::CapacityRange { required_bytes: 1 << 30, limit_bytes: 0 }),
        volume_capabilities: vec![v1::VolumeCapability {
            access_type: Some(capability::AccessType::Mount(mount)),
            access_mode: Some(capability::AccessMode { mode }),
        }],
        parameters: [("tier".to_owned(), "gold".to_owned())].into(),
        secrets: [("user".to_owned(), "provisioner".to_owned()), ("password".to_owned(), "correct horse".to_owned())]
            .into(),
        ..Default::default()
    }
}

/// The middle of the values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
