//! What a generation finds around it, made from a configuration: state, directories, log, node work. Opens
//! what is granted and nothing else; decides nothing about when.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Notify;

use super::refused::Refused;
use drivebay_confine::InForce;
use drivebay_egress::{Egress, Subject, TlsError};
use drivebay_files::descriptors::OpenFiles;
use drivebay_files::{Directories, Files, JobLimits, Jobs, Programs, Reaches};
use drivebay_node::{self as node, Node, Permissions};
use drivebay_observe::GuestLog;
use drivebay_policy::BackendConfig;
use drivebay_policy::grants::attach::{AttachGrant, IscsiGrant, NfsGrant, NvmeTcpGrant, Portal};
use drivebay_policy::grants::node::MountOption;
use drivebay_policy::limits::Limits;
use drivebay_recording::Switch;
use drivebay_sandbox::boundary::Boundary;
use drivebay_sandbox::cache::CodeCache;
use drivebay_sandbox::lane::Lane;
use drivebay_sandbox::limiter::MemoryInUse;
use drivebay_sandbox::surroundings::{Surroundings, View};
use drivebay_state::{Namespace, OpenError, Quota, StateError, Stores};

/// What all backends of a host share.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The component that is built into the program and that configurations call `local`.
    pub local: &'static [u8],
    /// The durable state of all backends.
    pub stores: Arc<dyn Stores>,
    /// Compiled code; none: the directory cannot be used, so code is compiled at every start.
    pub cache: Option<Arc<CodeCache>>,
    /// Where components are kept that may be needed again; none: nowhere.
    pub components: Option<PathBuf>,
    /// The helper for node work; none: not possible here (no root), or nobody needs it.
    pub node: Option<Node>,
    /// What the kernel keeps from this process; none: it was not confined.
    pub in_force: Option<Arc<InForce>>,
    /// The world that guests find; none: the real one, as in every host that serves.
    pub boundary: Option<Arc<dyn Boundary>>,
}

/// The granted directories, with the jobs in them. Those that are not there are refused when it is known who needs them.
pub(super) fn files(
    config: &BackendConfig,
    jobs: &Jobs,
    open_files: &OpenFiles,
    reaches: &Reaches,
) -> Result<Files, Refused> {
    let granted = Directories::granted(&config.grants.directories, reaches);
    let directories = granted.map_err(|error| Refused::Surroundings(error.to_string()))?;
    Ok(Files::new(directories, jobs.clone(), open_files.clone(), View::Full))
}

/// What is wrong with a granted directory that is none, for the operator; none: it is one.
pub(super) fn absent(path: &Path) -> Option<String> {
    let why = match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => return None,
        Ok(_) => "this is no directory".to_owned(),
        Err(error) => format!("{error}; make the directory, or correct the path"),
    };
    Some(format!("grants.directories: {}: {why}", path.display()))
}

/// What a backend's configuration allows of node work.
pub fn permissions(config: &BackendConfig) -> Permissions {
    let directories = config.grants.directories.iter().map(|grant| node::DirectoryGrant {
        host: grant.host.clone(),
        guest: grant.guest.clone(),
        write: grant.write,
    });
    let mount_options = config.grants.node.mount_options.iter().map(|option| match option {
        MountOption::Suid => node::MountOption::Suid,
        MountOption::Dev => node::MountOption::Dev,
    });
    let devices = config.limits.node_devices;
    let attach = config.grants.attach.iter().map(|grant| match grant {
        AttachGrant::Nfs(NfsGrant { servers, export }) => node::AttachGrant::Nfs(node::NfsGrant {
            servers: servers.iter().map(ToString::to_string).collect(),
            export: export.clone(),
        }),
        AttachGrant::Iscsi(IscsiGrant { portals, iqn }) => {
            node::AttachGrant::Iscsi(node::IscsiGrant { portals: portals_of(portals), iqn: iqn.clone() })
        }
        AttachGrant::NvmeTcp(NvmeTcpGrant { portals, nqn }) => {
            node::AttachGrant::NvmeTcp(node::NvmeTcpGrant { portals: portals_of(portals), nqn: nqn.clone() })
        }
    });
    Permissions {
        directories: directories.collect(),
        mount_options: mount_options.collect(),
        devices,
        attach: attach.collect(),
    }
}

