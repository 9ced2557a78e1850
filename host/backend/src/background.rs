//! The runner of background work: asks the backend what is due, runs steps under locks that it
//! takes without waiting, and shows what fails. What runs when is `schedule.rs`' decision.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::own_call::OwnCall;
use super::schedule::{ASK_EVERY, Ended, Schedule, Work, millis, translated};
use super::{Backend, call_id};
use drivebay_admission::budget::Share;
use drivebay_admission::courtesy;
use drivebay_admission::locks::HolderKind;
use drivebay_admission::{Access, Holder, LockSet, ObjectKind};
use drivebay_contract::bindings::drivebay::backend::types::Instant as WitInstant;
use drivebay_contract::bindings::exports::drivebay::backend::background::{
    DueWorks, ObjectAccess, ObjectKind as WitKind, Step,
};
use drivebay_contract::check;
use drivebay_observe::Topic;
use drivebay_observe::drill::{self, Defence};
use drivebay_observe::metrics::metrics;
use drivebay_observe::text::tame;
use drivebay_policy::limits::CallKind;
use drivebay_sandbox::context::CallContext;
use drivebay_sandbox::fault::{Fault, FaultKind};
use drivebay_sandbox::lane::Movable;

/// The longest pause after a `list-due` that faulted.
const LONGEST_QUIET: Duration = Duration::from_mins(5);
/// How long the backend is not asked again after it was asked: a client that makes a thousand volumes has it asked ten times a
/// second, and not a thousand times, and so has a backend that wants to be asked now, for ever. What changes when nothing
/// has for a while is asked about at once.
const CALM: Duration = Duration::from_millis(100);

/// What the backend named, with what is to be locked for it.
#[derive(Debug, Clone)]
struct Due {
    work: Work,
    locks: LockSet,
}

/// Asks and runs until the host shuts down.
pub(super) async fn run(backend: Arc<Backend>) {
    let (report, mut reports) = mpsc::unbounded_channel::<(String, Ended)>();
    let clock = Clock::new();
    let mut schedule = Schedule::default();
    let mut due: HashMap<String, LockSet> = HashMap::new();
    let (mut ask_at, mut asking) = (clock.now(), None);
    // After a fault it is not asked before this, whatever happens: it may take all its time again.
    let (mut pause, mut quiet_until) = (0, 0);
    let mut calm_until = 0;
    loop {
        if clock.now() >= ask_at {
            let answer = asked(&backend, clock, &mut asking).await;
            pause = if answer.is_ok() { 0 } else { (pause * 2).clamp(millis(ASK_EVERY), millis(LONGEST_QUIET)) };
            quiet_until = clock.now() + pause;
            calm_until = clock.now() + millis(CALM);
            let (named, next) = answer.unwrap_or_default();
            schedule.learn(named.iter().map(|d| d.work.clone()).collect());
            due = named.into_iter().map(|due| (due.work.id, due.locks)).collect();
            let soonest = quiet_until.max(calm_until);
            ask_at = next.unwrap_or(u64::MAX).clamp(soonest, soonest.max(clock.now() + millis(ASK_EVERY)));
        }
        for work in schedule.start(clock.now(), backend.config().background.budget) {
            let Some(locks) = due.get(&work.id).cloned() else {
                // Never without its locks.
                schedule.ended(&work.id, Ended::PutOff, clock.now());
                continue;
            };
            start(&backend, work.id, locks, report.clone());
        }
        // A change wakes nobody until then, and is remembered.
        let is_calm = clock.now() < calm_until;
        let soonest = if is_calm { ask_at.min(calm_until) } else { ask_at };
        let wake = clock.at(schedule.next(clock.now()).unwrap_or(u64::MAX).min(soonest));
        tokio::select! {
            () = backend.closing() => return,
            () = tokio::time::sleep_until(wake) => {}
            () = backend.health.background_nudged(), if !is_calm => ask_at = clock.now().max(quiet_until),
            Some((id, how)) = reports.recv() => {
                schedule.ended(&id, how, clock.now());
                if matches!(how, Ended::Done | Ended::Later) {
                    ask_at = clock.now().max(quiet_until);
                }
            }
        }
    }
}

