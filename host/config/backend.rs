//! One backend as the operator configured it.

use std::path::PathBuf;
use std::time::Duration;

use crate::sandbox::limits::Limits;

/// A backend and everything it is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendConfig {
    /// The operator's name for it, used in logs, metrics and commands.
    pub name: String,
    /// Where its code comes from.
    pub component: ComponentSource,
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
    /// What it may use beyond computing.
    pub grants: Grants,
    /// How much it may use.
    pub limits: Limits,
    /// How instances are used.
    pub instances: InstancePolicy,
    /// How long calls may go on when the host stops or swaps.
    pub drain: Duration,
    /// Background work.
    pub background: BackgroundConfig,
}

/// Where a component comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComponentSource {
    /// The reference backend that is built into the program.
    Local,
    /// A file.
    File(PathBuf),
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

/// What the operator allows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    /// Directories that the component sees.
    pub directories: Vec<DirectoryGrant>,
    /// Origins it may send HTTP requests to.
    pub http: Vec<HttpGrant>,
    /// Work on the node.
    pub node: bool,
}

/// A directory of the host under a path of the component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryGrant {
    /// Where it is.
    pub host: PathBuf,
    /// Where the component sees it.
    pub guest: String,
    /// Whether it may write there.
    pub write: bool,
}

/// An origin that HTTP requests may go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpGrant {
    /// `scheme://host:port`.
    pub origin: String,
    /// Paths that may be used before the generation is active.
    pub login: Vec<String>,
}

/// How instances are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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

/// How long calls may go on when the host stops.
pub const DRAIN: Duration = Duration::from_mins(1);
