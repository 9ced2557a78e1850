//! The threads that serve connections: one for each processor, each with a runtime of its own. A connection stays on its
//! thread, so a call crosses none between its socket, its guest and its answer; what waits or computes for long leaves
//! for the lane of its backend. Owns the threads, and which of them takes a connection; reads no byte of it.

use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;

/// The most threads: clients hold a handful of connections, also on machines with a hundred processors.
const MOST: usize = 16;
/// How long a thread for blocking work is kept when it has none.
const IDLE: Duration = Duration::from_secs(1);

/// The threads. They end when this is dropped, with whatever is on them.
#[derive(Debug)]
pub struct Workers {
    first: Worker,
    others: Box<[Worker]>,
    end: CancellationToken,
}

impl Workers {
    /// Starts them.
    ///
    /// # Errors
    /// When the system refuses a thread, or the descriptors of its runtime.
    pub fn start() -> io::Result<Arc<Self>> {
        Self::start_some(thread::available_parallelism().map_or(1, NonZero::get).min(MOST))
    }

    fn start_some(count: usize) -> io::Result<Arc<Self>> {
        // From here on an early return ends those that have been started.
        let end = CancellationToken::new();
        let ends_early = end.clone().drop_guard();
        let first = Worker::start(0, &end)?;
        let others = (1..count).map(|number| Worker::start(number, &end)).collect::<io::Result<_>>()?;
        ends_early.disarm();
        Ok(Arc::new(Self { first, others, end }))
    }

    /// The one that has the least to do, the first one of several.
    pub(crate) fn least_busy(&self) -> &Worker {
        let mut least = (self.first.load(), &self.first);
        for worker in &self.others {
            let load = worker.load();
            if load < least.0 {
                least = (load, worker);
            }
        }
        least.1
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

/// One of the threads.
#[derive(Debug)]
pub(crate) struct Worker {
    /// Which one.
    pub(crate) number: usize,
    /// What runs on it.
    pub(crate) runtime: Handle,
    connections: Arc<AtomicUsize>,
    idle_tasks: Arc<AtomicUsize>,
}

impl Worker {
    fn start(number: usize, end: &CancellationToken) -> io::Result<Self> {
        let name = format!("serve-{number}");
        let runtime = Builder::new_current_thread().enable_all().thread_keep_alive(IDLE).thread_name(&name).build()?;
        let (handle, end) = (runtime.handle().clone(), end.clone());
        thread::Builder::new().name(name).spawn(move || {
            runtime.block_on(end.cancelled());
            // A thread that hangs in a system call must not keep the process.
            runtime.shutdown_background();
        })?;
        Ok(Self { number, runtime: handle, connections: Arc::default(), idle_tasks: Arc::default() })
    }

    /// Counts a connection that is served here until this is dropped.
    pub(crate) fn connection(&self) -> Counted {
        Counted::of(&self.connections)
    }

    /// Counts a task that is no work by itself.
    pub(crate) fn idle_task(&self) -> Counted {
        Counted::of(&self.idle_tasks)
    }

    /// How much it has to do: its connections and the calls under way, each of which is a task. A connection that was
    /// just handed over is no task yet.
    fn load(&self) -> usize {
        let idle = self.idle_tasks.load(Ordering::Relaxed);
        let tasks = self.runtime.metrics().num_alive_tasks().saturating_sub(idle);
        tasks.max(self.connections.load(Ordering::Relaxed))
    }
}

/// One more of something, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn of(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn connections_go_where_the_fewest_are() {
        let workers = Workers::start_some(3).unwrap();
        let mut held: Vec<_> = (0..6)
            .map(|_| {
                let worker = workers.least_busy();
                (worker.number, worker.connection())
            })
            .collect();
        let mut numbers: Vec<_> = held.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 0, 1, 1, 2, 2]);
        held.retain(|(number, _)| *number != 1);
        assert_eq!(workers.least_busy().number, 1, "both of its connections are gone");
    }

    #[test]
    fn calls_under_way_count_and_servers_that_wait_do_not() {
        let workers = Workers::start_some(2).unwrap();
        let [first, second] = [&workers.first, &workers.others[0]];
        let (_on_first, _on_second) = (first.connection(), [second.connection(), second.connection()]);
        let _server = first.idle_task();
        first.runtime.spawn(pending::<()>());
        assert_eq!(workers.least_busy().number, 0);
        for _call in 0..3 {
            first.runtime.spawn(pending::<()>());
        }
        assert_eq!(workers.least_busy().number, 1, "three calls are more than two connections that are quiet");
    }

    #[test]
    fn what_is_on_a_thread_ends_with_it() {
        let workers = Workers::start_some(1).unwrap();
        let (kept, gone) = oneshot::channel::<()>();
        workers.first.runtime.spawn(async move {
            let _kept = kept;
            pending::<()>().await;
        });
        drop(workers);
        assert!(gone.blocking_recv().is_err());
    }
}
