//! What the clients of an attack do: the calls, and what they look at with their own eyes. Judges nothing.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tokio::time::{sleep, timeout};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use super::model::Act;
use super::place::{OUTSIDE, Place, RENEWALS, SECRET, renewed};
use super::times::{LOOK, PATIENCE};
use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::node_client::NodeClient;
use drivebay_proto::pb::csi::v1::snapshot_metadata_client::SnapshotMetadataClient;
use drivebay_proto::pb::csi::v1::{
    self, ControllerGetVolumeRequest, CreateSnapshotRequest, CreateVolumeRequest, DeleteVolumeRequest,
    GetMetadataAllocatedRequest, ListVolumesRequest, NodePublishVolumeRequest, NodeUnpublishVolumeRequest,
    VolumeCapability,
};

/// What was frozen takes writes at once only if it was not: a freeze ends by itself after 30 s.
const FROZEN: Duration = Duration::from_secs(5);
/// And not long after that.
const THAWED: Duration = Duration::from_secs(90);
/// In which a host does much of its own accord.
const A_WHILE: Duration = Duration::from_secs(4);
/// In which a publish ends that takes next to nothing, whatever else this machine does.
const PROMPT: Duration = Duration::from_secs(4);
/// How often a client tries whether calls are refused after a series: a pause of a second may be over before it looks.
const TRIES: usize = 5;
/// Blocks of a stream, however long a client that is told them is to listen.
const BLOCKS: usize = 10_000;

fn capability() -> VolumeCapability {
    use v1::volume_capability::{AccessMode, AccessType, MountVolume, access_mode::Mode};
    VolumeCapability {
        access_type: Some(AccessType::Mount(MountVolume::default())),
        access_mode: Some(AccessMode { mode: Mode::SingleNodeWriter.into() }),
    }
}

/// A volume of this name, with a secret.
pub(super) fn create(name: &str) -> CreateVolumeRequest {
    CreateVolumeRequest {
        name: name.to_owned(),
        volume_capabilities: vec![capability()],
        capacity_range: Some(v1::CapacityRange { required_bytes: 1 << 20, limit_bytes: 0 }),
        secrets: [("password".to_owned(), SECRET.to_owned())].into(),
        ..CreateVolumeRequest::default()
    }
}

/// A call that a well-behaved backend does well.
///
/// # Errors
/// When it does not.
pub(super) async fn good(channel: &Channel) -> Result<(), Status> {
    ControllerClient::new(channel.clone()).create_volume(timed(create("good"), PATIENCE)).await.map(drop)
}

/// A call of a well-behaved backend that does this.
///
/// # Errors
/// When it does not.
pub(super) async fn does(channel: &Channel, deed: &str) -> Result<(), Status> {
    told(channel, "good", deed).await
}

/// A call that tells the hostile guest what to do, for a volume of this name.
///
/// # Errors
/// What comes of it.
pub(super) async fn told(channel: &Channel, name: &str, deed: &str) -> Result<(), Status> {
    let request = CreateVolumeRequest { parameters: [("deed".to_owned(), deed.to_owned())].into(), ..create(name) };
    ControllerClient::new(channel.clone()).create_volume(timed(request, PATIENCE)).await.map(drop)
}

/// A volume that is published at a path of its own, and unpublished.
#[derive(Debug, Clone)]
pub(super) struct PublishedAt {
    volume: String,
    path: PathBuf,
}

impl PublishedAt {
    pub(super) fn new(place: &Place, name: &str) -> Self {
        Self { volume: format!("id-{name}"), path: place.at("pods").join(name) }
    }

    /// # Errors
    /// When it is not published.
    pub(super) async fn publish(&self, channel: &Channel) -> Result<(), Status> {
        let request = NodePublishVolumeRequest {
            volume_id: self.volume.clone(),
            target_path: self.path.display().to_string(),
            volume_capability: Some(capability()),
            ..NodePublishVolumeRequest::default()
        };
        NodeClient::new(channel.clone()).node_publish_volume(timed(request, PATIENCE)).await.map(drop)
    }

