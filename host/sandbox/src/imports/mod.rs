//! The imports of a component, one file an interface. Each checks its grant, does the work or
//! hands it to the part of the host that owns it, and counts what crosses the boundary.

mod config;
mod context;
pub(super) mod cursors;
mod files;
pub mod filesystem;
pub mod http;
pub mod keyvalue;
mod logging;
mod mounts;
pub(super) mod refusals;
pub(super) mod sockets;
mod state;
pub mod stdio;

use super::limiter::LimitHit;
use super::store::HostState;

impl HostState {
    /// Counts bytes that go through host calls; a guest that moves too many is ended.
    fn cross(&mut self, bytes: usize) -> wasmtime::Result<()> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        match self.crossing_left.checked_sub(bytes) {
            Some(left) => {
                self.crossing_left = left;
                Ok(())
            }
            None => Err(LimitHit::Crossing(self.around.limits.crossing_total).into()),
        }
    }
}
