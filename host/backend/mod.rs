//! A backend: a vendor's component with its settings, grants and limits, and what the host keeps
//! for it across generations: locks, budget, health, background work. Knows nothing of gRPC.

mod attached;
mod background;
pub mod call_id;
mod facts;
pub mod gate;
mod generation;
mod health;
mod inspect;
mod launch;
pub mod lifecycle;
mod loader;
mod schedule;
pub mod watch;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use attached::Attached;
pub use facts::{FactError, Facts};
pub use generation::Generation;
pub use health::{Health, Readiness};
pub use inspect::{Described, Inspection, Wanted, WantedNeed, inspect};
pub use launch::{Environment, start};
pub use loader::{Refused, component_bytes, digest_of};

use crate::admission::{Budget, LockTable};
use crate::config::BackendConfig;
use crate::error::NotReady;
use crate::files::Drained;
use crate::node::Node;

/// A backend while the host runs.
#[derive(Debug)]
pub struct Backend {
    /// What the operator configured.
    pub config: BackendConfig,
    /// Who uses which object.
    pub locks: LockTable,
    /// How many calls are under way.
    pub budget: Budget,
    /// How it feels.
    pub health: Health,
    /// Node work, if granted and possible here.
    pub node: Option<Node>,
    current: ArcSwapOption<Generation>,
    tasks: TaskTracker,
    /// Calls that are answered, and whose host operations are still to end.
    settling: TaskTracker,
    closing: CancellationToken,
}

/// A call's hold on the generation it runs on: every later step of the call sees this one.
pub type Lease = Arc<Generation>;

impl Backend {
    fn new(config: BackendConfig, node: Option<Node>) -> Self {
        Self {
            locks: LockTable::new(),
            budget: Budget::new(config.limits.calls),
            health: Health::new(),
            node,
            current: ArcSwapOption::empty(),
            tasks: TaskTracker::new(),
            settling: TaskTracker::new(),
            closing: CancellationToken::new(),
            config,
        }
    }

    /// The present generation, if there is one.
    pub fn generation(&self) -> Option<Lease> {
        self.current.load_full()
    }

    /// The generation that a new call runs on.
    ///
    /// # Errors
    /// When none is loaded, recovery is not over, or the host is shutting down.
    pub fn lease(&self) -> Result<Lease, NotReady> {
        if self.closing.is_cancelled() {
            return Err(NotReady::ShuttingDown);
        }
        self.health.admits_calls()?;
        self.generation().ok_or_else(|| NotReady::NotLoaded("no generation is active".to_owned()))
    }

    /// Runs the work of a call, whatever becomes of the connection it came through. The only place
    /// that starts such tasks.
    pub fn detach<F>(&self, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(work);
    }

    /// Keeps what a call holds until the host operations that it has started have ended.
    pub fn settle<F>(&self, rest: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.settling.spawn(rest);
    }

    /// Work of a call that its handler drives, and that goes on by itself when the handler is gone.
    pub fn attach<T, F>(&self, work: F) -> Attached<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        Attached::new(&self.tasks, work)
    }

    /// Resolves when the host begins to shut down.
    pub async fn closing(&self) {
        self.closing.cancelled().await;
    }

    /// Takes no more calls and waits until those under way have ended, at most the drain time. Jobs that they
    /// have left behind are not waited for: they stop, and go on where they were when they are asked for after
    /// the next start. A call that waits for a job is given three quarters of the time to see its end.
    /// Tells whether all have ended.
    pub async fn drain(&self) -> bool {
        self.closing.cancel();
        self.tasks.close();
        self.settling.close();
        let ends = Instant::now() + self.config.drain;
        let _late_ones_may_wait_for_a_job = timeout_at(ends - self.config.drain / 4, self.tasks.wait()).await;
        self.stop_jobs(ends).await;
        timeout_at(ends, async { tokio::join!(self.tasks.wait(), self.settling.wait()) }).await.is_ok()
    }

    async fn stop_jobs(&self, ends: Instant) {
        let Some(generation) = self.generation() else { return };
        let files = generation.around.files.clone();
        let drained = tokio::task::spawn_blocking(move || files.drain(ends.into_std())).await;
        if let Ok(Drained::Left(left)) = drained {
            tracing::warn!(backend = self.config.name, left, "jobs did not stop in time; they are cut off");
        }
    }

    /// After a change: something may be due in the background.
    pub fn changed(&self) {
        self.health.nudge_background();
    }
}
