//! The configuration: what the operator wrote, typed and checked. Owns parsing and defaults; opens
//! and starts nothing. Every mistake is found before any is reported.

mod backend;
mod fields;
mod file;
pub mod grants;
pub mod limits;
mod limits_section;
pub mod package;
mod problems;
mod reference;
mod resolve;
mod rows;
mod sections;
mod shape;
#[cfg(test)]
mod tests;
pub mod units;
mod unknown;

use std::path::PathBuf;

pub use backend::{
    BackendConfig, BackgroundConfig, ComponentSource, DRAIN, Given, InstancePolicy, SOCKET_MODE, Sockets, TRIAL,
};
pub use file::{component, source, targets};
pub use grants::Grants;
pub use grants::directories::{DirectoryGrant, overlaps};
pub use problems::{ConfigError, Problems};
pub use reference::example;
pub use resolve::resolved;
pub use units::SOCKET_PATH;

/// All there is to know to start a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The host's own settings.
    pub host: HostConfig,
    /// The backends, in the order of the file; names are unique.
    pub backends: Vec<BackendConfig>,
    /// The file that it was read from; none: it stood elsewhere, and stays as it is.
    pub file: Option<PathBuf>,
}

/// The host's own settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostConfig {
    /// Where state, ledger, facts and compiled code lie.
    pub state: PathBuf,
    /// The admin socket.
    pub admin: Option<PathBuf>,
    /// The directories below which volumes may be mounted and shown.
    pub targets: Vec<PathBuf>,
    /// Where page and metrics are served.
    pub http: Option<std::net::SocketAddr>,
    /// How packages are fetched.
    pub packages: package::Registries,
}

/// Where kubelet asks for volumes, unless told otherwise: the places of pods, and those of plug-ins.
pub const DEFAULT_TARGETS: [&str; 2] = ["/var/lib/kubelet/pods", "/var/lib/kubelet/plugins"];

/// Where the host keeps its state unless told otherwise.
pub const DEFAULT_STATE: &str = "/var/lib/drivebay";
