//! Calls of the host's own that may hang in the system.

use std::future::Future;
use std::time::Duration;

use super::Backend;
use drivebay_policy::limits::CallKind;
use drivebay_sandbox::fault::Fault;
use drivebay_sandbox::lane::Movable;

/// A call of the host's own. One that is late is kept, not repeated: a second one beside it would hang as well, hold
/// another place, and undo what the first one still does.
#[derive(Debug)]
pub(super) struct OwnCall<T> {
    call: Movable<T>,
    wall: Duration,
}

impl<T: Send + 'static> OwnCall<T> {
    /// Begins when it is awaited; may be moved to the backend's lane.
    pub(super) fn new(backend: &Backend, duty: CallKind, call: impl Future<Output = T> + Send + 'static) -> Self {
        let wall = backend.config().limits.wall.of(duty) + Fault::GRACE;
        Self { call: Movable::new(&backend.lane, call), wall }
    }

    /// Waits for its end as long as such a call may take.
    ///
    /// # Errors
    /// It is not over then. It goes on, and can be waited for again.
    pub(super) async fn end(&mut self) -> Result<T, Fault> {
        tokio::time::timeout(self.wall, &mut self.call).await.map_err(|_| Fault::hanging())
    }
}

#[cfg(test)]
mod tests;
