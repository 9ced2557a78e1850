//! The threads that work on requests: one for each that the schedule lets run.
//!
//! Owns starting them and what happens when one ends. It must not decide whose turn it is, nor know what a request
//! means.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::limits::Shares;
use super::log_budget;
use super::schedule::Schedule;
use super::turns::{Turn, Turns, VolumeKey};

/// What a thread does, and what is done instead where there is none: the flag says which.
type Job = Box<dyn FnOnce(Started) + Send>;

/// Whether a job has a thread of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Started {
    /// It has.
    Yes,
    /// The system gives no thread; the job must not take long.
    No,
}

/// What a job does most of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// It works, or waits for a disk of this machine.
    Works,
    /// It waits for a server, which may not answer.
    Waits,
}

/// The threads, and what waits for one.
#[derive(Clone)]
pub(super) struct WorkerPool(Arc<Shared>);

struct Shared {
    schedules: Mutex<Schedules>,
    turns: Turns,
    ended: Condvar,
}

/// A schedule for each pace: jobs of one hold nobody of the other.
struct Schedules {
    work: Schedule<(String, Pace, Job)>,
    servers: Schedule<(String, Pace, Job)>,
}

impl Schedules {
    fn of(&mut self, pace: Pace) -> &mut Schedule<(String, Pace, Job)> {
        match pace {
            Pace::Works => &mut self.work,
            Pace::Waits => &mut self.servers,
        }
    }
}

impl WorkerPool {
    pub(super) fn new(turns: Turns, shares: Shares) -> Self {
        let work = Schedule::for_work(shares.at_once);
        let schedules = Mutex::new(Schedules { work, servers: Schedule::for_servers() });
        Self(Arc::new(Shared { schedules, turns, ended: Condvar::new() }))
    }

    /// Works on a job of a backend when the schedule says so, with the turn of the volume that it needs. Gives it back
    /// if too many of the backend's wait.
    pub(super) fn work(
        &self,
        backend: &str,
        pace: Pace,
        key: Option<VolumeKey>,
        job: impl FnOnce(Started) + Send + 'static,
    ) -> Result<(), ()> {
        let pushed = self.lock().of(pace).push(backend, key, (backend.to_owned(), pace, Box::new(job)));
        pushed.map_err(drop)?;
        self.start_what_can();
        Ok(())
    }

    /// Works on a job at once, whatever else runs.
    pub(super) fn work_at_once(&self, backend: &str, job: impl FnOnce(Started) + Send + 'static) {
        self.lock().work.ran_at_once(backend);
        self.start(backend, Pace::Works, Box::new(job), None);
    }

    /// Starts jobs that wait, as far as they have a slot and their volumes are free by now.
    pub(super) fn start_what_can(&self) {
        loop {
            let take = |key: &VolumeKey| self.0.turns.try_take(key);
            let mut schedules = self.lock();
            let next = schedules.work.next(take).or_else(|| schedules.servers.next(take));
            drop(schedules);
            let Some(((backend, pace, job), turn)) = next else { return };
            self.start(&backend, pace, job, turn);
        }
    }

    fn start(&self, backend: &str, pace: Pace, job: Job, turn: Option<Turn>) {
        let worker_pool = self.clone();
        let shared = Arc::new(Mutex::new(Some(job)));
        let (of_thread, name) = (Arc::clone(&shared), backend.to_owned());
        let work = move || {
            log_budget::work_for(&name);
            if let Some(job) = take(&of_thread) {
                job(Started::Yes);
            }
            drop(turn);
            worker_pool.end(&name, pace);
            worker_pool.start_what_can();
        };
        if thread::Builder::new().name("node-work".to_owned()).spawn(work).is_err() {
            // The turn went with the work that was not begun.
            if let Some(job) = take(&shared) {
                job(Started::No);
            }
            self.end(backend, pace);
        }
    }

    fn end(&self, backend: &str, pace: Pace) {
        self.lock().of(pace).ended(backend);
        self.0.ended.notify_all();
    }

    /// Forgets what waits, and waits for what runs, but no longer than this; whether all of it has ended.
    pub(super) fn finish(&self, within: Duration) -> bool {
        let mut schedules = self.lock();
        schedules.work.clear();
        schedules.servers.clear();
        let busy = |schedules: &mut Schedules| !schedules.work.is_idle() || !schedules.servers.is_idle();
        let ended = self.0.ended.wait_timeout_while(schedules, within, busy);
        let (_schedules, outcome) = ended.unwrap_or_else(PoisonError::into_inner);
        !outcome.timed_out()
    }

    fn lock(&self) -> MutexGuard<'_, Schedules> {
        self.0.schedules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take(job: &Mutex<Option<Job>>) -> Option<Job> {
    job.lock().unwrap_or_else(PoisonError::into_inner).take()
}
