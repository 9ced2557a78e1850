//! Which of the guests that compute for long may go on: fewer at once than the runtime has threads, so that a call that
//! takes little never waits for one of them to reach its next tick. Owns the places and who has one; how long a guest has
//! computed is the meter's to know, and whether that is too long the limit's.

use std::num::NonZero;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::epoch::TICK;

/// What a call may compute before it needs a place: more than most calls take altogether.
pub(super) const FREE: Duration = TICK.saturating_mul(4);

static PLACES: OnceLock<Arc<Semaphore>> = OnceLock::new();

/// How many threads serve: the runtime has as many as there are processors.
pub(super) fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

/// As many as may be taken for long: one is left to what takes little, where there is more than one.
pub(super) fn all_but_one() -> usize {
    threads().saturating_sub(1).max(1)
}

fn places() -> Arc<Semaphore> {
    Arc::clone(PLACES.get_or_init(|| Arc::new(Semaphore::new(all_but_one()))))
}

/// The place of one guest, if it has one.
#[derive(Debug, Default)]
pub(super) struct Place(Mutex<Option<OwnedSemaphorePermit>>);

impl Place {
    /// Lets the next one have it. To be told whenever the guest does not compute any more.
    pub(super) fn leave(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Leaves, and waits in line for another.
    pub(super) async fn queue(self: Arc<Self>) {
        self.queue_for(places()).await;
    }

    async fn queue_for(&self, places: Arc<Semaphore>) {
        self.leave();
        // Whatever else is to be done comes first, also when nobody waits for a place.
        tokio::task::yield_now().await;
        // It is never closed.
        let place = places.acquire_owned().await.ok();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }
}

#[cfg(test)]
mod tests;
