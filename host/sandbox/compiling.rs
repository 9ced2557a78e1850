//! The threads that compile: one less than there are cores, at low priority, for all backends together.
//! Owns threads only. Why of their own: the compiler works in parallel on whatever threads it finds, and
//! those that serve calls must not wait for a vendor's new version.

use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// How nice the threads are: a ninth of the share of a thread that serves, when both want to run.
const NICE: i32 = 10;

static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();

/// Runs work on these threads, all of its parallel parts as well, and waits for its end.
pub(super) fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match POOL.get_or_init(pool) {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

fn pool() -> Option<ThreadPool> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    ThreadPoolBuilder::new()
        .num_threads(cores.saturating_sub(1).max(1))
        .thread_name(|n| format!("compile-{n}"))
        .start_handler(|_| {
            // Of this thread alone: the system keeps it a thread. Without it compiling is only less polite.
            let _ = rustix::process::setpriority_process(None, NICE);
        })
        .build()
        .inspect_err(|error| tracing::warn!(%error, "no threads for compiling; it takes those of its callers"))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_on_nice_threads_and_not_on_the_callers() {
        let caller = std::thread::current().id();
        let before = rustix::process::getpriority_process(None).unwrap();
        let (thread, nice) = run(|| (std::thread::current().id(), rustix::process::getpriority_process(None)));
        assert_ne!(thread, caller);
        assert_eq!(nice.unwrap(), NICE);
        assert_eq!(rustix::process::getpriority_process(None).unwrap(), before, "the caller is as before");
    }
}
