//! The same handler without a sandbox: what the echo backend does, in the same kind of server.

use std::path::Path;

use anyhow::Result;
use drivebay_proto::pb::csi::v1;
use drivebay_proto::pb::csi::v1::controller_server::{Controller, ControllerServer};
use tokio_stream::wrappers::UnixListenerStream;
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

/// Serves it until the process ends.
pub(crate) fn serve(socket: &Path) -> Result<()> {
    let listener = drivebay_server::listener::listen(socket, 0o600)?;
    let server = tonic::transport::Server::builder().add_service(ControllerServer::new(Native));
    tokio_util::task::TaskTracker::new().spawn(server.serve_with_incoming(UnixListenerStream::new(listener)));
    Ok(())
}