    /// # Errors
    /// When it stays published.
    pub(super) async fn unpublish(&self, channel: &Channel) -> Result<(), Status> {
        let (volume_id, target_path) = (self.volume.clone(), self.path.display().to_string());
        let request = NodeUnpublishVolumeRequest { volume_id, target_path };
        NodeClient::new(channel.clone()).node_unpublish_volume(timed(request, PATIENCE)).await.map(drop)
    }
}

/// A call that its client gives up after so long: what goes on longer is not contained.
pub(super) fn timed<T>(message: T, patience: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(patience);
    request
}

/// Waits until calls are let in: recovery is over.
///
/// # Errors
/// When they never are.
pub(super) async fn ready(channel: &Channel) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    while let Err(status) = good(channel).await {
        if Instant::now() > end {
            bail!("the attacker is never served: {status}");
        }
        sleep(LOOK).await;
    }
    Ok(())
}

/// Does what the client of an attack does, each call for at most so long; gives its answer.
pub(super) async fn act(act: Act, channel: &Channel, patience: Duration) -> Result<(), Status> {
    let mut client = ControllerClient::new(channel.clone());
    let bad = || timed(create("bad"), patience);
    match act {
        Act::Later => {
            sleep(A_WHILE).await;
            client.create_volume(bad()).await.map(drop)
        }
        Act::Create | Act::Fetch => client.create_volume(bad()).await.map(drop),
        Act::Delete => {
            let request = DeleteVolumeRequest { volume_id: "id-bad".to_owned(), ..DeleteVolumeRequest::default() };
            client.delete_volume(timed(request, patience)).await.map(drop)
        }
        Act::List => {
            let request = ListVolumesRequest { max_entries: 10, ..Default::default() };
            client.list_volumes(timed(request, patience)).await.map(drop)
        }
        Act::Get => {
            let request = ControllerGetVolumeRequest { volume_id: "id-bad".to_owned() };
            client.controller_get_volume(timed(request, patience)).await.map(drop)
        }
        Act::Snapshot => {
            let request = CreateSnapshotRequest {
                source_volume_id: "id-bad".to_owned(),
                name: "bad".to_owned(),
                ..CreateSnapshotRequest::default()
            };
            client.create_snapshot(timed(request, patience)).await.map(drop)
        }
        Act::Blocks => blocks(channel, patience).await,
        Act::Series => series(channel, patience).await,
        Act::Flock => at_once(channel, patience, 32).await,
        Act::Crowd => at_once(channel, patience, 5).await,
        Act::Race => race(channel, patience).await,
        Act::Publish | Act::Renew | Act::Freeze | Act::Nothing => Ok(()),
    }
}

/// Reads a stream of blocks to its end, or as long as a patient client does.
async fn blocks(channel: &Channel, patience: Duration) -> Result<(), Status> {
    let request = GetMetadataAllocatedRequest { snapshot_id: "snap-bad".to_owned(), ..Default::default() };
    let mut client = SnapshotMetadataClient::new(channel.clone());
    let mut stream = client.get_metadata_allocated(timed(request, patience)).await?;
    for _ in 0..BLOCKS {
        if stream.get_mut().message().await?.is_none() {
            break;
        }
    }
    Ok(())
}

/// Bad calls, then a good one, until that is refused.
async fn series(channel: &Channel, patience: Duration) -> Result<(), Status> {
    let mut client = ControllerClient::new(channel.clone());
    let mut answer = Ok(());
    for _ in 0..TRIES {
        for _ in 0..4 {
            let _spoiled = client.create_volume(timed(create("bad"), patience)).await;
        }
        answer = client.create_volume(timed(create("good"), patience)).await.map(drop);
        if answer.is_err() {
            break;
        }
    }
    answer
}

/// So many calls that hang, on objects of their own; the answer to the first that is not let.
async fn at_once(channel: &Channel, patience: Duration, calls: usize) -> Result<(), Status> {
    let hanging = (0..calls).map(|n| {
        let mut client = ControllerClient::new(channel.clone());
        async move { client.create_volume(timed(create(&format!("bad-{n}")), patience)).await.map(drop) }
    });
    let ended = futures_util::future::join_all(hanging).await;
    let refused = |end: &Result<(), Status>| end.as_ref().is_err_and(|status| status.code() == Code::Unavailable);
    ended.into_iter().find(refused).unwrap_or(Ok(()))
}

