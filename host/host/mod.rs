//! A host: configuration in, sockets out. Puts the parts together and takes them apart in the right
//! order; knows nothing of calls.

mod helper;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::backend::{self, Backend, Environment};
use crate::config::{BackendConfig, Config};
use crate::node::{self, Node};
use crate::rpc::{Front, Role};
use crate::sandbox::cache::CodeCache;
use crate::server;
use crate::state::EmbeddedStore;

/// A running host.
#[derive(Debug)]
pub struct Host {
    backends: Vec<Arc<Backend>>,
    /// Those that it listens on: it removes no others.
    sockets: Vec<PathBuf>,
    servers: TaskTracker,
    ending: CancellationToken,
}

impl Host {
    /// Starts the process for node work, if any backend is granted it. To be called before threads
    /// exist and before any component is loaded.
    ///
    /// # Errors
    /// When it is needed and cannot be started.
    pub fn spawn_helper(config: &Config) -> Result<Option<Node>> {
        if !config.backends.iter().any(|backend| backend.grants.node) {
            return Ok(None);
        }
        private_directory(&config.host.state)?;
        let exe = std::env::current_exe().context("the program does not know its own path")?;
        let node = node::spawn(&exe, &config.host.state).context("the process for node work cannot be started")?;
        Ok(Some(node))
    }

    /// Loads all backends and opens their sockets.
    ///
    /// # Errors
    /// When the state directory cannot be used, a backend cannot be loaded, or a socket not bound.
    pub async fn start(config: Config, node: Option<Node>) -> Result<Self> {
        let environment = environment(&config, node).await?;
        let mut host = Self {
            backends: Vec::new(),
            sockets: Vec::new(),
            servers: TaskTracker::new(),
            ending: CancellationToken::new(),
        };
        if let Some(node) = environment.node.clone() {
            host.servers.spawn(helper::keep(node, host.ending.clone()));
        }
        if let Err(error) = host.start_all(config.backends, &environment).await {
            // What runs already ends as at a shutdown; a runtime that is dropped under a guest's work panics.
            if let Err(late) = host.stop().await {
                tracing::warn!(%late, "the host did not start, and did not end well");
            }
            return Err(error);
        }
        Ok(host)
    }

    async fn start_all(&mut self, backends: Vec<BackendConfig>, environment: &Environment) -> Result<()> {
        for config in backends {
            let name = config.name.clone();
            let started = backend::start(config, environment).await;
            let started = started.with_context(|| format!("backend \"{name}\" cannot be loaded"))?;
            self.backends.push(Arc::clone(&started));
            self.open(&started)?;
        }
        Ok(())
    }

    /// The backends, in the order of the configuration.
    pub fn backends(&self) -> &[Arc<Backend>] {
        &self.backends
    }

    /// Serves until `end` resolves; then lets calls under way finish, within each backend's drain
    /// time.
    ///
    /// # Errors
    /// When calls had to be ended.
    pub async fn serve_until<F: Future<Output = ()>>(self, end: F) -> Result<()> {
        end.await;
        tracing::info!("shutting down");
        self.stop().await
    }

    /// Takes no more calls and waits for those under way.
    ///
    /// # Errors
    /// When calls did not end within the drain time.
    pub async fn stop(self) -> Result<()> {
        let mut late = Vec::new();
        for backend in &self.backends {
            if !backend.drain().await {
                late.push(backend.config.name.clone());
            }
        }
        self.ending.cancel();
        self.servers.close();
        let closed = tokio::time::timeout(std::time::Duration::from_secs(5), self.servers.wait()).await;
        for path in &self.sockets {
            let _gone_already = std::fs::remove_file(path);
        }
        if !late.is_empty() {
            bail!("calls were still under way after the drain time, in: {}", late.join(", "));
        }
        if closed.is_err() {
            tracing::info!("clients kept their connections open until the end");
        }
        Ok(())
    }

    fn open(&mut self, backend: &Arc<Backend>) -> Result<()> {
        let sockets = &backend.config.sockets;
        let all = [
            (&sockets.csi, Role::All),
            (&sockets.controller, Role::Controller),
            (&sockets.node, Role::Node),
            (&sockets.addons, Role::All),
        ];
        for (path, role) in all {
            let Some(path) = path else { continue };
            let listener = server::listener::listen(path, sockets.mode)?;
            self.sockets.push(path.clone());
            tracing::info!(backend = backend.config.name, socket = %path.display(), "listening");
            let front = Front::new(Arc::clone(backend), role);
            let ending = self.ending.clone();
            self.servers.spawn(async move {
                if let Err(error) = server::serve(listener, front, ending.cancelled_owned()).await {
                    tracing::error!(%error, "a socket failed");
                }
            });
        }
        Ok(())
    }
}

async fn environment(config: &Config, node: Option<Node>) -> Result<Environment> {
    let state = config.host.state.clone();
    private_directory(&state)?;
    let store = Arc::new(EmbeddedStore::open(&state)?);
    let cache = CodeCache::open(&state)
        .inspect_err(|error| tracing::warn!(%error, "no cache of compiled code; backends are compiled at every start"))
        .ok()
        .map(Arc::new);
    if let Some(node) = &node {
        helper::recover(node, config).await?;
    }
    Ok(Environment { store, cache, node })
}

fn private_directory(path: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("the state directory {} cannot be made; choose another with --state", path.display()))
}
