//! One loaded version of a backend: code, settings, grants and limits together, ready to serve.
//! Hands out instances by the operator's policy; decides nothing about calls.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::breaker::{Breaker, Change, Millis, Turn, View};
use super::call_end::CallEnd;
use super::directory_probe::DirectoryProbe;
use super::facts::Facts;
use super::gate::Profile;
use super::lifecycle::Tally;
use super::schedule::millis;
use drivebay_contract::Exports;
use drivebay_error::CallError;
use drivebay_observe::metrics::{Histogram, metrics};
use drivebay_policy::{BackendConfig, InstancePolicy};
use drivebay_sandbox::context::CallContext;
use drivebay_sandbox::fault::Fault;
use drivebay_sandbox::instance::{Live, Program};
use drivebay_sandbox::own::OwnExports;
use drivebay_sandbox::surroundings::Surroundings;

/// A generation. A lease on it keeps it alive, so calls under way end on the code they began on.
pub struct Generation {
    /// SHA-256 of the component, in hexadecimal.
    pub digest: String,
    /// What it says of itself.
    pub facts: Facts,
    /// What the bridge calls.
    pub exports: Exports,
    /// What the host calls.
    pub own: OwnExports,
    /// What its instances share.
    pub around: Arc<Surroundings>,
    /// What they share while it is tried: nothing can be changed.
    pub look: Arc<Surroundings>,
    /// The configuration that it was made with.
    pub config: Arc<BackendConfig>,
    program: Program,
    instantiations: Histogram,
    idle: Mutex<Vec<Live>>,
    /// It serves no new calls, so instances are not kept.
    retired: AtomicBool,
    calls: TaskTracker,
    ended: AtomicU64,
    bad: AtomicU64,
    breaker: Mutex<Breaker>,
    made: Instant,
    directory_probe: DirectoryProbe,
    /// What was wrong last with an entry of a list.
    flaw: ArcSwapOption<String>,
}

/// A call's hold on the generation that it runs on: every later step of the call sees this one, and it
/// drains until the last hold is let go.
#[derive(Debug)]
pub struct Lease {
    generation: Arc<Generation>,
    /// Where a client's call passed the breaker; none: the host's own work, which does not.
    turn: Option<Turn>,
    /// Whether the breaker was told.
    judged: AtomicBool,
    /// The call's answer is a list of which something was taken away.
    is_flawed: AtomicBool,
    _call: TaskTrackerToken,
}

impl Lease {
    /// What it holds.
    pub(super) fn generation(&self) -> &Arc<Generation> {
        &self.generation
    }

    /// Whether it holds this very generation.
    pub fn is(&self, generation: &Arc<Generation>) -> bool {
        Arc::ptr_eq(&self.generation, generation)
    }

    /// Passes the breaker.
    ///
    /// # Errors
    /// It is open for so long.
    pub(super) fn try_enter(&self) -> Result<Turn, Millis> {
        let now = self.generation.age();
        self.generation.breaker_now().admit(now)
    }

    /// The hold of a call that has passed the breaker.
    pub(super) const fn of_call(mut self, turn: Turn) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Takes note of what is wrong with an entry of the list that the call answers.
    pub fn flawed(&self, words: String) {
        self.is_flawed.store(true, Ordering::Relaxed);
        self.generation.flaw.store(Some(Arc::new(words)));
    }

    /// How the call ended.
    pub(super) fn end(&self, error: Option<&CallError>) -> CallEnd {
        let end = CallEnd::of(error);
        if self.is_flawed.load(Ordering::Relaxed) { end.flawed() } else { end }
    }

    /// Tells the breaker how the call ended.
    pub(super) fn let_go(&self, end: CallEnd) -> Change {
        let Some(turn) = self.turn else { return Change::None };
        self.judged.store(true, Ordering::Relaxed);
        let now = self.generation.age();
        self.generation.breaker_now().ended(turn, end, now)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A call that was let in and never judged, because it met a lock, tells nothing.
        if !self.judged.load(Ordering::Relaxed) {
            self.let_go(CallEnd::Apart);
        }
    }
}

impl std::ops::Deref for Lease {
    type Target = Generation;

    fn deref(&self) -> &Generation {
        &self.generation
    }
}

impl fmt::Debug for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generation").field("digest", &self.digest).finish_non_exhaustive()
    }
}

/// The parts of a generation.
pub(super) struct Parts {
    pub digest: String,
    pub facts: Facts,
    pub exports: Exports,
    pub own: OwnExports,
    pub around: Arc<Surroundings>,
    pub look: Arc<Surroundings>,
    pub program: Program,
    pub config: Arc<BackendConfig>,
}

impl Generation {
    pub(super) fn new(parts: Parts) -> Self {
        let instantiations = metrics().instantiations(&parts.around.backend);
        let failures = parts.config.limits.failures;
        Self {
            digest: parts.digest,
            facts: parts.facts,
            exports: parts.exports,
            own: parts.own,
            around: parts.around,
            look: parts.look,
            program: parts.program,
            instantiations,
            config: parts.config,
            idle: Mutex::new(Vec::new()),
            retired: AtomicBool::new(false),
            calls: TaskTracker::new(),
            ended: AtomicU64::new(0),
            bad: AtomicU64::new(0),
            breaker: Mutex::new(Breaker::new(failures)),
            made: Instant::now(),
            directory_probe: DirectoryProbe::default(),
            flaw: ArcSwapOption::empty(),
        }
    }

