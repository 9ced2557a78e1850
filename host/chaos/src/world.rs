//! The world around the component: it counts host calls, and lets one of them fail. It owns what is planned for the next call,
//! and the clock; it knows nothing of volumes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use drivebay_sandbox::boundary::{Boundary, Order, Used};
use drivebay_sandbox::context::CallContext;
use tokio::sync::{Notify, oneshot};

/// What happens to a host call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The call is killed before it.
    Kill,
    /// It fails, and nothing was done.
    Refuse,
    /// It is done, and its answer is lost.
    Lose,
    /// Other calls come between.
    Pause,
}

impl Fault {
    /// Its word in the name of a scenario.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Refuse => "refuse",
            Self::Lose => "lose",
            Self::Pause => "pause",
        }
    }
}

/// What one RPC has used, over all its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measure {
    /// How often it was called.
    pub calls: usize,
    /// The processor's time of a call in microseconds: the median.
    pub time_us: u64,
    /// Memory of a call in KiB: the most.
    pub memory_kib: u64,
    /// Host calls of a call: the most.
    pub host_calls: usize,
}

/// A world that does as it is told.
#[derive(Debug, Default)]
pub struct World {
    inner: Mutex<Inner>,
    paused: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    plan: Option<Plan>,
    /// Host calls of each call by its id, in their order.
    calls: BTreeMap<String, Call>,
    /// What clocks show, where they stand still.
    clock: Option<Duration>,
    /// The last call of each RPC.
    last: BTreeMap<&'static str, String>,
    held: Option<oneshot::Sender<()>>,
}

#[derive(Debug, Default)]
struct Call {
    operation: &'static str,
    names: Vec<&'static str>,
    used: Used,
}

/// What is to happen to the next call of an RPC.
#[derive(Debug)]
struct Plan {
    operation: &'static str,
    /// From 1.
    number: usize,
    fault: Fault,
    /// The call that it happens to.
    call: Option<String>,
}

impl World {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happens to the next call of this RPC, at one of its host calls, the first being 1.
    pub(super) fn plan(&self, operation: &'static str, number: usize, fault: Fault) {
        self.lock().plan = Some(Plan { operation, number, fault, call: None });
    }

    /// Nothing is planned any more.
    pub(super) fn forget(&self) {
        self.lock().plan = None;
    }

    /// The host calls that the last call of an RPC made.
    pub(super) fn host_calls(&self, operation: &'static str) -> Vec<&'static str> {
        let inner = self.lock();
        let call = inner.last.get(operation).and_then(|id| inner.calls.get(id));
        call.map(|call| call.names.clone()).unwrap_or_default()
    }

    /// Resolves when the planned pause has begun.
    pub(super) async fn paused(&self) {
        self.paused.notified().await;
    }

    /// The call that is held goes on.
    pub(super) fn go_on(&self) {
        let held = self.lock().held.take();
        if let Some(held) = held {
            // It may have ended meanwhile.
            let _ = held.send(());
        }
    }

    /// Clocks stand still at this moment; none: they go.
    pub(super) fn stop_clocks(&self, at: Option<Duration>) {
        self.lock().clock = at;
    }

    /// What each RPC has used since the last time that this was asked.
    pub(super) fn measured(&self) -> BTreeMap<String, Measure> {
        let calls = std::mem::take(&mut self.lock().calls);
        let mut by_rpc: BTreeMap<&str, Vec<Call>> = BTreeMap::new();
        for call in calls.into_values().filter(|call| is_rpc(call.operation)) {
            by_rpc.entry(call.operation).or_default().push(call);
        }
        by_rpc.into_iter().map(|(rpc, calls)| (rpc.to_owned(), measure(&calls))).collect()
    }
}

/// The host's own calls have other names than RPCs.
fn is_rpc(operation: &str) -> bool {
    operation.starts_with(char::is_uppercase)
}

fn measure(calls: &[Call]) -> Measure {
    let mut times: Vec<Duration> = calls.iter().map(|call| call.used.time).collect();
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    Measure {
        calls: calls.len(),
        time_us: u64::try_from(median.as_micros()).unwrap_or(u64::MAX),
        memory_kib: calls.iter().map(|call| call.used.memory.div_ceil(1024)).max().unwrap_or_default(),
        host_calls: calls.iter().map(|call| call.names.len()).max().unwrap_or_default(),
    }
}

impl Inner {
    fn call(&mut self, context: &CallContext) -> &mut Call {
        self.last.insert(context.operation, context.id.clone());
        let call = self.calls.entry(context.id.clone()).or_default();
        call.operation = context.operation;
        call
    }
}

impl Boundary for World {
    fn passes(&self, context: &CallContext, name: &'static str) -> Order {
        let mut inner = self.lock();
        let call = inner.call(context);
        call.names.push(name);
        let number = call.names.len();
        let Some(plan) = inner.plan.as_mut().filter(|plan| plan.operation == context.operation) else {
            return Order::Proceed;
        };
        if plan.call.get_or_insert_with(|| context.id.clone()) != &context.id || plan.number != number {
            return Order::Proceed;
        }
        let fault = plan.fault;
        inner.plan = None;
        match fault {
            Fault::Kill => Order::Kill,
            Fault::Refuse => Order::Refuse,
            Fault::Lose => Order::Lose,
            Fault::Pause => {
                let (held, until) = oneshot::channel();
                inner.held = Some(held);
                drop(inner);
                self.paused.notify_one();
                Order::Wait(until)
            }
        }
    }

    fn left(&self, context: &CallContext, used: Used) {
        self.lock().call(context).used = used;
    }

    fn now(&self) -> Duration {
        let stopped = self.lock().clock;
        stopped.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Used, measure};
    use std::time::Duration;

    #[test]
    fn the_time_is_the_median_and_the_rest_the_most() {
        let call = |micros, kib: u64, names: &[&'static str]| Call {
            operation: "CreateVolume",
            names: names.to_vec(),
            used: Used { time: Duration::from_micros(micros), memory: kib * 1024 },
        };
        let measured = measure(&[call(9_000, 64, &["state.get"]), call(5, 128, &[]), call(7, 64, &["a", "b"])]);
        assert_eq!((measured.calls, measured.time_us), (3, 7));
        assert_eq!((measured.memory_kib, measured.host_calls), (128, 2));
    }
}
