//! Jobs: work on files that may take longer than a call.
//!
//! Owns the jobs of one backend across its generations, and the waiting for them. What a job does is
//! in `copy` and `mkfs`, how it is run in `run`, which job there is in `table`. A job outlives the
//! call, the instance and the generation that started it, so it holds what it needs itself, the
//! call's locks included.

mod checksum;
mod complaints;
mod copy;
mod ends;
mod identity;
mod job;
mod journal;
mod kinds;
mod mkfs;
mod program;
mod reading;
mod record;
mod run;
mod stop;
mod table;
mod transfer;
mod writeback;

use super::{
    directories::{Access, Directories},
    error::{FileError, FileErrorCode},
};
use complaints::Complaints;
pub use job::{CopyJob, FileSystemJob, Job, JobLimits, JobProgress, JobResult, JobState, Origin};
use journal::Journal;
pub use kinds::{Absent, FileSystem, Programs};
use record::KeyHash;
use std::{
    collections::HashMap,
    fmt::Display,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use stop::{Progress, Stop};
use table::{Cancelled, Submitted, Table, Task};
use tokio::sync::watch;

/// The longest key in bytes.
const LONGEST_KEY: usize = 256;
/// The longest wait for a job's end, whatever was asked for: a call waits on a thread.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// What is still running after [`Jobs::drain`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Nothing.
    All,
    /// So many jobs, in a system call that takes long.
    Left(usize),
}

/// All that the code of a job may use.
struct Work<'a> {
    directories: &'a Directories,
    key: &'a KeyHash,
    /// The hash of the job's description.
    job: &'a str,
    stop: &'a Stop,
    progress: &'a Progress,
    programs: &'a Programs,
    checkpoint_bytes: u64,
    shared: &'a Shared,
    /// Whether it lets calls go first.
    gives_way: bool,
}

/// The jobs of one backend, across its generations.
#[derive(Debug, Clone)]
pub struct Jobs(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    owner: String,
    limits: JobLimits,
    programs: Programs,
    table: Mutex<Table>,
    /// A job ended, or is gone.
    changed: Condvar,
    /// The same, for those who wait without a thread.
    ends: watch::Sender<()>,
    complaints: Complaints,
    /// Jobs begun, by granted directory: after so many of them old journals are swept.
    begun: Mutex<HashMap<String, usize>>,
}

impl Shared {
    /// Tells the log what went wrong beside a job.
    pub(super) fn complain(&self, error: &dyn Display, words: &str) {
        self.complaints.tell(&self.owner, error, words);
    }

    pub(super) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell_waiters(&self) {
        self.changed.notify_all();
        self.ends.send_replace(());
    }

    /// Waits until `done` says so; false: the time is over.
    fn wait_until(&self, deadline: Instant, mut done: impl FnMut(&mut Table) -> bool) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self.changed.wait_timeout_while(self.table(), left, |table| !done(table));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

impl Jobs {
    /// No jobs yet. `owner` is the backend's name: it tells its journals from those of other
    /// backends that share a directory, so it must be the same after a restart.
    pub fn new(owner: impl Into<String>, limits: JobLimits, programs: Programs) -> Self {
        Self(Arc::new(Shared {
            owner: owner.into(),
            limits,
            programs,
            table: Mutex::default(),
            changed: Condvar::new(),
            ends: watch::Sender::new(()),
            complaints: Complaints::default(),
            begun: Mutex::default(),
        }))
    }

    /// The file systems that jobs can make.
    pub fn file_systems(&self) -> Vec<FileSystem> {
        self.0.programs.offered()
    }

