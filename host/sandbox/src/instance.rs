//! One live instance and the running of one call in it: limits are set before the guest runs its
//! first instruction, and an instance that faulted is never used again.

use std::sync::Arc;

use tokio::time::Instant;
use wasmtime::component::{Instance, InstancePre};
use wasmtime::{Store, StoreContextMut, UpdateDeadline};

use super::context::CallContext;
use super::epoch;
use super::fault::{Fault, FaultKind};
use super::lane::Lane;
use super::meter::{FREE, Meter, Metered};
use super::store::HostState;
use super::surroundings::Surroundings;
use drivebay_recording::Recorder;

/// A component that is loaded and linked, ready to be instantiated.
#[derive(Clone)]
pub struct Program {
    pre: InstancePre<HostState>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Program")
    }
}

/// An instance with its store.
#[derive(Debug)]
pub struct Live {
    store: Store<HostState>,
    instance: Instance,
    meter: Arc<Meter>,
    /// Calls it has served.
    pub uses: u32,
    /// When it was last given back.
    pub idle_since: Instant,
}

impl Program {
    pub(super) const fn new(pre: InstancePre<HostState>) -> Self {
        Self { pre }
    }

    /// What finds the exports of the component.
    pub const fn pre(&self) -> &InstancePre<HostState> {
        &self.pre
    }

    /// Makes an instance for a call. The guest's start code runs here, under the call's limits.
    ///
    /// # Errors
    /// The fault that ended it; `Pool` when nothing was started.
    pub async fn instantiate(&self, around: &Arc<Surroundings>, call: &Arc<CallContext>) -> Result<Live, Fault> {
        let meter = Meter::new();
        let mut store = Store::new(self.pre.engine(), HostState::new(around, call, &meter));
        store.limiter(|state| &mut state.limiter);
        store.set_max_component_handles(around.limits.handles);
        set_limits(&mut store, around, &meter);
        let made = {
            let making = std::pin::pin!(self.pre.instantiate_async(&mut store));
            let making = Metered::new(Arc::clone(&meter), making);
            tokio::time::timeout_at(call.ends, making).await
        };
        let instance = match made {
            Ok(made) => made.map_err(|e| Fault::of(&e))?,
            Err(_) => return Err(Fault::new(FaultKind::Wall, "while the instance was made")),
        };
        Ok(Live { store, instance, meter, uses: 0, idle_since: Instant::now() })
    }
}

impl Live {
    /// Readies the instance for another call.
    pub fn begin(&mut self, call: &Arc<CallContext>) {
        self.store.data_mut().begin(call);
        let crossing = self.store.data().around.limits.crossing;
        refill(&mut self.store, crossing);
        self.meter.restart();
    }

    /// Whether all that it has done is in this recording; none: nothing is being recorded.
    pub fn is_recorded_by(&self, recorder: Option<&Arc<Recorder>>) -> bool {
        match (&self.store.data().tape, recorder) {
            (tape, Some(recorder)) => tape.as_ref().is_some_and(|tape| tape.is_of(recorder)),
            // What is left of a recording that has ended costs a look, and goes with the instance.
            (_, None) => true,
        }
    }

    /// Looks at the instance without running it.
    pub fn check<T>(&mut self, look: impl FnOnce(&mut Store<HostState>, &Instance) -> T) -> T {
        look(&mut self.store, &self.instance)
    }

    /// Runs guest code until it returns or the call's time is over.
    ///
    /// # Errors
    /// The fault that ended it. The instance must be dropped then: its memory may be in any state.
    pub async fn run<T, E, F>(&mut self, work: F) -> Result<Result<T, E>, Fault>
    where
        F: AsyncFnOnce(&mut Store<HostState>, &Instance) -> Result<T, GuestEnd<E>>,
    {
        let ends = self.store.data().call.ends;
        let around = Arc::clone(&self.store.data().around);
        let ended = around.ending.notified();
        let done = {
            let work = std::pin::pin!(work(&mut self.store, &self.instance));
            let work = Metered::new(Arc::clone(&self.meter), work);
            tokio::select! {
                biased;
                done = tokio::time::timeout_at(ends, work) => Some(done),
                () = ended => None,
            }
        };
        self.store.data_mut().leave();
        around.lane.note(self.meter.since_told());
        let fault = match done {
            Some(Ok(Ok(value))) => return Ok(Ok(value)),
            Some(Ok(Err(GuestEnd::Other(error)))) => return Ok(Err(error)),
            Some(Ok(Err(GuestEnd::Engine(error)))) => Fault::of_call(&error),
            Some(Err(_)) => Fault::new(FaultKind::Wall, "while the guest worked on the call"),
            None => Fault::new(FaultKind::Drained, "its generation's drain time was over"),
        };
        if let Some(tape) = &self.store.data().tape {
            tape.ended(&fault.to_string());
        }
        Err(fault)
    }
}

/// How work in a guest can end other than well.
#[derive(Debug)]
pub enum GuestEnd<E> {
    /// The engine ended it.
    Engine(wasmtime::Error),
    /// The caller's own reason.
    Other(E),
}

impl<E> From<wasmtime::Error> for GuestEnd<E> {
    fn from(error: wasmtime::Error) -> Self {
        Self::Engine(error)
    }
}

/// Gives a call what it may use up: bytes across the boundary, and time until it is looked at.
fn refill(store: &mut Store<HostState>, crossing: u64) {
    store.set_hostcall_fuel(usize::try_from(crossing).unwrap_or(usize::MAX));
    store.set_epoch_deadline(1);
}

/// Sets the limits of an instance's first call.
fn set_limits(store: &mut Store<HostState>, around: &Arc<Surroundings>, meter: &Arc<Meter>) {
    refill(store, around.limits.crossing);
    let (cpu, meter, lane) = (around.limits.cpu, Arc::clone(meter), Arc::clone(&around.lane));
    store.epoch_deadline_callback(move |_: StoreContextMut<'_, HostState>| {
        Ok(match meter.spent() {
            spent if spent >= cpu => UpdateDeadline::Interrupt,
            spent if spent < epoch::TICK => UpdateDeadline::Continue(1),
            // Not the engine's own yield: that wakes itself at once, and a thread that always has something to do looks
            // only now and then for what has come in.
            spent if spent < FREE => UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())),
            _ => UpdateDeadline::YieldCustom(1, Box::pin(turn(Arc::clone(&meter), Arc::clone(&lane)))),
        })
    });
}

/// The next turn of a guest that computes for long, on its lane.
async fn turn(meter: Arc<Meter>, lane: Arc<Lane>) {
    // Where it cannot be moved it takes its turns all the same.
    let _moved = lane.enter().await;
    meter.place().turn(&lane).await;
}
