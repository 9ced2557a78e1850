//! One backend as the operator configured it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::grants::Grants;
use crate::limits::Limits;
use crate::package::PackageConfig;

/// A backend and everything it is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendConfig {
    /// The operator's name for it, used in logs, metrics and commands.
    pub name: String,
    /// Where its code comes from.
    pub component: ComponentSource,
    /// The package that `component` is fetched from; none: it is the operator's own.
    pub package: Option<PackageConfig>,
    /// Where it is served.
    pub sockets: Sockets,
    /// What this node is called.
    pub node_id: Option<String>,
    /// `wasi:config`.
    pub settings: Vec<(String, String)>,
    /// Whether alpha capabilities are shown (T10).
    pub alpha: bool,
    /// Whether `VOLUME_CONDITION` is shown to old clients (T10).
    pub legacy_condition: bool,
    /// The only digest that may be loaded, as `sha256:…`.
    pub digest: Option<String>,
    /// Files with the public keys that may have signed it; empty: no signature is asked for.
    pub signers: Vec<PathBuf>,
    /// What it may use beyond computing.
    pub grants: Grants,
    /// How much it may use.
    pub limits: Limits,
    /// How instances are used.
    pub instances: InstancePolicy,
    /// How long calls may go on when the host stops or swaps.
    pub drain: Duration,
    /// How long a new generation is on trial.
    pub trial: Duration,
    /// Background work.
    pub background: BackgroundConfig,
}

/// What a component is given: with its code, all that makes a generation. Settings may hold secrets, so they
/// are never written down with the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    node_id: Option<String>,
    #[serde(skip)]
    settings: Vec<(String, String)>,
    alpha: bool,
    legacy_condition: bool,
    grants: Grants,
    limits: Limits,
    instances: InstancePolicy,
}

impl Given {
    /// `wasi:config`, in the order of the configuration.
    pub fn settings(&self) -> &[(String, String)] {
        &self.settings
    }
}

impl BackendConfig {
    /// What a component is given by this configuration.
    pub fn given(&self) -> Given {
        Given {
            node_id: self.node_id.clone(),
            settings: self.settings.clone(),
            alpha: self.alpha,
            legacy_condition: self.legacy_condition,
            grants: self.grants.clone(),
            limits: self.limits.clone(),
            instances: self.instances,
        }
    }

    /// The same backend with its own settings, giving all else as it is given here.
    #[must_use]
    pub fn giving(&self, given: Given) -> Self {
        let Given { node_id, settings: _, alpha, legacy_condition, grants, limits, instances } = given;
        Self { node_id, alpha, legacy_condition, grants, limits, instances, ..self.clone() }
    }
}

/// Where a component comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComponentSource {
    /// The reference backend that is built into the program.
    Local,
    /// A file.
    File(PathBuf),
}

impl fmt::Display for ComponentSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// The sockets of a backend.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sockets {
    /// All of CSI.
    pub csi: Option<PathBuf>,
    /// Identity and the controller's services.
    pub controller: Option<PathBuf>,
    /// Identity and the node's service.
    pub node: Option<PathBuf>,
    /// csi-addons.
    pub addons: Option<PathBuf>,
    /// Permission bits of the sockets.
    pub mode: u32,
}

/// Permission bits of sockets unless configured: the owner alone.
pub const SOCKET_MODE: u32 = 0o600;

/// How instances are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum InstancePolicy {
    /// A new one for every call.
    #[default]
    Fresh,
    /// Used again, so many times, and dropped after so long without work.
    Reuse {
        /// Calls an instance may serve.
        calls: u32,
        /// How long it may wait for the next.
        idle: Duration,
    },
}

/// Background work of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundConfig {
    /// Steps that run side by side.
    pub budget: usize,
}

impl Default for BackgroundConfig {
    fn default() -> Self {
        Self { budget: 2 }
    }
}

/// How long calls may go on when the host stops or swaps.
pub const DRAIN: Duration = Duration::from_mins(1);

/// How long a new generation is on trial: a minute of a cluster's calls shows what crashes.
pub const TRIAL: Duration = Duration::from_mins(1);
