//! The backends of a running host: started, changed and taken away one by one, so that what happens to one
//! touches no other. Decides nothing about generations.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;

use super::sockets::BackendSockets;
use crate::admin::Backends;
use crate::mounts::Mounts;
use crate::packages::Packages;
use drivebay_backend::gate::Refusal;
use drivebay_backend::{Backend, Control, Environment};
use drivebay_confine::InForce;
use drivebay_policy::BackendConfig;
use drivebay_server::workers::Workers;

/// One backend and what serves it.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) backend: Arc<Backend>,
    pub(super) control: Control,
    sockets: Arc<BackendSockets>,
}

impl Running {
    /// Takes no more calls and waits for those under way; then its sockets go. Tells whether all ended in
    /// time.
    pub(super) async fn stop(&self) -> bool {
        let in_time = self.backend.drain().await;
        self.sockets.close().await;
        in_time
    }
}

/// The backends by name.
#[derive(Debug, Clone)]
pub(super) struct Registry {
    environment: Environment,
    mounts: Arc<Mounts>,
    packages: Arc<Packages>,
    workers: Arc<Workers>,
    running: Arc<Mutex<BTreeMap<String, Running>>>,
}

impl Backends for Registry {
    fn all(&self) -> Vec<(Arc<Backend>, Control)> {
        self.running().into_iter().map(|running| (running.backend, running.control)).collect()
    }

    fn in_force(&self) -> Option<Arc<InForce>> {
        self.environment.in_force.clone()
    }

    fn mounts(&self) -> Arc<Mounts> {
        Arc::clone(&self.mounts)
    }

    fn packages(&self) -> Arc<Packages> {
        Arc::clone(&self.packages)
    }

    fn place_for_sent(&self) -> Option<PathBuf> {
        self.environment.components.as_ref().map(|directory| directory.with_file_name("sent"))
    }
}

impl Registry {
    pub(super) fn new(environment: Environment, (mounts, packages): (Mounts, Packages), workers: Arc<Workers>) -> Self {
        let (mounts, packages) = (Arc::new(mounts), Arc::new(packages));
        Self { environment, mounts, packages, workers, running: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The threads that serve connections: calls under way need them until they end.
    pub(super) fn workers(&self) -> Arc<Workers> {
        Arc::clone(&self.workers)
    }

    /// All of them, by name.
    pub(super) fn running(&self) -> Vec<Running> {
        self.lock().values().cloned().collect()
    }

    /// The one with this name.
    pub(super) fn find(&self, name: &str) -> Option<Running> {
        self.lock().get(name).cloned()
    }

    /// Starts a backend and serves it as soon as it has a generation. The refusal of its first one is told;
    /// the backend waits then for a better one.
    ///
    /// # Errors
    /// When one of its sockets cannot be bound; it is not started then.
    pub(super) async fn add(&self, config: BackendConfig) -> Result<Result<(), Refusal>> {
        let (name, sockets) = (config.name.clone(), config.sockets.clone());
        let (backend, control, outcome) = drivebay_backend::start(config, &self.environment).await;
        let sockets = BackendSockets::new(Arc::clone(&backend), Arc::clone(&self.workers), sockets);
        let running = Running { backend, control, sockets };
        // Before its first generation is made, which may take minutes: operators see it, and an end ends it.
        self.lock().insert(name.clone(), running.clone());
        let outcome = outcome.await;
        if let Err(error) = running.sockets.keep() {
            self.lock().remove(&name);
            running.stop().await;
            return Err(error.into());
        }
        Ok(outcome)
    }

    /// Tells a backend what the operator wants from now on.
    ///
    /// # Errors
    /// When a new socket cannot be bound; everything else is done.
    pub(super) fn change(&self, config: BackendConfig) -> Result<()> {
        let Some(running) = self.find(&config.name) else { return Ok(()) };
        let moved = running.sockets.moves(config.sockets.clone());
        running.control.configure(config);
        Ok(moved?)
    }

    /// Takes a backend away: no more calls, those under way end. Tells whether they did in time.
    pub(super) async fn remove(&self, name: &str) -> bool {
        let running = self.lock().remove(name);
        match running {
            Some(running) => running.stop().await,
            None => true,
        }
    }
}
