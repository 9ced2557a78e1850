//! A generation beside the one that serves, while it is tried with real calls: as a shadow it hears them, as a
//! canary it serves a share of the objects. Holds what that needs; when it begins and ends, the lifecycle says.

mod report;
mod split;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use report::{Comparison, Report};
use split::{Route, Split};

use super::generation::Generation;
use drivebay_admission::LockSet;

/// So many calls are compared at a time: they take instances from those that serve.
const AT_ONCE: usize = 2;

/// A generation that hears what is asked of the one that serves.
#[derive(Debug)]
pub struct Shadow {
    /// Which.
    pub generation: Arc<Generation>,
    report: Mutex<Report>,
    places: Arc<Semaphore>,
}

impl Shadow {
    pub(super) fn new(generation: Arc<Generation>) -> Self {
        Self { generation, report: Mutex::default(), places: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// A place to compare one call; none: others are being compared, and this one is let go.
    pub fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// What is known so far.
    pub fn report(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A generation that serves a share of the objects.
#[derive(Debug)]
pub(super) struct Canary {
    pub generation: Arc<Generation>,
    split: Mutex<Split>,
}

impl Canary {
    pub(super) fn new(generation: Arc<Generation>, percent: u8) -> Self {
        Self { generation, split: Mutex::new(Split::new(percent)) }
    }

    /// Whether a call about these objects goes to it.
    pub(super) fn takes(&self, about: &LockSet) -> bool {
        self.split().side(about) == Route::Canary
    }

    /// These objects go where a call on this generation went.
    pub(super) fn follows(&self, generation: &Arc<Generation>, objects: &LockSet) {
        let side = if Arc::ptr_eq(generation, &self.generation) { Route::Canary } else { Route::Active };
        self.split().follows(objects, side);
    }

    fn split(&self) -> MutexGuard<'_, Split> {
        self.split.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