/// Milliseconds since the runner began, so that the schedule has no clock of its own.
#[derive(Debug, Clone, Copy)]
struct Clock {
    begin: Instant,
}

impl Clock {
    fn new() -> Self {
        Self { begin: Instant::now() }
    }

    fn now(&self) -> u64 {
        millis(self.begin.elapsed())
    }

    fn at(&self, time: u64) -> Instant {
        // A far future that cannot be added is as good as a day.
        self.begin.checked_add(Duration::from_millis(time)).unwrap_or_else(|| Instant::now() + ASK_EVERY)
    }

    /// A moment of the wall clock.
    fn of(&self, instant: WitInstant) -> u64 {
        let seconds = u64::try_from(instant.seconds).unwrap_or(0);
        let moment = Duration::new(seconds.min(u64::MAX >> 2), instant.nanoseconds.min(999_999_999));
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        translated(moment, wall, self.now())
    }
}

fn wall_now() -> WitInstant {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    WitInstant { seconds: i64::try_from(now.as_secs()).unwrap_or(i64::MAX), nanoseconds: now.subsec_nanos() }
}

/// What is due, and when to ask next.
type Plan = (Vec<Due>, Option<u64>);

/// Asks the backend what is due, or waits for the answer to a question that it still works on.
async fn asked(
    backend: &Arc<Backend>,
    clock: Clock,
    asking: &mut Option<OwnCall<Result<Plan, Fault>>>,
) -> Result<Plan, Fault> {
    let call = asking.get_or_insert_with(|| {
        let own = Arc::clone(backend);
        OwnCall::new(backend, CallKind::Step, async move { ask(&own, &clock).await })
    });
    let answer = call.end().await?;
    *asking = None;
    answer
}

/// Asks the backend what is due. A backend that cannot answer has nothing due for now.
///
/// # Errors
/// When it is to blame for that: a trap, a limit, a timeout.
async fn ask(backend: &Arc<Backend>, clock: &Clock) -> Result<Plan, Fault> {
    let Ok(lease) = backend.lease_for_host(LockSet::none) else { return Ok(Plan::default()) };
    if !lease.own.has_background() {
        return Ok(Plan::default());
    }
    let wall = lease.around.limits.wall.of(CallKind::Step);
    let context = Arc::new(CallContext::new(call_id::next(), "list-due", CallKind::Step, wall));
    let Some(_slot) = backend.take(Share::Own) else { return Ok(Plan::default()) };
    let mut live = match lease.enter(&context).await {
        Ok(live) => live,
        Err(fault) => {
            tell(backend, LIST_DUE, "", &fault);
            return Err(fault);
        }
    };
    let answer = lease.own.list_due(&mut live, wall_now()).await;
    context.settled().await;
    let fault = match answer {
        Ok(Some(Ok(said))) => match judged(&said) {
            Ok(()) => {
                lease.leave(live);
                let named = said.works.into_iter().map(|work| due(work, clock)).collect();
                return Ok((named, said.next.map(|next| clock.of(next))));
            }
            Err(fault) => fault,
        },
        Ok(None) => return Ok(Plan::default()),
        Ok(Some(Err(error))) => {
            tell_refusal(backend, LIST_DUE, "", &error.message);
            return Ok(Plan::default());
        }
        Err(fault) => fault,
    };
    tell(backend, LIST_DUE, "", &fault);
    backend.faulted(&lease, &fault);
    Err(fault)
}

/// Holds what was named against the contract.
fn judged(said: &DueWorks) -> Result<(), Fault> {
    let verdict = if drill::stands(Defence::Contract) { check::works(&said.works) } else { Ok(()) };
    verdict.map_err(|bad| Fault::new(FaultKind::Answer, tame(&bad.to_string(), 1024)))
}

/// What failed, in the log.
const LIST_DUE: &str = "list-due";
const STEP: &str = "background step";
/// Longest words of the guest's in such a line, and longest id of its work, in bytes.
const SAID: usize = 1024;
const ID: usize = 128;

