//! The threads that work on requests: one for each that the schedule lets run.
//!
//! Owns starting them and what happens when one ends. It must not decide whose turn it is, nor know what a request
//! means.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::said;
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

/// The threads, and what waits for one.
#[derive(Clone)]
pub(super) struct Crew(Arc<Shared>);

struct Shared {
    schedule: Mutex<Schedule<(String, Job)>>,
    turns: Turns,
    ended: Condvar,
}

impl Crew {
    pub(super) fn new(turns: Turns) -> Self {
        Self(Arc::new(Shared { schedule: Mutex::default(), turns, ended: Condvar::new() }))
    }

    /// Works on a job of a backend when the schedule says so, with the turn of the volume that it needs. Gives it back
    /// if too many of the backend's wait.
    pub(super) fn work(
        &self,
        backend: &str,
        key: Option<VolumeKey>,
        job: impl FnOnce(Started) + Send + 'static,
    ) -> Result<(), ()> {
        let pushed = self.lock().push(backend, key, (backend.to_owned(), Box::new(job)));
        pushed.map_err(drop)?;
        self.start_what_can();
        Ok(())
    }

    /// Works on a job at once, whatever else runs.
    pub(super) fn work_at_once(&self, backend: &str, job: impl FnOnce(Started) + Send + 'static) {
        self.lock().ran_at_once(backend);
        self.start(backend, Box::new(job), None);
    }

    fn start_what_can(&self) {
        loop {
            let next = self.lock().next(|key| self.0.turns.try_take(key));
            let Some(((backend, job), turn)) = next else { return };
            self.start(&backend, job, turn);
        }
    }

    fn start(&self, backend: &str, job: Job, turn: Option<Turn>) {
        let crew = self.clone();
        let shared = Arc::new(Mutex::new(Some(job)));
        let (of_thread, name) = (Arc::clone(&shared), backend.to_owned());
        let work = move || {
            said::work_for(&name);
            if let Some(job) = take(&of_thread) {
                job(Started::Yes);
            }
            drop(turn);
            crew.end(&name);
            crew.start_what_can();
        };
        if thread::Builder::new().name("node-work".to_owned()).spawn(work).is_err() {
            // The turn went with the work that was not begun.
            if let Some(job) = take(&shared) {
                job(Started::No);
            }
            self.end(backend);
        }
    }

    fn end(&self, backend: &str) {
        self.lock().ended(backend);
        self.0.ended.notify_all();
    }

    /// Forgets what waits, and waits for what runs.
    pub(super) fn finish(&self) {
        let mut schedule = self.lock();
        schedule.clear();
        let ended = self.0.ended.wait_while(schedule, |schedule| !schedule.is_idle());
        drop(ended.unwrap_or_else(PoisonError::into_inner));
    }

    fn lock(&self) -> MutexGuard<'_, Schedule<(String, Job)>> {
        self.0.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take(job: &Mutex<Option<Job>>) -> Option<Job> {
    job.lock().unwrap_or_else(PoisonError::into_inner).take()
}