    /// The guest paths of granted directories that cannot be used now, each with the reason.
    pub async fn absent_directories(&self) -> Vec<(String, String)> {
        self.directory_probe.absent(&self.around.files).await
    }

    /// What was wrong last with an entry of a list, in words; none: nothing yet.
    pub fn flaw(&self) -> Option<Arc<String>> {
        self.flaw.load_full()
    }

    /// A hold for a call.
    pub fn lease(self: Arc<Self>) -> Lease {
        let call = self.calls.token();
        let (judged, is_flawed) = (AtomicBool::new(false), AtomicBool::new(false));
        Lease { generation: self, turn: None, judged, is_flawed, _call: call }
    }

    /// What the gate compares.
    pub fn profile(&self) -> Profile {
        let Facts { name, version, abilities, state_version: (writes, reads_from), .. } = &self.facts;
        let interfaces = abilities.interfaces().map(|interface| interface.name().to_owned());
        let features = abilities.features().map(|feature| feature.name().to_owned());
        let abilities: BTreeSet<_> = interfaces.chain(features).collect();
        let (name, version) = (name.clone(), version.clone());
        Profile { name, version, abilities, writes: *writes, reads_from: *reads_from }
    }

    /// Notes how a call ended.
    pub fn note(&self, end: CallEnd) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        if end.is_error() {
            self.bad.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How its calls have ended so far.
    pub fn tally(&self) -> Tally {
        Tally { calls: self.ended.load(Ordering::Relaxed), bad: self.bad.load(Ordering::Relaxed) }
    }

    fn breaker_now(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn age(&self) -> Millis {
        millis(self.made.elapsed())
    }

    /// What its breaker is like.
    pub fn breaker(&self) -> View {
        let now = self.age();
        self.breaker_now().view(now)
    }

    /// Calls under way, and instances that wait for the next.
    pub fn instances(&self) -> usize {
        self.calls.len() + self.idle.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// It is to serve, perhaps again.
    pub(super) fn serve(&self) {
        self.breaker_now().reset();
        self.calls.reopen();
        self.retired.store(false, Ordering::Relaxed);
    }

    /// It serves no new calls: instances that wait are let go.
    pub(super) fn retire(&self) {
        self.calls.close();
        self.retired.store(true, Ordering::Relaxed);
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        self.around.lane.let_go(idle);
    }

    /// Resolves when it is retired and no call holds it.
    pub(super) fn drained(self: &Arc<Self>) -> impl Future<Output = ()> + Send + 'static {
        let calls = self.calls.clone();
        async move { calls.wait().await }
    }

    /// Whether no call holds it.
    pub(super) fn is_idle(&self) -> bool {
        self.calls.is_empty()
    }

    /// An instance for a call: a used one that the policy still allows, or a new one.
    ///
    /// # Errors
    /// The fault that ended the instance while it was made; `Pool` when there is no room.
    pub async fn enter(&self, call: &Arc<CallContext>) -> Result<Live, Fault> {
        if let Some(mut live) = self.take_idle() {
            live.begin(call);
            return Ok(live);
        }
        let begin = Instant::now();
        let made = self.program.instantiate(&self.around, call).await;
        self.instantiations.observe(begin.elapsed().as_secs_f64());
        made
    }

    /// An instance that can change nothing.
    ///
    /// # Errors
    /// As `enter`.
    pub async fn enter_looking(&self, call: &Arc<CallContext>) -> Result<Live, Fault> {
        self.program.instantiate(&self.look, call).await
    }

    /// Gives an instance back after a call that it served without a fault.
    pub fn leave(&self, mut live: Live) {
        let InstancePolicy::Reuse { calls, .. } = self.config.instances else { return };
        live.uses += 1;
        if live.uses < calls && !self.retired.load(Ordering::Relaxed) {
            live.idle_since = Instant::now();
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(live);
        }
    }

    fn take_idle(&self) -> Option<Live> {
        // The last one given back is the warmest.
        self.idle(Vec::pop)
    }

    /// Lets instances go that have waited for too long: also when no call comes that would look for one.
    pub(super) fn let_idle_go(&self) {
        self.idle(|_| None);
    }

    /// Looks at those that the policy still allows, the oldest first.
    fn idle(&self, look: impl FnOnce(&mut Vec<Live>) -> Option<Live>) -> Option<Live> {
        let InstancePolicy::Reuse { idle, .. } = self.config.instances else { return None };
        let now = Instant::now();
        let mut pool = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let recorder = self.around.recording.current();
        let is_old = |live: &mut Live| {
            // A recording has all that its instances have done, or it could not be replayed.
            now.saturating_duration_since(live.idle_since) >= idle || !live.is_recorded_by(recorder.as_ref())
        };
        let old: Vec<_> = pool.extract_if(.., is_old).collect();
        let found = look(&mut pool);
        drop(pool);
        if !old.is_empty() {
            self.around.lane.let_go(old);
        }
        found
    }
}
