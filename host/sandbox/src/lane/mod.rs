//! Threads of one backend, on which its guests wait for disks and compute for long.
//!
//! A call begins on the thread that read it from the socket. Most end there. One that comes to a point where it may
//! have to wait for a disk, or that has computed for some milliseconds, is moved with everything it holds to a thread
//! of its backend (its lane) and stays there until it ends. So a hung file system delays nobody but the calls that use
//! it, and the threads that serve sockets always come back soon. A backend whose calls take half a millisecond and more
//! begins them here, so that those of one connection use several processors.
//!
//! A lane has no bound of its own: a call on it holds a place in the backend's budget, and no call is on two threads.

mod movable;
mod pace;
mod processors;
mod thread;

pub use movable::Movable;
pub(crate) use processors::{Place, all_but_one};
pub use thread::Enter;
pub(crate) use thread::is_lane as is_here;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use drivebay_admission::Budget;
use drivebay_confine::usual_slices;

use self::pace::Pace;

/// The most calls that a configuration can allow.
const MOST_CALLS: usize = 1000;
/// How long a thread that has nothing to do is kept.
const IDLE: Duration = Duration::from_secs(10);

/// Work that can be moved between threads.
type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The threads of one backend. They are started when they are needed, and end after ten idle seconds.
pub struct Lane {
    backend: String,
    /// Its blocking threads are the lane; it runs nothing else.
    threads: Option<Runtime>,
    /// Calls of this backend that may compute for long at the same time.
    long: Arc<Semaphore>,
    pace: Pace,
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").field("backend", &self.backend).finish_non_exhaustive()
    }
}

impl Lane {
    /// The lane of a backend, which has no threads yet.
    pub fn new(backend: &str) -> Arc<Self> {
        let threads = Builder::new_current_thread()
            .max_blocking_threads(Budget::instances(MOST_CALLS))
            .thread_keep_alive(IDLE)
            .thread_name(backend.to_owned())
            // What waits for a guest that computes is everything else; refused, it waits a little longer.
            .on_thread_start(|| drop(usual_slices()))
            .build()
            // It opens nothing and starts nothing yet, so that nothing can fail.
            .inspect_err(|error| tracing::error!(backend, %error, "calls wait on threads of all backends"));
        let long = Arc::new(Semaphore::new(all_but_one()));
        Arc::new(Self { backend: backend.to_owned(), threads: threads.ok(), long, pace: Pace::default() })
    }

    /// Resolves on a thread of this lane: the caller's work is moved there, unless it is there already.
    pub const fn enter(self: &Arc<Self>) -> Enter<'_> {
        Enter::new(self)
    }

    /// Drops something on a thread of the lane: what it closes may be a server's, and wait for it.
    pub fn let_go(&self, what: impl Send + 'static) {
        if let Some(threads) = &self.threads {
            drop(threads.spawn_blocking(move || drop(what)));
        }
    }

    /// A guest of this backend has computed for so long in a call.
    pub(crate) fn note(&self, took: Duration) {
        self.pace.note(took);
    }

    /// Whether another call of this backend had better begin on the lane: its calls wait for each other to compute, or are
    /// long for a thread that serves others, too.
    pub(crate) fn is_wanted(&self) -> bool {
        self.long.available_permits() == 0 || self.pace.is_slow()
    }

    /// Runs work on a thread of the lane, to its end. Timers and connections stay with the runtime that serves.
    fn run<T: Send + 'static>(self: &Arc<Self>, work: Work<T>) -> JoinHandle<T> {
        let (serves, lane) = (Handle::current(), Arc::clone(self));
        let threads = self.threads.as_ref().map_or_else(|| serves.clone(), |threads| threads.handle().clone());
        threads.spawn_blocking(move || {
            // Dropped with work on it, a lane would lose it.
            let _kept = lane;
            thread::on_lane(|| serves.block_on(work))
        })
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // A thread that hangs in a system call is not waited for.
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests;
