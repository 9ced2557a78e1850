//! One live instance and the running of one call in it: limits are set before the guest runs its
//! first instruction, and an instance that faulted is never used again.

use std::sync::Arc;

use tokio::time::Instant;
use wasmtime::component::{Instance, InstancePre};
use wasmtime::{Store, StoreContextMut, UpdateDeadline};

use super::context::CallContext;
use super::epoch;
use super::fault::{Fault, FaultKind};
use super::meter::{Meter, Metered};
use super::store::{HostState, Surroundings};
use super::turns;
use drivebay_policy::limits::Limits;

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
        let state = HostState::new(around, call).map_err(|e| Fault::of(&e))?;
        let mut store = Store::new(self.pre.engine(), state);
        store.limiter(|state| &mut state.limiter);
        store.set_max_component_handles(around.limits.handles);
        let meter = set_limits(&mut store, &around.limits);
        let made = {
            let making = std::pin::pin!(self.pre.instantiate_async(&mut store));
            tokio::time::timeout_at(call.ends, Metered::new(Arc::clone(&meter), making)).await
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
            tokio::select! {
                biased;
                done = tokio::time::timeout_at(ends, Metered::new(Arc::clone(&self.meter), work)) => Some(done),
                () = ended => None,
            }
        };
        self.store.data_mut().leave();
        match done {
            Some(Ok(Ok(value))) => Ok(Ok(value)),
            Some(Ok(Err(GuestEnd::Other(error)))) => Ok(Err(error)),
            Some(Ok(Err(GuestEnd::Engine(error)))) => Err(Fault::of_call(&error)),
            Some(Err(_)) => Err(Fault::new(FaultKind::Wall, "while the guest worked on the call")),
            None => Err(Fault::new(FaultKind::Drained, "its generation's drain time was over")),
        }
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

/// Sets the limits of an instance's first call; gives what measures its CPU time.
fn set_limits(store: &mut Store<HostState>, limits: &Limits) -> Arc<Meter> {
    refill(store, limits.crossing);
    let (meter, cpu) = (Meter::new(), limits.cpu);
    let of_callback = Arc::clone(&meter);
    store.epoch_deadline_callback(move |_: StoreContextMut<'_, HostState>| {
        Ok(match of_callback.spent() {
            spent if spent >= cpu => UpdateDeadline::Interrupt,
            spent if spent < epoch::TICK => UpdateDeadline::Continue(1),
            // Not the engine's own yield: that wakes itself at once, and a thread that always has something to do looks
            // only now and then for what has come in.
            spent if spent < turns::FREE => UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())),
            _ => UpdateDeadline::YieldCustom(1, Box::pin(Arc::clone(of_callback.place()).queue())),
        })
    });
    meter
}
