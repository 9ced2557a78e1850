//! The sockets of one backend: open while there is something to serve, moved when the configuration moves
//! them. What stays as it was is not touched, so its clients notice nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use drivebay_backend::Backend;
use drivebay_policy::Sockets;
use drivebay_rpc::{Front, Role};

use drivebay_server::listener::ListenError;
use drivebay_server::workers::Workers;

/// A socket as it is wanted: where, for what, with which permission bits.
type Place = (PathBuf, Role, u32);

/// The sockets of a backend.
#[derive(Debug)]
pub(super) struct BackendSockets {
    backend: Arc<Backend>,
    workers: Arc<Workers>,
    socket_state: Mutex<State>,
    ending: CancellationToken,
    serving: TaskTracker,
}

#[derive(Debug)]
struct State {
    wanted: Sockets,
    open: Vec<(Place, CancellationToken)>,
}

impl BackendSockets {
    /// All closed. Connections are to be served by `workers`.
    pub(super) fn new(backend: Arc<Backend>, workers: Arc<Workers>, wanted: Sockets) -> Arc<Self> {
        let socket_state = Mutex::new(State { wanted, open: Vec::new() });
        Arc::new(Self { backend, workers, socket_state, ending: CancellationToken::new(), serving: TaskTracker::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.socket_state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens and closes with what the backend has to serve, from now on.
    ///
    /// # Errors
    /// When a socket cannot be bound now; later ones are logged.
    pub(super) fn keep(self: &Arc<Self>) -> Result<(), ListenError> {
        let mut socket_state = self.backend.socket_state();
        self.follow(socket_state.borrow_and_update().open)?;
        let own = Arc::clone(self);
        self.serving.spawn(async move {
            loop {
                tokio::select! {
                    () = own.ending.cancelled() => return,
                    changed = socket_state.changed() => if changed.is_err() { return },
                }
                let open = socket_state.borrow_and_update().open;
                if let Err(error) = own.follow(open) {
                    tracing::error!(backend = own.backend.name, %error, "a socket cannot be opened");
                }
            }
        });
        Ok(())
    }

    /// Moves the sockets to where they are wanted now.
    ///
    /// # Errors
    /// When a new one cannot be bound; those that stay are served.
    pub(super) fn moves(&self, wanted: Sockets) -> Result<(), ListenError> {
        self.lock().wanted = wanted;
        let open = self.backend.socket_state().borrow().open;
        self.follow(open)
    }

    fn follow(&self, open: bool) -> Result<(), ListenError> {
        let mut state = self.lock();
        let wanted = if open && !self.ending.is_cancelled() { places(&state.wanted) } else { Vec::new() };
        state.open.retain(|(place, ending)| {
            let stays = wanted.contains(place);
            if !stays {
                ending.cancel();
                remove(&place.0);
                tracing::info!(backend = self.backend.name, socket = %place.0.display(), "closed");
            }
            stays
        });
        for place in wanted {
            if state.open.iter().all(|(there, _)| *there != place) {
                let ending = self.open(&place)?;
                state.open.push((place, ending));
            }
        }
        Ok(())
    }

    fn open(&self, (path, role, mode): &Place) -> Result<CancellationToken, ListenError> {
        let listener = drivebay_server::listener::listen(path, *mode)?;
        tracing::info!(backend = self.backend.name, socket = %path.display(), "listening");
        let ending = self.ending.child_token();
        let front = Front::new(Arc::clone(&self.backend), *role);
        let (workers, socket_state, end) = (Arc::clone(&self.workers), self.backend.socket_state(), ending.clone());
        self.serving.spawn(async move {
            if let Err(error) = drivebay_server::serve(listener, front, workers, socket_state, end).await {
                tracing::error!(%error, "a socket failed");
            }
        });
        Ok(ending)
    }

    /// Closes all of them; gives clients a moment to go.
    pub(super) async fn close(&self) {
        self.ending.cancel();
        self.serving.close();
        if tokio::time::timeout(std::time::Duration::from_secs(5), self.serving.wait()).await.is_err() {
            tracing::info!(backend = self.backend.name, "clients kept their connections open until the end");
        }
        for ((path, ..), _) in self.lock().open.drain(..) {
            remove(&path);
        }
    }
}

fn places(sockets: &Sockets) -> Vec<Place> {
    let all = [
        (&sockets.csi, Role::All),
        (&sockets.controller, Role::Controller),
        (&sockets.node, Role::Node),
        (&sockets.addons, Role::All),
    ];
    all.into_iter().filter_map(|(path, role)| Some((path.clone()?, role, sockets.mode))).collect()
}

fn remove(path: &Path) {
    // It may be gone already.
    let _ = std::fs::remove_file(path);
}