/// Says that the guest was ended, as far as its log has room: steps fail as often as they are due, and no client asks.
fn tell(backend: &Backend, what: &str, work: &str, fault: &Fault) {
    let detail = fault.detail.as_str();
    if backend.log.admits(Topic::Events, detail.len() + work.len().min(ID)) {
        let work = (!work.is_empty()).then(|| backend.log.quote(work, ID));
        tracing::warn!(backend = backend.name, work, %fault, detail, "{what} failed");
    }
}

/// Says that the guest said no.
fn tell_refusal(backend: &Backend, what: &str, work: &str, message: &str) {
    if backend.log.admits(Topic::Events, message.len().min(SAID) + work.len().min(ID)) {
        let work = (!work.is_empty()).then(|| backend.log.quote(work, ID));
        tracing::warn!(backend = backend.name, work, message = backend.log.quote(message, SAID), "{what} failed");
    }
}

fn due(work: drivebay_contract::bindings::exports::drivebay::backend::background::Work, clock: &Clock) -> Due {
    let mut locks = LockSet::none();
    let mut objects = Vec::new();
    for object in work.objects {
        let (kind, name) = match object.kind {
            WitKind::Volume => (ObjectKind::Volume, "volume"),
            WitKind::Snapshot => (ObjectKind::Snapshot, "snapshot"),
            WitKind::GroupSnapshot => (ObjectKind::GroupSnapshot, "group-snapshot"),
            WitKind::VolumeGroup => (ObjectKind::VolumeGroup, "volume-group"),
        };
        let access = match object.access {
            ObjectAccess::Exclusive => Access::Exclusive,
            ObjectAccess::Shared => Access::Shared,
        };
        locks = locks.with(kind, &object.id, access);
        objects.push((name, object.id));
    }
    Due { work: Work { id: work.id, objects, due: clock.of(work.due) }, locks }
}

/// Runs one step as a task that owns its locks until the step and all it started have ended.
fn start(backend: &Arc<Backend>, id: String, locks: LockSet, report: mpsc::UnboundedSender<(String, Ended)>) {
    let owner = Arc::clone(backend);
    // A step that hangs in the system reports nothing, so that it is not begun again, and keeps its locks.
    backend.detach(Movable::new(&backend.lane, async move {
        let how = step(&owner, &id, locks).await;
        metrics().stepped(&owner.name, how.word());
        // The runner is gone only when the host shuts down.
        let _ = report.send((id, how));
    }));
}

async fn step(backend: &Backend, id: &str, locks: LockSet) -> Ended {
    courtesy::before_a_step().await;
    let Ok(lease) = backend.lease_for_host(LockSet::none) else { return Ended::PutOff };
    let wall = lease.around.limits.wall.of(CallKind::Step);
    let context = CallContext::new(call_id::next(), "background step", CallKind::Step, wall);
    let holder = Holder { operation: "a background step", call: context.id.clone(), kind: HolderKind::Step };
    let (shared, exclusive) = locks.split();
    let Ok(_exclusive) = backend.locks.try_lock(&exclusive, &holder) else { return Ended::PutOff };
    let Ok(shared) = backend.locks.try_lock(&shared, &holder) else { return Ended::PutOff };
    let context = Arc::new(context.sharing(Arc::new(shared)));
    let Some(_slot) = backend.take(Share::Own) else { return Ended::PutOff };
    let mut live = match lease.enter(&context).await {
        Ok(live) => live,
        Err(fault) => {
            tell(backend, STEP, id, &fault);
            return Ended::Failed;
        }
    };
    let answer = lease.own.run_step(&mut live, id).await;
    context.settled().await;
    match answer {
        Ok(Some(Ok(step))) => {
            lease.leave(live);
            match step {
                Step::Done => Ended::Done,
                Step::Again => Ended::Again,
                Step::Later => Ended::Later,
            }
        }
        Ok(None) => Ended::Done,
        Ok(Some(Err(error))) => {
            tell_refusal(backend, STEP, id, &error.message);
            Ended::Failed
        }
        Err(fault) => {
            tell(backend, STEP, id, &fault);
            backend.faulted(&lease, &fault);
            Ended::Failed
        }
    }
}
