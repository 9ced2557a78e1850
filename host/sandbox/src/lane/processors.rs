//! Who may compute for long: fewer at once than there are processors, so that a call that takes little finds one. Two
//! lines, one in each backend and one of the host: a backend has as many calls in the host's line as may go on at once,
//! so that another backend's call waits for a few of its turns and never for all of its calls.

use std::num::NonZero;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Lane, is_here};

static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(all_but_one())));

/// How many there are for this process.
fn processors() -> usize {
    static PROCESSORS: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));
    *PROCESSORS
}

/// As many as may be taken for long: one is left to what takes little, where there is more than one.
pub(crate) fn all_but_one() -> usize {
    processors().saturating_sub(1).max(1)
}

/// The place of one call among those that compute for long, if it has one.
#[derive(Debug, Default)]
pub(crate) struct Place(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    /// In its backend.
    own: Option<OwnedSemaphorePermit>,
    /// On a processor.
    processor: Option<OwnedSemaphorePermit>,
}

impl Place {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets others go on. To be told whenever the guest does not compute any more.
    pub(crate) fn leave(&self) {
        *self.taken() = Taken::default();
    }

    /// Waits for a turn to compute: on its lane, and after those that wait already.
    pub(crate) async fn turn(&self, lane: &Arc<Lane>) {
        self.leave();
        if is_here() {
            // Threads that serve and helpers sleep most of the time, and one that wakes up may have to wait until the
            // kernel's slice of whoever computes is over, which is longer than a turn and another one in each version.
            thread::yield_now();
        }
        self.take_own(lane).await;
        // They are never closed.
        let processor = Arc::clone(&PLACES).acquire_owned().await.ok();
        self.taken().processor = processor;
    }

    /// Waits for a turn of work that the kernel does for the guest. It takes no processor's place: it may hang, and
    /// then others of its own backend wait, and nobody else.
    pub(crate) async fn turn_of_kernel(&self, lane: &Arc<Lane>) {
        self.taken().processor = None;
        if self.taken().own.is_none() {
            self.take_own(lane).await;
        }
    }

    async fn take_own(&self, lane: &Arc<Lane>) {
        let own = Arc::clone(&lane.long).acquire_owned().await.ok();
        self.taken().own = own;
    }
}
