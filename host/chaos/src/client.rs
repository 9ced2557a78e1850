//! What a container orchestrator does: calls, and the same calls again. It owns how long is repeated and what of it is told;
//! it judges no answer.

use std::time::Duration;

use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::volume_capability::{
    AccessMode, AccessType, BlockVolume, MountVolume, access_mode::Mode,
};
use drivebay_proto::pb::csi::v1::{
    CapacityRange, ControllerExpandVolumeRequest, ControllerGetCapabilitiesRequest, CreateVolumeRequest,
    DeleteVolumeRequest, GetCapacityRequest, ListVolumesRequest, ValidateVolumeCapabilitiesRequest, Volume,
    VolumeCapability, controller_service_capability,
};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

pub(super) use drivebay_proto::pb::csi::v1::controller_service_capability::rpc::Type as Ability;

/// How long one call may take.
const DEADLINE: Duration = Duration::from_secs(20);
/// How often a call is repeated that was not answered with OK; sidecars never give up.
const ATTEMPTS: u32 = 10;
/// Before the first repetition; it doubles.
const PAUSE: Duration = Duration::from_millis(5);
/// Pages of one listing, at most.
const PAGES: usize = 1_000;

/// How volumes are asked for.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// Bytes of a volume.
    pub bytes: i64,
    /// `parameters` of `CreateVolume`.
    pub parameters: Vec<(String, String)>,
    /// Secrets of every call.
    pub secrets: Vec<(String, String)>,
    /// A raw block device.
    pub block: bool,
}

/// A client that keeps what it has done, in words.
#[derive(Debug, Clone)]
pub(super) struct Client {
    controller: ControllerClient<Channel>,
    wish: Wish,
    /// What was done, one line a call.
    pub(super) story: Vec<String>,
}

impl Client {
    pub(super) fn new(channel: Channel, wish: Wish) -> Self {
        Self { controller: ControllerClient::new(channel), wish, story: Vec::new() }
    }

    pub(super) const fn wish(&self) -> &Wish {
        &self.wish
    }

    /// Takes a line into the story.
    pub(super) fn tell(&mut self, line: impl Into<String>) {
        self.story.push(line.into());
    }

    fn told<T>(&mut self, call: &str, answer: &Result<T, Status>, words: impl FnOnce(&T) -> String) {
        let said = match answer {
            Ok(answer) => words(answer),
            Err(status) => format!("{:?}: {}", status.code(), status.message()),
        };
        self.tell(format!("{call} -> {said}"));
    }

    fn capability(&self) -> VolumeCapability {
        let access =
            if self.wish.block { AccessType::Block(BlockVolume {}) } else { AccessType::Mount(MountVolume::default()) };
        let mode = AccessMode { mode: Mode::SingleNodeWriter.into() };
        VolumeCapability { access_type: Some(access), access_mode: Some(mode) }
    }

    /// The request for a volume of this name, so many times as large as the wish.
    pub(super) fn request(&self, name: &str, times: i64) -> CreateVolumeRequest {
        let bytes = self.wish.bytes.saturating_mul(times);
        CreateVolumeRequest {
            name: name.to_owned(),
            capacity_range: Some(CapacityRange { required_bytes: bytes, limit_bytes: bytes }),
            volume_capabilities: vec![self.capability()],
            parameters: self.wish.parameters.iter().cloned().collect(),
            secrets: self.wish.secrets.iter().cloned().collect(),
            ..CreateVolumeRequest::default()
        }
    }

