//! Sockets: binds them, puts all services on each, and ends when it is told. What a socket does not serve
//! is decided per call, so that every refusal has words.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use prost::bytes::{Buf, Bytes};
use prost::encoding::{DecodeContext, decode_key, skip_field};
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::service::Routes;
use tonic::transport::Server;

use crate::call::Endpoint;
use crate::lies::Lies;
use crate::pb::csi::v1::{
    controller_server::ControllerServer, group_controller_server::GroupControllerServer,
    identity_server::IdentityServer, node_server::NodeServer, snapshot_metadata_server::SnapshotMetadataServer,
};
use crate::pb::encryptionkeyrotation::encryption_key_rotation_controller_server::EncryptionKeyRotationControllerServer;
use crate::pb::fence::fence_controller_server::FenceControllerServer;
use crate::pb::identity::identity_server::IdentityServer as AddonsIdentityServer;
use crate::pb::reclaimspace::{
    reclaim_space_controller_server::ReclaimSpaceControllerServer, reclaim_space_node_server::ReclaimSpaceNodeServer,
};
use crate::pb::replication::controller_server::ControllerServer as ReplicationServer;
use crate::pb::volumegroup::controller_server::ControllerServer as VolumeGroupServer;

/// A socket that is bound, and what it stands for.
#[derive(Debug)]
pub(crate) struct Door {
    listener: UnixListener,
    endpoint: Endpoint,
    patience: Patience,
}

/// How many calls all doors together answer before they hang; none: they never do.
#[derive(Clone, Debug)]
pub(crate) struct Patience(Option<Arc<AtomicU64>>);

impl Patience {
    pub(crate) fn new(calls: Option<u64>) -> Self {
        Self(calls.map(|calls| Arc::new(AtomicU64::new(calls))))
    }

    fn is_at_its_end(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        let spent = |left: &Arc<AtomicU64>| left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err();
        self.0.as_ref().is_some_and(spent)
    }
}

impl Door {
    /// Binds a path or `unix://` URI, in place of a socket that an earlier run left.
    pub(crate) fn bind(uri: &str, endpoint: Endpoint, patience: Patience) -> Result<Self> {
        let path = PathBuf::from(uri.strip_prefix("unix://").unwrap_or(uri));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
        .and_then(|()| UnixListener::bind(&path))
        .map(|listener| Self { listener, endpoint, patience })
        .with_context(|| format!("cannot serve {}", path.display()))
    }

    /// Serves until the token is cancelled.
    pub(crate) async fn serve(self, end: CancellationToken) -> Result<()> {
        let lies = self.endpoint.shared.lies;
        let routes = routes(&self.endpoint).layer(from_fn_with_state(lies, picky));
        let routes = routes.layer(from_fn_with_state(self.patience, mute));
        let server = Server::builder().add_routes(Routes::from(routes));
        let incoming = UnixListenerStream::new(self.listener);
        Ok(server.serve_with_incoming_shutdown(incoming, end.cancelled_owned()).await?)
    }
}

fn routes(endpoint: &Endpoint) -> axum::Router {
    let mut routes = Routes::builder();
    routes
        .add_service(IdentityServer::new(endpoint.clone()))
        .add_service(ControllerServer::new(endpoint.clone()))
        .add_service(GroupControllerServer::new(endpoint.clone()))
        .add_service(SnapshotMetadataServer::new(endpoint.clone()))
        .add_service(NodeServer::new(endpoint.clone()))
        .add_service(AddonsIdentityServer::new(endpoint.clone()))
        .add_service(ReplicationServer::new(endpoint.clone()))
        .add_service(VolumeGroupServer::new(endpoint.clone()))
        .add_service(FenceControllerServer::new(endpoint.clone()))
        .add_service(ReclaimSpaceControllerServer::new(endpoint.clone()))
        .add_service(ReclaimSpaceNodeServer::new(endpoint.clone()))
        .add_service(EncryptionKeyRotationControllerServer::new(endpoint.clone()));
    routes
        .routes()
        .into_axum_router()
        .fallback(async || refuse(&Status::unimplemented("there is no such service here")))
}

fn refuse(status: &Status) -> Response {
    status.clone().into_http()
}

/// A door that takes every call, and from some time on answers none.
async fn mute(State(patience): State<Patience>, request: Request, next: Next) -> Response {
    if patience.is_at_its_end() {
        // A waiting test is told; there need not be one.
        let _ = writeln!(std::io::stdout(), "hangs");
        std::future::pending::<()>().await;
    }
    next.run(request).await
}

/// A door that looks into messages: fields that no version has are the end of the call. Only for the lies
/// about unknown fields; messages have lost them once they are decoded.
async fn picky(State(lies): State<Lies>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let looks = (lies.tells("R-37") && path.starts_with("/replication.Controller/"))
        || (lies.tells("X-124") && path == "/csi.v1.Controller/CreateVolume");
    if !looks {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return refuse(&Status::cancelled("the request did not arrive"));
    };
    if has_unknown_field(bytes.clone()) {
        return refuse(&Status::invalid_argument("the request holds a field that is not known here"));
    }
    next.run(Request::from_parts(parts, Body::from(bytes))).await
}

/// Whether a framed message has a field above all numbers in use.
fn has_unknown_field(mut framed: Bytes) -> bool {
    const FRAME: usize = 5;
    const HIGHEST: u32 = 100;
    if framed.remaining() < FRAME {
        return false;
    }
    framed.advance(FRAME);
    while framed.has_remaining() {
        let Ok((number, wire)) = decode_key(&mut framed) else { return false };
        if number > HIGHEST {
            return true;
        }
        if skip_field(wire, number, &mut framed, DecodeContext::default()).is_err() {
            return false;
        }
    }
    false
}

/// Serves all doors until the token is cancelled; the first failure is the end of all.
pub(crate) async fn all(doors: Vec<Door>, end: &CancellationToken) -> Result<()> {
    let mut serving = tokio::task::JoinSet::new();
    for door in doors {
        serving.spawn(door.serve(end.clone()));
    }
    let mut result = Ok(());
    while let Some(ended) = serving.join_next().await {
        end.cancel();
        result = result.and(ended.context("a server broke")?);
    }
    result
}
