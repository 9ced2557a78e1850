//! The pool's files: where they are, and how they are read and written.
//!
//! `layout` has the paths, `identity` checks which pool this is, `files` replaces files atomically, `objects` finds
//! records, `tree` handles whole directories.

mod files;
mod identity;
mod layout;
mod objects;
mod tree;

use std::cell::{Cell, OnceCell};
use std::time::Duration;

use drivebay_sdk::files::{Job, JobState};

pub(crate) use files::Taken;
pub use layout::{DATA, IMAGE, Section};
pub use tree::{Progress, Sharing};

use crate::disk::Disk;
use crate::host::{Answer, Host};

/// What a call keeps back of its time, for the answer and for cleaning up.
const RESERVE: Duration = Duration::from_millis(1_500);

/// How long a call waits for a job before it writes down that the job lasts.
const LOOK: Duration = Duration::from_secs(1);

/// The pool during one call.
pub struct Pool<'a> {
    /// The host's functions.
    pub host: &'a dyn Host,
    /// The files of the sandbox.
    pub disk: &'a dyn Disk,
    /// The pool's directory, without a slash at its end.
    root: &'a str,
    /// The pool's id once it is known: it cannot change during a call.
    id: OnceCell<String>,
    /// A short name for this host, once somebody has asked for it.
    host_key: OnceCell<String>,
    /// Whether a job may have been run for what this call makes.
    pub(crate) ran_jobs: Cell<bool>,
    /// Whether the call waits for the host's jobs as long as it can, or only has a look.
    pub(crate) patient: Cell<bool>,
}

impl<'a> Pool<'a> {
    /// The pool in a directory. Nothing is read.
    pub fn new(host: &'a dyn Host, disk: &'a dyn Disk, root: &'a str) -> Self {
        let (id, host_key) = (OnceCell::new(), OnceCell::new());
        Self { host, disk, root, id, host_key, ran_jobs: Cell::new(false), patient: Cell::new(true) }
    }

    /// How long this call may wait for something, in milliseconds.
    pub fn patience(&self) -> u32 {
        let left = self.host.remaining().saturating_sub(RESERVE);
        let wait = if self.patient.get() { left } else { left.min(LOOK) };
        u32::try_from(wait.as_millis()).unwrap_or(u32::MAX)
    }

    /// Runs a job of the host, as long as this call may wait for it.
    pub(crate) fn run_job(&self, key: &str, job: &Job) -> Answer<JobState> {
        self.ran_jobs.set(true);
        self.host.run_job(key, job, self.patience())
    }

    /// Whether the call has no time for another piece of work.
    pub fn is_out_of_time(&self) -> bool {
        self.host.remaining() <= RESERVE
    }
}

impl std::fmt::Debug for Pool<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("root", &self.root).finish_non_exhaustive()
    }
}
