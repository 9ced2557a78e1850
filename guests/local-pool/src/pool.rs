//! Where things stand in the pool, and how they are read and written.
//!
//! `layout` has the paths, `identity` whose pool it is, `files` how a file is replaced, `objects` how records are
//! found, `tree` whole directories.

mod files;
mod identity;
mod layout;
mod objects;
mod tree;

use std::cell::{Cell, OnceCell};
use std::time::Duration;

pub(crate) use files::Taken;
pub use layout::{DATA, IMAGE, Section};
pub use tree::{Progress, Sharing};

use crate::disk::Disk;
use crate::host::Host;

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
    /// Whether the call waits for the host's jobs as long as it can, or only has a look.
    pub(crate) patient: Cell<bool>,
}

impl<'a> Pool<'a> {
    /// The pool in a directory. Nothing is read.
    pub fn new(host: &'a dyn Host, disk: &'a dyn Disk, root: &'a str) -> Self {
        Self { host, disk, root, id: OnceCell::new(), patient: Cell::new(true) }
    }

    /// How long this call may wait for something, in milliseconds.
    pub fn patience(&self) -> u32 {
        let left = self.host.remaining().saturating_sub(RESERVE);
        let wait = if self.patient.get() { left } else { left.min(LOOK) };
        u32::try_from(wait.as_millis()).unwrap_or(u32::MAX)
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
