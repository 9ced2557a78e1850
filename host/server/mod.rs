//! The gRPC servers: sockets, services, reflection, health, and the end of it all. Decides nothing
//! about calls.

mod authority;
pub mod codec;
pub mod listener;
mod words;

use std::future::Future;

use tokio::net::UnixListener;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::service::Routes;
use tonic::transport::Server;

use crate::rpc::Front;
use crate::wire::FILE_DESCRIPTOR_SET;
use crate::wire::pb::csi::v1::{
    controller_server::ControllerServer, group_controller_server::GroupControllerServer,
    identity_server::IdentityServer, node_server::NodeServer, snapshot_metadata_server::SnapshotMetadataServer,
};
use crate::wire::pb::encryptionkeyrotation::encryption_key_rotation_controller_server::EncryptionKeyRotationControllerServer;
use crate::wire::pb::fence::fence_controller_server::FenceControllerServer;
use crate::wire::pb::identity::identity_server::IdentityServer as AddonsIdentityServer;
use crate::wire::pb::reclaimspace::{
    reclaim_space_controller_server::ReclaimSpaceControllerServer, reclaim_space_node_server::ReclaimSpaceNodeServer,
};
use crate::wire::pb::replication::controller_server::ControllerServer as ReplicationServer;
use crate::wire::pb::volumegroup::controller_server::ControllerServer as VolumeGroupServer;

/// The largest request that is read: as large as clients accept answers.
const MESSAGE: usize = 4 * 1024 * 1024;
/// The largest answer that is sent; clients written in Go refuse larger ones.
const ANSWER: usize = 4 * 1024 * 1024;

/// Serves one socket until `end` resolves, then lets the calls under way finish.
///
/// # Errors
/// When the transport fails.
pub async fn serve<F>(listener: UnixListener, front: Front, end: F) -> Result<(), tonic::transport::Error>
where
    F: Future<Output = ()> + Send,
{
    let all = routes(front).await.prepare().into_axum_router().fallback(words::unknown_service);
    let incoming = UnixListenerStream::new(listener).map(|accepted| accepted.map(authority::Tolerant::new));
    Server::builder()
        .layer(words::AtTheDoor)
        .add_routes(Routes::from(all))
        .serve_with_incoming_shutdown(incoming, end)
        .await
}

/// All services on every socket; what a socket is not for answers so itself.
async fn routes(front: Front) -> Routes {
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
    let reflection =
        || tonic_reflection::server::Builder::configure().register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET);
    if let Ok(v1) = reflection().build_v1() {
        routes = routes.add_service(v1);
    }
    if let Ok(v1alpha) = reflection().build_v1alpha() {
        routes = routes.add_service(v1alpha);
    }
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_service_status("", tonic_health::ServingStatus::Serving).await;
    routes.add_service(health)
}
