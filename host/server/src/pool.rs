//! The transport's servers of one socket: one on each thread that has a connection of it. They are drained together: calls
//! under way finish, and the next connection starts new servers. Decides nothing about calls.

use std::collections::HashMap;
use std::future::pending;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;

use axum::Router;
use futures_util::StreamExt;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::{Error, Server};

use crate::authority::Tolerant;
use crate::connection_limit::Admitted;
use crate::grpc_only;
use crate::workers::{Worker, Workers};

/// Calls that one client may give up before they have been looked at; with one more its connection is closed, and all other
/// calls on it fail. A client that repeats calls with short deadlines comes past the library's own limit of 20 while
/// a loaded machine keeps the host from reading.
const GIVEN_UP: usize = 1000;

/// A connection on its way to another thread: registered with no runtime.
type Detached = Admitted<StdStream>;

/// What is served of a socket, and where.
pub(crate) struct ServerPool {
    services: Router,
    workers: Arc<Workers>,
    /// The servers that take connections, by thread.
    present: HashMap<usize, mpsc::UnboundedSender<Detached>>,
    over: CancellationToken,
    servers: JoinSet<Result<(), Error>>,
}

impl ServerPool {
    /// Serves these on those threads.
    pub(crate) fn new(services: Router, workers: Arc<Workers>) -> Self {
        let (over, servers) = (CancellationToken::new(), JoinSet::new());
        Self { services, workers, present: HashMap::new(), over, servers }
    }

    /// Hands a connection to the thread that has the least to do.
    pub(crate) fn dispatch(&mut self, connection: Admitted<UnixStream>) {
        let worker = self.workers.least_busy();
        // A connection that cannot change its thread is closed, and its client connects again.
        let Ok(arrival) = connection.try_map(UnixStream::into_std) else { return };
        let mut arrival = arrival.counted(worker.connection());
        if let Some(server) = self.present.get(&worker.number) {
            match server.send(arrival) {
                Ok(()) => return,
                // That server has ended.
                Err(mpsc::error::SendError(back)) => arrival = back,
            }
        }
        let server = serve(&self.services, worker, &self.over, &mut self.servers);
        // Nothing has ended it yet.
        let _ = server.send(arrival);
        self.present.insert(worker.number, server);
    }

    /// Lets the calls under way finish and closes the connections; the next connection starts new servers.
    pub(crate) fn drain(&mut self) {
        std::mem::take(&mut self.over).cancel();
        self.present.clear();
    }

    /// Resolves when a server fails, and never when all is well.
    pub(crate) async fn failed(&mut self) -> Error {
        loop {
            match self.servers.join_next().await {
                Some(Ok(Err(error))) => return error,
                // It was drained, or its thread ends.
                Some(_) => {}
                None => pending().await,
            }
        }
    }

    /// Resolves when all that have ended are through with their calls.
    pub(crate) async fn ended(&mut self) {
        while self.servers.join_next().await.is_some() {}
    }
}

/// Starts a server on a thread.
fn serve(
    services: &Router,
    worker: &Worker,
    over: &CancellationToken,
    servers: &mut JoinSet<Result<(), Error>>,
) -> mpsc::UnboundedSender<Detached> {
    let (dispatch, arrivals) = mpsc::unbounded_channel::<Detached>();
    let incoming =
        UnboundedReceiverStream::new(arrivals).map(|arrival| arrival.try_map(UnixStream::from_std).map(Tolerant::new));
    let server = Server::builder()
        .http2_max_pending_accept_reset_streams(Some(GIVEN_UP))
        .layer(grpc_only::GrpcOnlyLayer)
        .add_routes(Routes::from(services.clone()))
        .serve_with_incoming_shutdown(incoming, over.clone().cancelled_owned());
    let idle = worker.idle_task();
    let server = async move {
        let _idle = idle;
        server.await
    };
    servers.spawn_on(server, &worker.runtime);
    dispatch
}
