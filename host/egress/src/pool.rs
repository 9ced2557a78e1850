//! The connections of one generation: how many there may be, and those that wait for the next request. A connection
//! carries one request at a time and goes back only when request and answer were whole.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::task::TaskTracker;

use super::connect::{Connection, Connector, Route, Unconnected};
use super::error::EgressError;
use super::policy::Reach;
use super::progress::Progress;

/// How long a connection waits for its next request: less than servers wait, who would close it under a request.
const IDLE: Duration = Duration::from_secs(30);
/// How long a connection is used: after that its name is resolved anew.
const AGE: Duration = Duration::from_mins(5);

/// The connections of one generation.
#[derive(Debug)]
pub(super) struct Pool {
    connector: Connector,
    size: usize,
    /// One for each connection in use; those that wait have none, and make room when there is none left.
    places: Arc<Semaphore>,
    idle: Mutex<Vec<Idle>>,
    is_tidied: AtomicBool,
    tidying: TaskTracker,
}

#[derive(Debug)]
struct Idle {
    route: Route,
    connection: Connection,
    since: Instant,
}

/// A connection in use, with its place.
#[derive(Debug)]
pub(super) struct Checkout {
    pub connection: Connection,
    route: Route,
    /// Whether it has served before: it may have been closed meanwhile.
    pub is_used: bool,
    /// Whether the request that it carries has gone out whole.
    pub sent: Arc<AtomicBool>,
    pool: Arc<Pool>,
    _place: OwnedSemaphorePermit,
}

impl Pool {
    pub(super) fn new(connector: Connector, size: usize) -> Self {
        Self {
            connector,
            size,
            places: Arc::new(Semaphore::new(size)),
            idle: Mutex::new(Vec::new()),
            is_tidied: AtomicBool::new(false),
            tidying: TaskTracker::new(),
        }
    }

    /// A connection for this route, a used one if there is one.
    pub(super) async fn check_out(
        self: &Arc<Self>,
        route: &Route,
        reach: impl FnOnce() -> Reach,
        until: Instant,
        progress: &Progress,
    ) -> Result<Checkout, Unconnected> {
        let places = Arc::clone(&self.places).acquire_owned();
        let place = timeout_at(until, places).await.map_err(|_| EgressError::Busy)?.map_err(|_| EgressError::Host)?;
        let waiting = self.waiting(route, until, progress).await;
        let is_used = waiting.is_some();
        let connection = if let Some(connection) = waiting {
            connection
        } else {
            self.make_room();
            self.connector.connect(route, &reach(), until).await?
        };
        let (pool, route, sent) = (Arc::clone(self), route.clone(), Arc::default());
        Ok(Checkout { connection, route, is_used, sent, pool, _place: place })
    }

    /// One that waits for this route and still works.
    async fn waiting(&self, route: &Route, until: Instant, progress: &Progress) -> Option<Connection> {
        loop {
            let mut found = self.take(route)?;
            progress.connected();
            // Its last answer was read to the end, so this takes no longer than its task takes to notice.
            if timeout_at(until, found.sender.ready()).await.is_ok_and(|ready| ready.is_ok()) {
                return Some(found);
            }
        }
    }

    fn take(&self, route: &Route) -> Option<Connection> {
        let mut idle = self.idle();
        let at = idle.iter().rposition(|idle| idle.route == *route && idle.is_fresh())?;
        Some(idle.remove(at).connection)
    }

    /// Closes connections that wait, the oldest first, until all together are no more than allowed.
    fn make_room(&self) {
        let mut idle = self.idle();
        let in_use = self.size.saturating_sub(self.places.available_permits());
        let surplus = (idle.len() + in_use).saturating_sub(self.size).min(idle.len());
        idle.drain(..surplus);
    }

    fn keep(self: Arc<Self>, route: Route, connection: Connection) {
        if connection.sender.is_closed() || connection.made.elapsed() > AGE {
            return;
        }
        self.idle().push(Idle { route, connection, since: Instant::now() });
        self.make_room();
        if !self.is_tidied.swap(true, Ordering::Relaxed) {
            self.tidying.spawn(tidy(Arc::downgrade(&self)));
        }
    }

    #[cfg(test)]
    pub(super) fn has_waiting(&self) -> bool {
        self.idle().iter().any(Idle::is_fresh)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what has waited too long; whether nothing waits any more.
    fn is_tidy(&self) -> bool {
        let mut idle = self.idle();
        idle.retain(Idle::is_fresh);
        if idle.is_empty() {
            self.is_tidied.store(false, Ordering::Relaxed);
        }
        idle.is_empty()
    }
}

impl Idle {
    fn is_fresh(&self) -> bool {
        self.since.elapsed() < IDLE && !self.connection.sender.is_closed()
    }
}

/// Looks after the connections that wait, for as long as there are any.
async fn tidy(pool: Weak<Pool>) {
    loop {
        sleep(IDLE).await;
        if pool.upgrade().is_none_or(|pool| pool.is_tidy()) {
            return;
        }
    }
}

impl Checkout {
    /// The answer was read to the end. Where the request is still on its way, nobody can use the connection.
    pub(super) fn give_back(self) {
        let Self { connection, route, sent, pool, .. } = self;
        if sent.load(Ordering::Relaxed) {
            pool.keep(route, connection);
        }
    }
}