/// The side that looks, while the other turns a directory into a link and back.
async fn race(channel: &Channel, patience: Duration) -> Result<(), Status> {
    let call = |name: &'static str| {
        let mut client = ControllerClient::new(channel.clone());
        async move { client.create_volume(timed(create(name), patience)).await.map(drop) }
    };
    let (_flipped, looked) = tokio::join!(call("bad-flip"), call("bad-look"));
    looked
}

/// Publishes the neighbour's volume and the attacker's, looks at what came of it, and unpublishes both.
pub(super) async fn publish(
    place: &Place,
    act: Act,
    channel: &Channel,
    neighbour: &Channel,
    left: &mut Vec<String>,
) -> Result<Result<(), Status>> {
    let (theirs, ours) = (place.at("pods/neighbours"), place.at("pods/target"));
    let good = PublishedAt { volume: "id-good".to_owned(), path: theirs.clone() };
    let bad = PublishedAt { volume: "id-bad".to_owned(), path: ours.clone() };
    good.publish(neighbour).await?;
    let answer = bad.publish(channel).await;
    let held = place.holds();
    let (own, other) = (format!("a mount at {}", theirs.display()), format!("a mount at {}", ours.display()));
    if !held.contains(&own) {
        left.push("the neighbour's mount is gone".to_owned());
    }
    if std::fs::read_to_string(ours.join("file")).is_ok_and(|text| text == OUTSIDE) {
        left.push("a directory outside of the grant is mounted".to_owned());
    }
    match act {
        Act::Freeze if answer.is_ok() => left.extend(thawed(place).await.err()),
        // Whatever is there now was let in.
        _ => left.extend(held.into_iter().filter(|what| *what != own && *what != other)),
    }
    for (at, channel, whose) in [(&bad, channel, "attacker's"), (&good, neighbour, "neighbour's")] {
        if let Err(status) = at.unpublish(channel).await {
            left.push(format!("the {whose} volume cannot be unpublished: {status}"));
        }
    }
    Ok(answer)
}

/// Has many of the attacker's volumes published at once, and looks how long the neighbour's take meanwhile.
pub(super) async fn renew(
    place: &Place,
    channel: &Channel,
    neighbour: &Channel,
    left: &mut Vec<String>,
) -> Result<Result<(), Status>> {
    let volumes = (0..RENEWALS).map(|n| PublishedAt::new(place, &renewed(n)));
    let all = futures_util::future::join_all(volumes.clone().map(|at| async move { at.publish(channel).await }));
    let theirs = PublishedAt { volume: "id-good".to_owned(), path: place.at("pods/neighbours") };
    let beside = async {
        let (begin, mut slowest) = (Instant::now(), Duration::ZERO);
        while begin.elapsed() < A_WHILE {
            let before = Instant::now();
            theirs.publish(neighbour).await?;
            slowest = slowest.max(before.elapsed());
            theirs.unpublish(neighbour).await?;
        }
        anyhow::Ok(slowest)
    };
    let (published, slowest) = tokio::join!(all, beside);
    let slowest = slowest?;
    if slowest > PROMPT {
        left.push(format!("a publish of the neighbour took {:.1} s", slowest.as_secs_f64()));
    }
    for at in volumes {
        if let Err(status) = at.unpublish(channel).await {
            left.push(format!("a volume cannot be unpublished: {status}"));
        }
    }
    Ok(published.into_iter().find(Result::is_err).unwrap_or(Ok(())))
}

/// Writes to what is mounted, which waits for as long as it is frozen.
async fn thawed(place: &Place) -> Result<(), String> {
    let file = place.at("pods/target/file");
    let begin = Instant::now();
    let written = tokio::task::spawn_blocking(move || std::fs::write(file, b"written"));
    match timeout(THAWED, written).await {
        Ok(Ok(Ok(()))) if begin.elapsed() < FROZEN => Err("it was never frozen".to_owned()),
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error))) => Err(format!("nothing can be written: {error}")),
        Ok(Err(_)) | Err(_) => Err("it is frozen for good".to_owned()),
    }
}