    /// Starts a job, or finds the one with this key, and waits up to `wait` (at most a minute) for
    /// its end. Blocks. `origin` is kept only if this starts the job.
    pub(super) fn run(
        &self,
        directories: &Arc<Directories>,
        key: &str,
        job: Job,
        wait: Duration,
        origin: Origin,
    ) -> Result<JobState, FileError> {
        check_key(key)?;
        job.check()?;
        directories.resolve(job.target(), Access::ReadWrite)?;
        let task = Task {
            key: key.to_owned(),
            serial: 0,
            description: job.description()?,
            directories: Arc::clone(directories),
            stop: Arc::new(Stop::new()?),
            progress: Arc::new(Progress::default()),
            // A call that waits for its job is not to be given way to by it.
            gives_way: origin.call.is_none(),
            may_hang: directories.guard(&job.paths()).is_some(),
            job: Arc::new(job),
        };
        let mut origin = Some(origin);
        let submitted = self.0.table().submit(task, &mut origin, &self.0.limits)?;
        let serial = match submitted {
            Submitted::Known { serial } => serial,
            Submitted::Start(task) => {
                let serial = task.serial;
                run::start(&self.0, task);
                serial
            }
        };
        Ok(self.wait_for(key, serial, wait.min(LONGEST_WAIT)))
    }

    fn wait_for(&self, key: &str, serial: u64, wait: Duration) -> JobState {
        self.0.wait_until(Instant::now() + wait, |table| !table.is_under_way(key, serial));
        let told = self.0.table().tell(key, serial);
        told.unwrap_or_else(|| JobState::Failed(FileError::new(FileErrorCode::Failed, "the job was cancelled")))
    }

    /// Ends a job, undoes what it left half-done, also before a restart of the host, and forgets its
    /// result. Success when there is none. Blocks until the job has ended.
    pub(super) fn cancel(&self, directories: &Directories, key: &str) -> Result<(), FileError> {
        check_key(key)?;
        directories.check_granted()?;
        let cancelled = self.0.table().cancel(key)?;
        let result = self.finish_cancelling(directories, key, cancelled);
        self.0.table().cancelled(key);
        result
    }

    fn finish_cancelling(&self, directories: &Directories, key: &str, step: Cancelled) -> Result<(), FileError> {
        match step {
            Cancelled::Gone(origin) => {
                drop(origin);
                self.0.tell_waiters();
            }
            Cancelled::Stopping => {
                if !self.0.wait_until(Instant::now() + LONGEST_WAIT, |table| !table.is_known(key)) {
                    return Err(FileError::new(FileErrorCode::Busy, "the job is stopping; cancel it again"));
                }
            }
        }
        let key = KeyHash::new(&self.0.owner, key);
        directories.in_each_writable(move |grant| Journal::new(grant, &key)?.discard())
    }

    /// Whether a job that this call started is under way.
    pub fn runs_for(&self, call: &str) -> bool {
        self.0.table().is_call_under_way(call)
    }

    /// Resolves when all jobs that this call started have ended; at once if there are none.
    pub fn running_for(&self, call: &str) -> impl Future<Output = ()> + Send + 'static {
        let (shared, call) = (Arc::clone(&self.0), call.to_owned());
        let mut ends = self.0.ends.subscribe();
        async move {
            while shared.table().is_call_under_way(&call) {
                // The sender lives as long as `shared`.
                if ends.changed().await.is_err() {
                    return;
                }
            }
        }
    }

    /// For shutdown: takes no more jobs and stops those there are, so that running them again after
    /// a restart goes on where they were. Blocks until they have ended, or until `deadline`.
    pub fn drain(&self, deadline: Instant) -> Drained {
        let forgotten = self.0.table().drain();
        drop(forgotten);
        self.0.tell_waiters();
        self.0.wait_until(deadline, |table| table.running() == 0);
        match self.0.table().running() {
            0 => Drained::All,
            left => Drained::Left(left),
        }
    }
}

fn check_key(key: &str) -> Result<(), FileError> {
    if key.is_empty() || key.len() > LONGEST_KEY {
        let words = format!("a job's key has 1 to {LONGEST_KEY} bytes");
        return Err(FileError::new(FileErrorCode::Invalid, words));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
