//! A backend: a vendor's component with its settings, grants and limits, and what the host keeps
//! for it across generations: locks, budget, health, background work. Knows nothing of gRPC.

mod attached;
mod background;
pub mod breaker;
mod call_end;
pub mod call_id;
mod component;
mod contract_version;
mod directory_probe;
mod driver;
mod environment;
mod facts;
pub mod gate;
mod generation;
mod health;
mod inspect;
mod life;
pub mod lifecycle;
mod loader;
mod outcome;
mod own_call;
mod progress;
mod refused;
mod rollout;
mod schedule;
mod status;
pub mod watch;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::{Notify, watch as channel};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use attached::Attached;
pub use call_end::CallEnd;
pub use component::{Component, LARGEST, digest_of, read_file};
pub use driver::{Command, Control, Wait, start};
pub use environment::{Environment, permissions};
pub use facts::{FactError, Facts};
pub use generation::{Generation, Lease};
pub use health::{Health, Readiness};
pub use inspect::{Described, Inspection, Wanted, WantedNeed, inspect};
pub use progress::TARGET as PROGRESS;
pub use refused::Refused;
pub use rollout::{Comparison, Report, Shadow};
pub use status::{Source, Status};

use self::rollout::Canary;
use drivebay_admission::budget::{Share, Slot};
use drivebay_admission::{Budget, LockSet, LockTable};
use drivebay_contract::Method;
use drivebay_error::NotReady;
use drivebay_files::Drained;
use drivebay_observe::GuestLog;
use drivebay_observe::metrics::{CallMeter, Metered};
use drivebay_policy::BackendConfig;
use drivebay_recording::Switch;
use drivebay_sandbox::lane::Lane;
use drivebay_sandbox::limiter::MemoryInUse;

/// The target of the events that tell how each call was answered.
pub const CALLS: &str = "calls";

/// A backend while the host runs.
#[derive(Debug)]
pub struct Backend {
    /// The operator's name for it.
    pub name: String,
    /// Who uses which object.
    pub locks: LockTable,
    /// How it feels.
    pub health: Health,
    /// Where its guests wait for disks and compute for long.
    pub lane: Arc<Lane>,
    /// Where it shows whether its instances are recorded.
    pub recording: Arc<Switch>,
    /// What its calls hold; all generations share it.
    memory: MemoryInUse,
    /// What the log holds of it.
    pub log: Arc<GuestLog>,
    config: ArcSwap<BackendConfig>,
    calls: CallMeter,
    /// How many calls are under way, on all generations together.
    budget: ArcSwap<Budget>,
    current: ArcSwapOption<Generation>,
    /// A generation that serves a share of the objects.
    canary: ArcSwapOption<Canary>,
    /// A generation that hears what is asked.
    shadow: ArcSwapOption<Shadow>,
    /// Why no calls are taken; none: they are.
    closed: ArcSwapOption<String>,
    socket_state: channel::Sender<SocketState>,
    status: ArcSwap<Status>,
    /// A call of a generation on trial has ended badly.
    bad_end: Notify,
    tasks: TaskTracker,
    /// Calls that are answered, and whose host operations are still to end.
    settling: TaskTracker,
    closing: CancellationToken,
}

/// What a backend's sockets are to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SocketState {
    /// Whether there is something to serve.
    pub open: bool,
    /// Connections of an earlier epoch are to be closed, so that clients read the capabilities again (D9).
    pub epoch: u64,
}

impl Backend {
    fn new(config: Arc<BackendConfig>) -> Self {
        let log = environment::log(&config);
        Self {
            name: config.name.clone(),
            locks: LockTable::new(),
            health: Health::new(Arc::clone(&log)),
            lane: Lane::new(&config.name),
            recording: Arc::default(),
            memory: MemoryInUse::default(),
            log,
            calls: CallMeter::new(&config.name, Method::ALL.len()),
            budget: ArcSwap::from_pointee(Budget::new(config.limits.calls)),
            current: ArcSwapOption::empty(),
            canary: ArcSwapOption::empty(),
            shadow: ArcSwapOption::empty(),
            closed: ArcSwapOption::empty(),
            socket_state: channel::Sender::new(SocketState::default()),
            status: ArcSwap::from_pointee(Status::nothing(&config.name, Source::configured(config.component.clone()))),
            bad_end: Notify::new(),
            tasks: TaskTracker::new(),
            settling: TaskTracker::new(),
            closing: CancellationToken::new(),
            config: ArcSwap::new(config),
        }
    }

    /// What the operator wants now. What serves was made with `Generation::config`.
    pub fn config(&self) -> Arc<BackendConfig> {
        self.config.load_full()
    }

    /// What can be told of it now.
    pub fn status(&self) -> Arc<Status> {
        self.status.load_full()
    }

