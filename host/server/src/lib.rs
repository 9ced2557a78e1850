//! The gRPC servers: sockets, services, reflection, health, and the end of it all. Decides nothing
//! about calls.

pub mod accept;
mod authority;
pub mod connection_limit;
pub mod evicting_listener;
mod grpc_only;
mod health;
pub mod listener;
mod pool;
pub mod workers;
mod writes;

use std::sync::Arc;

use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::server::NamedService as _;
use tonic::service::Routes;

use tonic_health::pb::FILE_DESCRIPTOR_SET as HEALTH;
use tonic_health::pb::health_server::HealthServer;
use tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET as REFLECTION_ALPHA;

use drivebay_proto::FILE_DESCRIPTOR_SET;
use drivebay_proto::pb::csi::v1::{
    controller_server::ControllerServer, group_controller_server::GroupControllerServer,
    identity_server::IdentityServer, node_server::NodeServer, snapshot_metadata_server::SnapshotMetadataServer,
};
use drivebay_proto::pb::encryptionkeyrotation::encryption_key_rotation_controller_server::EncryptionKeyRotationControllerServer;
use drivebay_proto::pb::fence::fence_controller_server::FenceControllerServer;
use drivebay_proto::pb::identity::identity_server::IdentityServer as AddonsIdentityServer;
use drivebay_proto::pb::reclaimspace::{
    reclaim_space_controller_server::ReclaimSpaceControllerServer, reclaim_space_node_server::ReclaimSpaceNodeServer,
};
use drivebay_proto::pb::replication::controller_server::ControllerServer as ReplicationServer;
use drivebay_proto::pb::volumegroup::controller_server::ControllerServer as VolumeGroupServer;
use drivebay_rpc::{Front, SocketState};

use crate::connection_limit::ConnectionLimit;
use crate::health::HealthService;
use crate::pool::ServerPool;
use crate::workers::Workers;

/// The largest request that is read: as large as clients accept answers.
const MESSAGE: usize = 4 * 1024 * 1024;
/// The largest answer that is sent; clients written in Go refuse larger ones.
const ANSWER: usize = 4 * 1024 * 1024;

/// The services by their names, as [`routes`] has them.
const SERVED: [&str; 12] = [
    IdentityServer::<Front>::NAME,
    ControllerServer::<Front>::NAME,
    GroupControllerServer::<Front>::NAME,
    SnapshotMetadataServer::<Front>::NAME,
    NodeServer::<Front>::NAME,
    AddonsIdentityServer::<Front>::NAME,
    ReplicationServer::<Front>::NAME,
    VolumeGroupServer::<Front>::NAME,
    FenceControllerServer::<Front>::NAME,
    ReclaimSpaceControllerServer::<Front>::NAME,
    ReclaimSpaceNodeServer::<Front>::NAME,
    EncryptionKeyRotationControllerServer::<Front>::NAME,
];

/// Connections to one socket at a time. Sidecars and kubelet hold one each, health checks come and go.
const CONNECTIONS: usize = 512;

/// Serves one socket on the threads of `workers` until `end`, then lets the calls under way finish. When the socket's epoch
/// changes, the connections there are drained and the socket stays: clients connect again and read the capabilities anew (D9).
///
/// # Errors
/// When the transport fails.
pub async fn serve(
    listener: UnixListener,
    front: Front,
    workers: Arc<Workers>,
    mut socket_state: watch::Receiver<SocketState>,
    end: CancellationToken,
) -> Result<(), tonic::transport::Error> {
    let services = routes(&front).prepare().into_axum_router().fallback(grpc_only::unknown_service);
    let (mut pool, limit) = (ServerPool::new(services, workers), ConnectionLimit::new(CONNECTIONS));
    let mut epoch = socket_state.borrow_and_update().epoch;
    let served = loop {
        tokio::select! {
            () = end.cancelled() => break Ok(()),
            changed = socket_state.wait_for(|state| state.epoch != epoch) => {
                epoch = changed.map_or(epoch, |state| state.epoch);
                pool.drain();
            }
            connection = accept::next(&listener, &limit) => pool.dispatch(connection),
            error = pool.failed() => break Err(error),
        }
    };
    pool.drain();
    pool.ended().await;
    served
}

/// All services on every socket; what a socket is not for answers so itself.
fn routes(front: &Front) -> Routes {
    macro_rules! limited {
        ($server:ident) => {
            $server::new(front.clone()).max_decoding_message_size(MESSAGE).max_encoding_message_size(ANSWER)
        };
    }
    let mut routes = Routes::new(limited!(IdentityServer))
        .add_service(limited!(ControllerServer))
        .add_service(limited!(GroupControllerServer))
        .add_service(limited!(SnapshotMetadataServer))
        .add_service(limited!(NodeServer))
        .add_service(limited!(AddonsIdentityServer))
        .add_service(limited!(ReplicationServer))
        .add_service(limited!(VolumeGroupServer))
        .add_service(limited!(FenceControllerServer))
        .add_service(limited!(ReclaimSpaceControllerServer))
        .add_service(limited!(ReclaimSpaceNodeServer))
        .add_service(limited!(EncryptionKeyRotationControllerServer));
    // Reflection of a set that was encoded by the build cannot fail; without it all else still works.
    let reflection = || {
        let sets = [FILE_DESCRIPTOR_SET, HEALTH, tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET, REFLECTION_ALPHA];
        let builder = tonic_reflection::server::Builder::configure().include_reflection_service(false);
        sets.into_iter().fold(builder, tonic_reflection::server::Builder::register_encoded_file_descriptor_set)
    };
    if let Ok(v1) = reflection().build_v1() {
        routes = routes.add_service(v1);
    }
    if let Ok(v1alpha) = reflection().build_v1alpha() {
        routes = routes.add_service(v1alpha);
    }
    routes.add_service(HealthServer::new(HealthService(&SERVED)))
}