    pub(super) async fn abilities(&mut self) -> Result<Vec<Ability>, Status> {
        let answer = self.controller.controller_get_capabilities(timed(ControllerGetCapabilitiesRequest {})).await?;
        let kinds = answer.into_inner().capabilities.into_iter().filter_map(|capability| capability.r#type);
        Ok(kinds.map(|controller_service_capability::Type::Rpc(rpc)| rpc.r#type()).collect())
    }

    pub(super) async fn create(&mut self, request: &CreateVolumeRequest) -> Result<Volume, Status> {
        let answer = self.controller.create_volume(timed(request.clone())).await;
        let answer = answer.map(|answer| answer.into_inner().volume.unwrap_or_default());
        let bytes = request.capacity_range.map(|range| range.required_bytes).unwrap_or_default();
        self.told(&format!("CreateVolume {:?}, {bytes} bytes", request.name), &answer, |volume| {
            format!("{}, {} bytes", volume.volume_id, volume.capacity_bytes)
        });
        answer
    }

    pub(super) async fn delete(&mut self, id: &str) -> Result<(), Status> {
        let secrets = self.wish.secrets.iter().cloned().collect();
        let request = DeleteVolumeRequest { volume_id: id.to_owned(), secrets };
        let answer = self.controller.delete_volume(timed(request)).await.map(drop);
        self.told(&format!("DeleteVolume {id}"), &answer, |()| "OK".to_owned());
        answer
    }

    /// What its size is now, and whether the node has work left.
    pub(super) async fn expand(&mut self, id: &str, bytes: i64) -> Result<i64, Status> {
        let request = ControllerExpandVolumeRequest {
            volume_id: id.to_owned(),
            capacity_range: Some(CapacityRange { required_bytes: bytes, limit_bytes: 0 }),
            secrets: self.wish.secrets.iter().cloned().collect(),
            volume_capability: Some(self.capability()),
        };
        let answer = self.controller.controller_expand_volume(timed(request)).await;
        let answer = answer.map(|answer| answer.into_inner().capacity_bytes);
        self.told(&format!("ControllerExpandVolume {id}, {bytes} bytes"), &answer, |bytes| format!("{bytes} bytes"));
        answer
    }

    /// Whether the driver knows the volume.
    pub(super) async fn knows(&mut self, volume: &Volume) -> Result<bool, Status> {
        let request = ValidateVolumeCapabilitiesRequest {
            volume_id: volume.volume_id.clone(),
            volume_context: volume.volume_context.clone(),
            volume_capabilities: vec![self.capability()],
            parameters: self.wish.parameters.iter().cloned().collect(),
            secrets: self.wish.secrets.iter().cloned().collect(),
            ..ValidateVolumeCapabilitiesRequest::default()
        };
        let answer = match self.controller.validate_volume_capabilities(timed(request)).await {
            Ok(answer) => Ok(answer.into_inner().confirmed.is_some()),
            Err(status) if status.code() == Code::NotFound => Ok(false),
            Err(status) => Err(status),
        };
        let call = format!("ValidateVolumeCapabilities {}", volume.volume_id);
        self.told(&call, &answer, |known| if *known { "confirmed" } else { "not found, or not confirmed" }.to_owned());
        answer
    }

    /// One page: the volumes' ids and sizes, and where the next one begins.
    pub(super) async fn page(&mut self, most: i32, token: &str) -> Result<(Vec<(String, i64)>, String), Status> {
        let request = ListVolumesRequest { max_entries: most, starting_token: token.to_owned() };
        let answer = self.controller.list_volumes(timed(request)).await.map(|answer| {
            let answer = answer.into_inner();
            let volumes = answer.entries.into_iter().filter_map(|entry| entry.volume);
            (volumes.map(|volume| (volume.volume_id, volume.capacity_bytes)).collect::<Vec<_>>(), answer.next_token)
        });
        let call = if token.is_empty() { "ListVolumes".to_owned() } else { format!("ListVolumes from {token:?}") };
        self.told(&call, &answer, |(volumes, next)| {
            let ids: Vec<_> = volumes.iter().map(|(id, _)| id.as_str()).collect();
            let next = if next.is_empty() { String::new() } else { format!(", next {next:?}") };
            format!("{} volumes [{}]{next}", ids.len(), ids.join(", "))
        });
        answer
    }

    /// All of them.
    pub(super) async fn list(&mut self) -> Result<Vec<(String, i64)>, Status> {
        let (mut all, mut token) = (Vec::new(), String::new());
        for _ in 0..PAGES {
            let (volumes, next) = self.page(0, &token).await?;
            all.extend(volumes);
            if next.is_empty() {
                return Ok(all);
            }
            token = next;
        }
        Err(Status::internal(format!("the list has no end in {PAGES} pages")))
    }

    pub(super) async fn capacity(&mut self) -> Result<i64, Status> {
        let parameters = self.wish.parameters.iter().cloned().collect();
        let request = GetCapacityRequest { parameters, ..GetCapacityRequest::default() };
        let answer = self.controller.get_capacity(timed(request)).await;
        let answer = answer.map(|answer| answer.into_inner().available_capacity);
        self.told("GetCapacity", &answer, |bytes| format!("{bytes} bytes"));
        answer
    }
}

fn timed<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(DEADLINE);
    request
}

/// Codes after which a repetition is answered with the same.
const fn is_final(code: Code) -> bool {
    matches!(
        code,
        Code::InvalidArgument
            | Code::NotFound
            | Code::AlreadyExists
            | Code::OutOfRange
            | Code::PermissionDenied
            | Code::Unimplemented
    )
}

/// Repeats a call as sidecars do, until it is answered with OK.
///
/// # Errors
/// The last answer.
pub(super) async fn until_done<T>(
    client: &mut Client,
    mut call: impl AsyncFnMut(&mut Client) -> Result<T, Status>,
) -> Result<T, Status> {
    let mut pause = PAUSE;
    for _ in 1..ATTEMPTS {
        match call(client).await {
            Ok(answer) => return Ok(answer),
            Err(status) if is_final(status.code()) => return Err(status),
            Err(_) => tokio::time::sleep(pause).await,
        }
        pause *= 2;
    }
    call(client).await
}
