//! Calls of the host's own that may hang in the system.

use super::Backend;
use drivebay_policy::limits::Duty;
use drivebay_sandbox::fault::Fault;
use drivebay_sandbox::lane::Movable;

/// Runs a call of the host's own where it may be moved to the backend's lane. One that hangs there in the system is left
/// to itself, with all that it holds.
pub(super) async fn in_time<T: Send + 'static>(
    backend: &Backend,
    duty: Duty,
    call: impl Future<Output = T> + Send + 'static,
) -> Result<T, Fault> {
    let wall = backend.config().limits.wall.of(duty) + Fault::GRACE;
    let call = Movable::new(&backend.lane, call);
    tokio::time::timeout(wall, call).await.map_err(|_| Fault::hanging())
}
