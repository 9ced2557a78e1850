//! The operators' side of a running host: `drivebay.admin.v1` on a Unix socket of the owner's. Turns requests
//! into commands for the drivers and pictures into answers; decides nothing about generations.

mod answer;
mod api;
mod digest;
pub mod page;
pub mod recording;
mod sent;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tonic::transport::Server;

use self::api::Api;
use crate::mounts::Mounts;
use crate::packages::Packages;
use drivebay_backend::{Backend, Control};
use drivebay_confine::InForce;
use drivebay_proto::admin::admin_server::AdminServer;
use drivebay_server::accept;
use drivebay_server::connection_limit::ConnectionLimit;
use drivebay_server::listener::{self, ListenError};

/// The permission bits of the socket: opening it gives the right to replace backends.
const MODE: u32 = 0o600;

/// Connections of operators at a time.
const CONNECTIONS: usize = 64;

/// The backends that can be asked about and told.
pub trait Backends: Send + Sync + 'static {
    /// All of them, by name.
    fn all(&self) -> Vec<(Arc<Backend>, Control)>;

    /// What the kernel keeps from this process; none: it was not confined.
    fn in_force(&self) -> Option<Arc<InForce>>;

    /// Whose mounts this process has.
    fn mounts(&self) -> Arc<Mounts>;

    /// The packages that components come from.
    fn packages(&self) -> Arc<Packages>;

    /// Where components are kept that operators send; none: nowhere.
    fn place_for_sent(&self) -> Option<PathBuf>;
}

/// Why operators are not served.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// It cannot be bound.
    #[error("the admin socket: {0}")]
    Listen(#[from] ListenError),
    /// The address for metrics cannot be bound.
    #[error("http = {address}: {source}")]
    Http {
        /// Where.
        address: std::net::SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Listens at `path`; the answer serves until `end`.
///
/// # Errors
/// When the socket cannot be bound.
pub fn serve(
    path: &Path,
    backends: Arc<dyn Backends>,
    end: CancellationToken,
) -> Result<impl Future<Output = ()> + Send + use<>, AdminError> {
    let listener = listener::listen(path, MODE)?;
    tracing::info!(socket = %path.display(), "open for operators");
    let path = path.to_owned();
    let api = Api { backends, end: end.clone() };
    Ok(async move {
        let served = Server::builder()
            .add_service(AdminServer::new(api))
            .serve_with_incoming_shutdown(
                accept::incoming(listener, ConnectionLimit::new(CONNECTIONS)),
                end.cancelled_owned(),
            )
            .await;
        if let Err(error) = served {
            tracing::error!(%error, "the admin socket failed");
        }
        // It may be gone already.
        let _ = std::fs::remove_file(path);
    })
}
