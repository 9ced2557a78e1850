//! Starting a backend: surroundings, first generation, recovery, probing, background work. Each of
//! the long-running parts is a task that ends when the host shuts down.

use std::sync::Arc;
use std::time::Duration;

use super::loader::{self, Refused, Staging};
use super::{Backend, Readiness, background, call_id};
use crate::admission::budget::Share;
use crate::config::BackendConfig;
use crate::files::{self, Directories, Files, JobLimits, Jobs, Programs};
use crate::node::Node;
use crate::observe::GuestLog;
use crate::observe::text::tame;
use crate::sandbox::bindings::exports::drivebay::backend::identity::Readiness as Said;
use crate::sandbox::cache::CodeCache;
use crate::sandbox::context::CallContext;
use crate::sandbox::fault::Fault;
use crate::sandbox::limits::Duty;
use crate::sandbox::loading::Loader;
use crate::sandbox::store::{Surroundings, View};
use crate::state::{Namespace, Quota, Store};

/// How often a backend is probed.
const PROBE_EVERY: Duration = Duration::from_secs(10);
/// The first pause after a failed recovery; it doubles up to `PROBE_EVERY`.
const RECOVER_PAUSE: Duration = Duration::from_millis(500);

/// What all backends of a host share.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The durable state.
    pub store: Arc<dyn Store>,
    /// Compiled code; none: the directory cannot be used, so code is compiled at every start.
    pub cache: Option<Arc<CodeCache>>,
    /// The helper for node work; none: not possible here (no root), or nobody needs it.
    pub node: Option<Node>,
}

/// Loads a backend and starts its life. It serves calls as soon as its recovery is over.
///
/// # Errors
/// When it cannot be loaded; nothing runs then.
pub async fn start(config: BackendConfig, environment: &Environment) -> Result<Arc<Backend>, Refused> {
    let node = environment.node.clone().filter(|_| config.grants.node);
    let loader = Loader::new(&config.limits)?;
    let files = files(&config)?;
    let staging = Staging {
        loader,
        cache: environment.cache.clone(),
        look: Arc::new(surroundings(&config, environment, &files, View::ReadOnly)?),
        around: Arc::new(surroundings(&config, environment, &files, View::Full)?),
    };
    let bytes = loader::component_bytes(&config.component).await?;
    let generation = loader::stage(&config, staging, bytes).await?;
    let backend = Arc::new(Backend::new(config, node));
    backend.current.store(Some(Arc::new(generation)));
    backend.health.set(Readiness::Recovering("it has just started".to_owned()));
    backend.detach(live(Arc::clone(&backend)));
    Ok(backend)
}

/// The granted directories, and the jobs in them, which outlive generations.
pub(super) fn files(config: &BackendConfig) -> Result<Files, Refused> {
    let grants = config.grants.directories.iter().map(|grant| files::DirectoryGrant {
        host: grant.host.clone(),
        guest: grant.guest.clone(),
        access: if grant.write { files::Access::ReadWrite } else { files::Access::ReadOnly },
    });
    let grants: Vec<_> = grants.collect();
    let directories = Directories::new(&grants).map_err(|e| Refused::Surroundings(e.to_string()))?;
    let limits = JobLimits { running: config.limits.jobs, ..JobLimits::default() };
    Ok(Files::new(directories, Jobs::new(&config.name, limits, Programs::system()), files::View::Active))
}

pub(super) fn surroundings(
    config: &BackendConfig,
    environment: &Environment,
    files: &Files,
    view: View,
) -> Result<Surroundings, Refused> {
    let quota = Quota { bytes: config.limits.state, ..Quota::default() };
    let state = Namespace::new(Arc::clone(&environment.store), &config.name, quota)
        .map_err(|e| Refused::Surroundings(e.to_string()))?;
    let seen = match view {
        View::Full => files::View::Active,
        View::ReadOnly => files::View::ReadOnly,
    };
    Ok(Surroundings {
        backend: config.name.clone(),
        log: GuestLog::new(&config.name, config.limits.log_rate, config.limits.log_burst),
        settings: config.settings.clone(),
        state: if view == View::Full { state } else { state.read_only() },
        files: files.with_view(seen),
        node: environment.node.clone().filter(|_| config.grants.node && view == View::Full),
        directories: config.grants.directories.clone(),
        host_id: environment.store.store_id().to_owned(),
        node_id: config.node_id.clone(),
        limits: config.limits.clone(),
        view,
    })
}

/// The life of a backend after its first load.
async fn live(backend: Arc<Backend>) {
    tokio::select! {
        () = backend.closing() => return,
        () = recover(&backend) => {}
    }
    backend.health.set(Readiness::Starting);
    if backend.generation().is_some_and(|generation| generation.own.has_background()) {
        backend.detach(background::run(Arc::clone(&backend)));
    }
    loop {
        probe(&backend).await;
        // A flood may end in silence.
        if let Some(generation) = backend.generation() {
            generation.around.log.tell_dropped();
        }
        tokio::select! {
            () = backend.closing() => return,
            () = tokio::time::sleep(PROBE_EVERY) => {}
            () = backend.health.doubted() => {}
        }
    }
}

/// Recovers until it succeeds, with growing pauses.
async fn recover(backend: &Arc<Backend>) {
    let mut pause = RECOVER_PAUSE;
    loop {
        match recover_once(backend).await {
            Ok(()) => return,
            Err(why) => {
                tracing::error!(backend = backend.config.name, why, "recovery failed; trying again");
                backend.health.set(Readiness::Recovering(why));
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(PROBE_EVERY);
            }
        }
    }
}

async fn recover_once(backend: &Backend) -> Result<(), String> {
    let Some(lease) = backend.generation() else { return Ok(()) };
    if !lease.own.has_recovery() {
        return Ok(());
    }
    let wall = lease.around.limits.wall.of(Duty::Recovery);
    let context = Arc::new(CallContext::new(call_id::next(), "recover", Duty::Recovery, wall));
    let mut live = lease.enter(&context).await.map_err(|fault| words(&fault))?;
    let answer = lease.own.recover(&mut live).await;
    context.settled().await;
    match answer {
        Ok(Some(Err(error))) => Err(tame(&error.message, 512)),
        Ok(_) => Ok(()),
        Err(fault) => Err(words(&fault)),
    }
}

fn words(fault: &Fault) -> String {
    format!("{fault} ({})", fault.detail)
}

/// Asks the backend how it feels, with an instance and a limit of its own.
async fn probe(backend: &Backend) {
    let Some(lease) = backend.generation() else { return };
    let Some(_slot) = backend.budget.take(Share::Own) else { return };
    let wall = lease.around.limits.wall.of(Duty::Probe);
    let context = Arc::new(CallContext::new(call_id::next(), "probe", Duty::Probe, wall));
    let answer = match lease.enter(&context).await {
        Ok(mut live) => {
            let answer = lease.own.probe(&mut live).await;
            if answer.is_ok() {
                lease.leave(live);
            }
            answer
        }
        Err(fault) => Err(fault),
    };
    context.settled().await;
    backend.health.set(match answer {
        Ok(Ok(Said::Ready)) => Readiness::Ready,
        Ok(Ok(Said::Starting)) => Readiness::Starting,
        Ok(Err(error)) => Readiness::Unhealthy(tame(&error.message, 512)),
        Err(fault) => Readiness::Unhealthy(words(&fault)),
    });
}
