//! The same handler without a sandbox: what the echo backend does, in the same kind of server.

use std::os::unix::net::UnixStream as StdStream;
use std::path::Path;

use anyhow::Result;
use drivebay_proto::pb::csi::v1;
use drivebay_proto::pb::csi::v1::controller_server::{Controller, ControllerServer};
use futures_util::StreamExt as _;
use tokio::net::UnixStream;
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status};

/// The native backend.
pub(crate) struct Native;

/// Makes the answer that the echo backend makes.
pub(crate) fn answer(request: v1::CreateVolumeRequest) -> v1::CreateVolumeResponse {
    let capacity_bytes = request.capacity_range.map_or(1 << 30, |range| range.required_bytes);
    let volume = v1::Volume {
        volume_id: format!("id-{}", request.name),
        capacity_bytes,
        volume_context: request.parameters,
        ..Default::default()
    };
    v1::CreateVolumeResponse { volume: Some(volume) }
}

macro_rules! unused {
    ($($name:ident: $request:ident => $response:ident;)*) => {
        #[tonic::async_trait]
        impl Controller for Native {
            async fn create_volume(&self, request: Request<v1::CreateVolumeRequest>) -> Result<Response<v1::CreateVolumeResponse>, Status> {
                Ok(Response::new(answer(request.into_inner())))
            }

            async fn controller_get_capabilities(
                &self,
                _request: Request<v1::ControllerGetCapabilitiesRequest>,
            ) -> Result<Response<v1::ControllerGetCapabilitiesResponse>, Status> {
                use v1::controller_service_capability::{Rpc, Type, rpc};
                let r#type = Some(Type::Rpc(Rpc { r#type: rpc::Type::CreateDeleteVolume.into() }));
                let capabilities = vec![v1::ControllerServiceCapability { r#type }];
                Ok(Response::new(v1::ControllerGetCapabilitiesResponse { capabilities }))
            }

            $(async fn $name(&self, _request: Request<v1::$request>) -> Result<Response<v1::$response>, Status> {
                Err(Status::unimplemented("not measured"))
            })*
        }
    };
}

unused! {
    delete_volume: DeleteVolumeRequest => DeleteVolumeResponse;
    controller_publish_volume: ControllerPublishVolumeRequest => ControllerPublishVolumeResponse;
    controller_unpublish_volume: ControllerUnpublishVolumeRequest => ControllerUnpublishVolumeResponse;
    validate_volume_capabilities: ValidateVolumeCapabilitiesRequest => ValidateVolumeCapabilitiesResponse;
    list_volumes: ListVolumesRequest => ListVolumesResponse;
    controller_get_volume: ControllerGetVolumeRequest => ControllerGetVolumeResponse;
    controller_list_volume_health: ControllerListVolumeHealthRequest => ControllerListVolumeHealthResponse;
    controller_get_volume_health: ControllerGetVolumeHealthRequest => ControllerGetVolumeHealthResponse;
    controller_modify_volume: ControllerModifyVolumeRequest => ControllerModifyVolumeResponse;
    get_capacity: GetCapacityRequest => GetCapacityResponse;
    create_snapshot: CreateSnapshotRequest => CreateSnapshotResponse;
    delete_snapshot: DeleteSnapshotRequest => DeleteSnapshotResponse;
    list_snapshots: ListSnapshotsRequest => ListSnapshotsResponse;
    get_snapshot: GetSnapshotRequest => GetSnapshotResponse;
    controller_expand_volume: ControllerExpandVolumeRequest => ControllerExpandVolumeResponse;
}

/// Serves it until the process ends, on threads like those of a host: one for each processor, each with a runtime of its
/// own, and connections on them in turn.
pub(crate) fn serve(socket: &Path) -> Result<()> {
    let listener = drivebay_server::listener::listen(socket, 0o600)?;
    let threads = std::thread::available_parallelism()?.get();
    let threads = (0..threads).map(|_| thread()).collect::<Result<Vec<_>>>()?;
    TaskTracker::new().spawn(async move {
        for thread in threads.iter().cycle() {
            let Ok((stream, _)) = listener.accept().await else { return };
            if stream.into_std().is_ok_and(|stream| thread.send(stream).is_err()) {
                return;
            }
        }
    });
    Ok(())
}

fn thread() -> Result<mpsc::UnboundedSender<StdStream>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (hand, arrivals) = mpsc::unbounded_channel();
    let incoming = UnboundedReceiverStream::new(arrivals).map(UnixStream::from_std);
    let server = tonic::transport::Server::builder().add_service(ControllerServer::new(Native));
    std::thread::Builder::new()
        .name("native".to_owned())
        .spawn(move || runtime.block_on(server.serve_with_incoming(incoming)))?;
    Ok(hand)
}
