//! A host: configuration in, sockets out. Puts the parts together and takes them apart in the right
//! order; knows nothing of calls.

mod configuration;
mod confinement;
mod helper;
mod permissions;
mod registry;
mod sockets;
mod state;

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::configuration::Source;
pub use self::permissions::read as read_permissions;
use self::registry::Registry;
use crate::admin::{self, Backends as _};
use crate::mounts::{self, Mounts};
use crate::packages::Packages;
use drivebay_backend::{Backend, Environment};
use drivebay_confine::InForce;
use drivebay_node::{self as node, Launcher, Node};
use drivebay_policy::{BackendConfig, Config};
use drivebay_sandbox::boundary::Boundary;
use drivebay_sandbox::cache::CodeCache;
use drivebay_sandbox::memory;
use drivebay_server::workers::Workers;

/// What is done before threads exist.
#[derive(Debug)]
pub struct Prepared {
    local: &'static [u8],
    node: Option<Node>,
    in_force: Arc<InForce>,
    mounts: Mounts,
    packages: Packages,
    boundary: Option<Arc<dyn Boundary>>,
}

impl Prepared {
    /// The same for a host whose guests find another world than the real one. Only `drivebay test` makes such a host.
    #[must_use]
    pub(crate) fn within(self, world: Arc<dyn Boundary>) -> Self {
        Self { boundary: Some(world), ..self }
    }
}

/// Starts what starts the processes for node work, and shows this one what it is to see.
fn launcher(config: &Config) -> Result<Arc<Launcher>> {
    let exe = std::env::current_exe().context("the program does not know its own path")?;
    let launcher = Launcher::start(&exe, permissions::mandate(config), mounts::visible(config));
    Ok(Arc::new(launcher.context("the process for node work cannot be started")?))
}

/// Whether any backend is granted node work.
fn needs_node(config: &Config) -> bool {
    config.backends.iter().any(|backend| backend.grants.node.is_granted)
}

fn node(launcher: Arc<Launcher>, config: &Config) -> Result<Option<Node>> {
    let node = needs_node(config).then(|| node::spawn(launcher)).transpose();
    node.context("the process for node work cannot be started")
}

/// Calls had to be ended, and may not have noticed.
#[derive(Debug, thiserror::Error)]
#[error("calls were still under way after the drain time, in: {0}")]
pub struct DrainTimeout(String);

/// A running host.
#[derive(Debug)]
pub struct Host {
    registry: Registry,
    tasks: TaskTracker,
    ending: CancellationToken,
}

impl Host {
    /// Starts the processes for node work, if any backend is granted it, leaves the system's mounts, and gives up every
    /// right that running guests does not need. To be called before threads exist and before any component is loaded.
    /// `local` is the component that configurations call so.
    ///
    /// # Errors
    /// When they are needed and cannot be started, or a right cannot be given up.
    pub fn prepare(config: &Config, local: &'static [u8]) -> Result<Prepared> {
        Self::prepare_with(config, local, Mounts::hindrance())
    }

    /// As [`Self::prepare`], in a program that has work of its own on the machine's files: it keeps the system's mounts,
    /// which the host's status says.
    ///
    /// # Errors
    /// As `prepare`.
    pub fn prepare_among_files(config: &Config, local: &'static [u8]) -> Result<Prepared> {
        Self::prepare_with(config, local, Some("this program works on the machine's files".to_owned()))
    }

    fn prepare_with(config: &Config, local: &'static [u8], hindrance: Option<String>) -> Result<Prepared> {
        private_directory(&config.host.state)?;
        // Before the view is made, which shows where they lie.
        let packages = Packages::start(config)?;
        let wanted = needs_node(config) || hindrance.is_none();
        let launcher = wanted.then(|| launcher(config)).transpose()?;
        let mounts = match (&launcher, hindrance) {
            (Some(launcher), None) => Mounts::enter(launcher, config),
            (_, why) => Mounts::systems(why.unwrap_or_default()),
        };
        let in_force = confinement::enter(config).context("rights that are not needed cannot be given up")?;
        let node = launcher.map(|launcher| node(launcher, config)).transpose()?.flatten();
        Ok(Prepared { local, node, in_force: Arc::new(in_force), mounts, packages, boundary: None })
    }

