//! The imports of a component, one file an interface. Each checks its grant, does the work or
//! hands it to the part of the host that owns it, and counts what crosses the boundary.

mod attach;
mod config;
mod context;
pub(super) mod cursors;
mod files;
pub mod filesystem;
pub mod http;
pub mod keyvalue;
mod logging;
mod mounts;
pub(super) mod recorded;
pub(super) mod refusals;
pub(super) mod sockets;
mod state;
pub mod stdio;