    /// The state of its sockets, now and as it changes.
    pub fn socket_state(&self) -> channel::Receiver<SocketState> {
        self.socket_state.subscribe()
    }

    /// The present generation, if there is one.
    pub fn generation(&self) -> Option<Arc<Generation>> {
        self.current.load_full()
    }

    /// The generation that hears what is asked of the present one, if there is one.
    pub fn shadow(&self) -> Option<Arc<Shadow>> {
        self.shadow.load_full()
    }

    /// These objects are served by the generation that served the call they belong to.
    pub fn follows(&self, lease: &Lease, objects: impl FnOnce() -> LockSet) {
        if let Some(canary) = &*self.canary.load() {
            canary.follows(lease.generation(), &objects());
        }
    }

    /// A hold on the canary, if it takes calls about these objects.
    fn hold_canary(&self, about: impl FnOnce() -> LockSet) -> Option<Lease> {
        let canary = self.canary.load_full().filter(|canary| canary.takes(&about()))?;
        let lease = Arc::clone(&canary.generation).lease();
        // As below.
        let is_still = self.canary.load().as_ref().is_some_and(|now| Arc::ptr_eq(now, &canary));
        is_still.then_some(lease)
    }

    /// A hold on the present generation, whether or not calls are taken.
    fn hold(&self) -> Option<Lease> {
        loop {
            let lease = self.generation()?.lease();
            // A swap between the two steps may have found no calls on the old one: then it is not held.
            if self.current.load().as_ref().is_some_and(|current| lease.is(current)) {
                return Some(lease);
            }
        }
    }

    /// The generation that a new call about these objects runs on.
    ///
    /// # Errors
    /// As `lease_for_host`, and when the generation's breaker is open.
    pub fn lease(&self, about: impl FnOnce() -> LockSet) -> Result<Lease, NotReady> {
        let lease = self.lease_for_host(about)?;
        let turn = self.pass(&lease)?;
        Ok(lease.of_call(turn))
    }

    /// The generation that work of the host's own runs on. It has pauses of its own and passes no breaker.
    ///
    /// # Errors
    /// When none is loaded, recovery is not over, the operator wants no calls, or the host is shutting down.
    pub fn lease_for_host(&self, about: impl FnOnce() -> LockSet) -> Result<Lease, NotReady> {
        if self.closing.is_cancelled() {
            return Err(NotReady::ShuttingDown);
        }
        self.health.admits_calls()?;
        let lease = self
            .hold_canary(about)
            .or_else(|| self.hold())
            .ok_or_else(|| NotReady::NotLoaded("no generation is active".to_owned()))?;
        // After the hold, so that closing and then waiting for all holds covers every call.
        match &*self.closed.load() {
            Some(why) => Err(NotReady::Closed(why.as_str().to_owned())),
            None => Ok(lease),
        }
    }

    /// Takes a place in the budget, or says that there is none now.
    pub fn take(&self, share: Share) -> Option<Slot> {
        self.budget.load().take(share)
    }

    /// Counts and times a call that was answered with `code`, as gRPC spells it.
    pub fn answered(&self, method: Method, code: &'static str, took: Duration) {
        tracing::debug!(
            target: CALLS,
            backend = self.name,
            rpc = method.name(),
            code,
            micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            "answered"
        );
        self.calls.called(Metered { number: method as usize, name: method.name() }, code, took);
    }

    /// Lets a generation serve from now on: the swap.
    fn activate(&self, generation: Arc<Generation>) {
        generation.serve();
        if self.generation().is_none_or(|old| old.config.limits.calls != generation.config.limits.calls) {
            self.budget.store(Arc::new(Budget::new(generation.config.limits.calls)));
        }
        self.current.store(Some(generation));
        // Whatever was tried beside the one before is over.
        self.canary.store(None);
    }

    /// Takes no calls, for this reason; none: takes them.
    fn close(&self, why: Option<String>) {
        self.closed.store(why.map(Arc::new));
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
        Attached::new(&self.tasks, &self.lane, work)
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
        let time = self.config().drain;
        let ends = Instant::now() + time;
        let _late_ones_may_wait_for_a_job = timeout_at(ends - time / 4, self.tasks.wait()).await;
        self.stop_jobs(ends).await;
        timeout_at(ends, async { tokio::join!(self.tasks.wait(), self.settling.wait()) }).await.is_ok()
    }

    async fn stop_jobs(&self, ends: Instant) {
        let Some(generation) = self.generation() else { return };
        let files = generation.around.files.clone();
        let drained = tokio::task::spawn_blocking(move || files.drain(ends.into_std())).await;
        if let Ok(Drained::Left(left)) = drained {
            tracing::warn!(backend = self.name, left, "jobs did not stop in time; they are cut off");
        }
    }

    /// After a change: something may be due in the background.
    pub fn changed(&self) {
        self.health.nudge_background();
    }
}