    /// Loads all backends and opens their sockets. A backend whose component is refused waits for a better
    /// one, and the others are served meanwhile.
    ///
    /// # Errors
    /// When the state directory cannot be used, a socket not bound, or no backend at all be loaded.
    pub async fn start(config: Config, prepared: Prepared) -> Result<Self> {
        let started = Self::start_unless(std::future::pending(), config, prepared).await?;
        started.context("it was told to end before it had started")
    }

    /// The same, unless `end` resolves before: what has begun until then is stopped, a compiler under way as well, and
    /// none is given.
    ///
    /// # Errors
    /// As `start`; and when what had begun does not stop.
    pub async fn start_unless<F: Future<Output = ()>>(
        end: F,
        config: Config,
        prepared: Prepared,
    ) -> Result<Option<Self>> {
        let (environment, shared) = environment(&config, prepared).await?;
        let (tasks, ending) = (TaskTracker::new(), CancellationToken::new());
        if let Some(node) = environment.node.clone() {
            tasks.spawn(helper::keep(node, ending.clone()));
        }
        let workers = Workers::start().context("the threads that serve connections cannot be started")?;
        let host = Self { registry: Registry::new(environment, shared, workers), tasks, ending };
        let ending = host.ending.clone();
        host.tasks.spawn(ending.run_until_cancelled_owned(memory::give_back_after_calls()));
        let (ending, packages) = (host.ending.clone(), host.registry.packages());
        host.tasks.spawn(async move {
            let _ended = ending.run_until_cancelled(packages.follow()).await;
        });
        if let Some(path) = &config.host.admin {
            let backends = Arc::new(host.registry.clone());
            host.tasks.spawn(admin::serve(path, backends, host.ending.clone())?);
        }
        if let Some(address) = config.host.http {
            let backends = Arc::new(host.registry.clone());
            host.tasks.spawn(admin::page::serve(address, backends, host.ending.clone()).await?);
        }
        let started = tokio::select! {
            started = host.start_all(config.backends) => started,
            () = end => {
                tracing::info!("told to end before all backends were loaded");
                host.stop().await?;
                return Ok(None);
            }
        };
        if let Err(error) = started {
            // What runs already ends as at a shutdown; a runtime that is dropped under a guest's work panics.
            if let Err(late) = host.stop().await {
                tracing::warn!(%late, "the host did not start, and did not end well");
            }
            return Err(error);
        }
        Ok(Some(host))
    }

    /// Prepares and starts one in a program that has work of its own beside it and needs its rights for that, as
    /// benchmarks do that mount: nothing is given up, which the host's status says.
    ///
    /// # Errors
    /// As `prepare` and `start`.
    pub async fn start_unconfined(config: Config, local: &'static [u8]) -> Result<Self> {
        let in_force = InForce::nothing("this program keeps its rights");
        private_directory(&config.host.state)?;
        let mounts = Mounts::Systems("this program keeps its rights".to_owned());
        let node = if needs_node(&config) { node(launcher(&config)?, &config)? } else { None };
        let packages = Packages::start(&config)?;
        Self::start(config, Prepared { local, node, in_force: Arc::new(in_force), mounts, packages, boundary: None })
            .await
    }

    async fn start_all(&self, backends: Vec<BackendConfig>) -> Result<()> {
        let all = backends.len();
        let mut refused = Vec::new();
        for backend in backends {
            let name = backend.name.clone();
            let fetched = self.registry.packages().prepare(&backend).await;
            match (self.registry.add(backend).await?, fetched) {
                (Ok(()), _) => {}
                // What is unreadable for want of a package is no news.
                (Err(_), Err(words)) => refused.push(format!("backend \"{name}\" cannot be loaded: {words}")),
                (Err(refusal), Ok(())) => refused.push(format!("backend \"{name}\" cannot be loaded: {refusal}")),
            }
        }
        if all > 0 && refused.len() == all {
            bail!("{}", refused.join("; "));
        }
        Ok(())
    }

