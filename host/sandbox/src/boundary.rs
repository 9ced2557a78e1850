//! Where a guest's host calls can be seen, and made to fail: by `drivebay test`, which puts its own world around a component.
//!
//! It owns the words between the imports and such a world; it decides nothing. Every host call that reaches out of the
//! instance (state, files, HTTP, node work) passes here by name. A host that serves has no world: [`Surroundings`] holds none,
//! no configuration makes one, and a call pays for one look at an empty option.
//!
//! [`Surroundings`]: super::surroundings::Surroundings

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::context::CallContext;

/// A world around guests that is not the real one.
pub trait Boundary: fmt::Debug + Send + Sync {
    /// A guest is about to make a host call, `interface.function` of the contract. What is to become of it.
    fn passes(&self, call: &CallContext, name: &'static str) -> Order;

    /// A guest has left, or was ended; what it has used so far in this call.
    fn left(&self, call: &CallContext, used: Used);

    /// What clocks on walls show, since 1970.
    fn now(&self) -> Duration;
}

/// What becomes of a host call.
#[derive(Debug)]
pub enum Order {
    /// It is done.
    Proceed,
    /// The guest is ended before it, as when a host dies.
    Kill,
    /// It is not done, and the guest hears that it failed.
    Refuse,
    /// It is done, and the guest hears that it failed.
    Lose,
    /// It is done when this resolves, however.
    Wait(oneshot::Receiver<()>),
}

/// What a guest has used in one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// Time of a processor.
    pub time: Duration,
    /// Bytes of its memories, which never shrink.
    pub memory: u64,
}

/// What is left of an order for an import to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    /// It is done.
    Proceed,
    /// As [`Order::Refuse`].
    Refuse,
    /// As [`Order::Lose`].
    Lose,
}

/// A guest that its world has ended.
#[derive(Debug, thiserror::Error)]
#[error("the guest was killed before {0}")]
pub(super) struct Killed(&'static str);

/// The way out of an instance.
#[derive(Debug, Clone, Default)]
pub(super) struct Gate(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    world: Arc<dyn Boundary>,
    call: Arc<CallContext>,
}

impl Gate {
    /// For the calls of an instance; none: the real world.
    pub(super) fn new(world: Option<&Arc<dyn Boundary>>, call: &Arc<CallContext>) -> Self {
        Self(world.map(|world| Arc::new(Inner { world: Arc::clone(world), call: Arc::clone(call) })))
    }

    /// The same for the instance's next call.
    pub(super) fn begin(&mut self, call: &Arc<CallContext>) {
        if let Some(inner) = &self.0 {
            *self = Self::new(Some(&inner.world), call);
        }
    }

    /// A host call passes.
    ///
    /// # Errors
    /// [`Killed`]: it goes no further.
    pub(super) async fn pass(&self, name: &'static str) -> wasmtime::Result<Passed> {
        let Some(inner) = &self.0 else { return Ok(Passed::Proceed) };
        match inner.world.passes(&inner.call, name) {
            Order::Proceed => Ok(Passed::Proceed),
            Order::Kill => Err(Killed(name).into()),
            Order::Refuse => Ok(Passed::Refuse),
            Order::Lose => Ok(Passed::Lose),
            Order::Wait(until) => {
                // Who does not let it go on has ended.
                let _ = until.await;
                Ok(Passed::Proceed)
            }
        }
    }

    /// The same of one that cannot wait here.
    ///
    /// # Errors
    /// As `pass`.
    pub(super) fn pass_at_once(&self, name: &'static str) -> wasmtime::Result<Passed> {
        let Some(inner) = &self.0 else { return Ok(Passed::Proceed) };
        match inner.world.passes(&inner.call, name) {
            Order::Proceed | Order::Wait(_) => Ok(Passed::Proceed),
            Order::Kill => Err(Killed(name).into()),
            Order::Refuse => Ok(Passed::Refuse),
            Order::Lose => Ok(Passed::Lose),
        }
    }

    /// The guest has left.
    pub(super) fn left(&self, used: impl FnOnce() -> Used) {
        if let Some(inner) = &self.0 {
            inner.world.left(&inner.call, used());
        }
    }
}