fn portals_of(portals: &[Portal]) -> Vec<node::PortalRange> {
    portals.iter().map(|portal| node::PortalRange { range: portal.range.to_string(), port: portal.port }).collect()
}

/// The log of a backend; all its generations and calls share it, so that none of them begins with a fresh budget.
pub(super) fn log(config: &BackendConfig) -> Arc<GuestLog> {
    Arc::new(GuestLog::new(&config.name, config.limits.log_rate, config.limits.log_burst))
}

/// What a generation may send over HTTP; what it is looked at with and what it serves with share it.
pub(super) fn egress(config: &BackendConfig, generation: String, log: &Arc<GuestLog>) -> Result<Arc<Egress>, Refused> {
    let subject = Subject { backend: config.name.clone(), generation, log: Arc::clone(log) };
    let granted = &config.grants.http;
    let egress = Egress::new(subject, &granted.origins, granted.mode, config.limits.http.clone());
    let wrong = |error: TlsError| Refused::Surroundings(format!("HTTP is granted with what cannot be used: {error}"));
    egress.map(Arc::new).map_err(wrong)
}

/// The jobs of a backend; all its generations share them.
pub(super) fn jobs(config: &BackendConfig) -> Jobs {
    let limits = JobLimits { running: config.limits.jobs, ..JobLimits::default() };
    Jobs::new(&config.name, limits, Programs::system())
}

/// How many files and directories a backend may hold open; all its generations share the count. Never more than a quarter
/// of what the process can, so that connections find room.
pub(super) fn most_open(config: &BackendConfig) -> usize {
    config.limits.open_files.min(drivebay_confine::descriptors() / 4).max(1)
}

/// What the backend may keep in its state, and have waiting on the way there.
pub(super) fn quota(limits: &Limits) -> Quota {
    Quota { bytes: limits.state, waiting: limits.state_waiting, ..Quota::default() }
}

/// Why a namespace cannot be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoState {
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error(transparent)]
    Namespace(#[from] StateError),
}

impl Environment {
    /// A part of a backend's state. Blocks when it is the first one that is asked for.
    pub(super) fn namespace(&self, backend: &str, name: &str, quota: Quota) -> Result<Namespace, NoState> {
        Ok(Namespace::new(self.stores.of(backend)?, name, quota)?)
    }
}

/// What the views of one generation share.
pub(super) struct Shared {
    pub lane: Arc<Lane>,
    pub memory: MemoryInUse,
    pub log: Arc<GuestLog>,
    pub files: Files,
    pub egress: Arc<Egress>,
    pub recording: Arc<Switch>,
}

pub(super) fn surroundings(
    config: &BackendConfig,
    environment: &Environment,
    shared: &Shared,
    view: View,
) -> Result<Surroundings, Refused> {
    let state = environment.namespace(&config.name, &config.name, quota(&config.limits));
    let state = state.map_err(|error| Refused::Surroundings(error.to_string()))?;
    Ok(Surroundings {
        backend: config.name.clone(),
        log: Arc::clone(&shared.log),
        settings: config.settings.clone(),
        state: if view == View::Full { state } else { state.read_only() },
        files: shared.files.with_view(view),
        egress: Arc::clone(&shared.egress),
        node: environment.node.clone().filter(|_| config.grants.node.is_granted && view == View::Full),
        lane: Arc::clone(&shared.lane),
        memory: shared.memory.clone(),
        host_id: environment.stores.id().to_owned(),
        node_id: config.node_id.clone(),
        limits: config.limits.clone(),
        view,
        boundary: environment.boundary.clone(),
        recording: Arc::clone(&shared.recording),
        ending: Notify::new(),
    })
}