    /// Takes over a configuration: adds, changes and removes backends, each by itself.
    ///
    /// # Errors
    /// What could not be done; everything else is.
    pub async fn configure(&self, config: Config) -> Result<()> {
        let mut problems = Vec::new();
        for running in self.registry.running() {
            let name = &running.backend.name;
            if config.backends.iter().all(|backend| backend.name != *name) {
                tracing::info!(backend = name, "removed by the configuration");
                self.registry.packages().forget(name);
                if !self.registry.remove(name).await {
                    problems.push(format!("backend \"{name}\": calls were still under way after the drain time"));
                }
            }
        }
        for backend in config.backends {
            let name = backend.name.clone();
            if let Err(words) = self.registry.packages().prepare(&backend).await {
                problems.push(format!("backend \"{name}\": {words}"));
            }
            let done = if self.registry.find(&name).is_some() {
                self.registry.change(backend)
            } else {
                tracing::info!(backend = name, "added by the configuration");
                self.registry.add(backend).await.map(|_refusal_is_in_the_log| ())
            };
            if let Err(error) = done {
                problems.push(format!("backend \"{name}\": {error:#}"));
            }
        }
        if problems.is_empty() { Ok(()) } else { bail!("{}", problems.join("; ")) }
    }

    /// The backends, by name.
    pub fn backends(&self) -> Vec<Arc<Backend>> {
        self.registry.running().into_iter().map(|running| running.backend).collect()
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

    /// As `serve_until`, and takes over the configuration file whenever it changes and whenever `again` says
    /// so. A file with mistakes changes nothing.
    ///
    /// # Errors
    /// As `serve_until`.
    pub async fn serve_following<F, A>(self, file: configuration::Source, again: A, end: F) -> Result<()>
    where
        F: Future<Output = ()>,
        A: FnMut() -> Pin<Box<dyn Future<Output = ()> + Send>>,
    {
        tokio::select! {
            () = end => {}
            () = configuration::follow(&self, file, again) => {}
        }
        tracing::info!("shutting down");
        self.stop().await
    }

    /// Takes no more calls and waits for those under way.
    ///
    /// # Errors
    /// When calls did not end within the drain time.
    pub async fn stop(self) -> Result<()> {
        let mut late = Vec::new();
        for running in self.registry.running() {
            if !running.stop().await {
                late.push(running.backend.name.clone());
            }
        }
        self.ending.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        if !late.is_empty() {
            // They go with the process: calls on other threads would panic without these.
            std::mem::forget(self.registry.workers());
            return Err(DrainTimeout(late.join(", ")).into());
        }
        Ok(())
    }
}

async fn environment(config: &Config, prepared: Prepared) -> Result<(Environment, (Mounts, Packages))> {
    let Prepared { local, node, in_force, mounts, packages, boundary } = prepared;
    let directory = config.host.state.clone();
    private_directory(&directory)?;
    let stores = Arc::new(state::open(&directory).await?);
    let cache = CodeCache::open(&directory)
        .inspect_err(|error| tracing::warn!(%error, "no cache of compiled code; backends are compiled at every start"))
        .ok()
        .map(Arc::new);
    if let Some(node) = &node {
        helper::recover(node).await?;
    }
    let environment = Environment {
        local,
        stores,
        cache,
        components: Some(directory.join("components")),
        node,
        in_force: Some(in_force),
        boundary,
    };
    Ok((environment, (mounts, packages)))
}

/// What is said of a state directory that cannot be had, before the reason.
pub(crate) fn unusable_state(path: &Path) -> String {
    let path = path.display();
    format!("the state directory {path} cannot be made; choose another with --state, or `state` in [host]")
}

fn private_directory(path: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(|| unusable_state(path))
}
