//! What files and directories of one grant have in common, and what is done to both alike.

use super::{Errno, NewTime, OpError, OpResult, Patience, held::Held};
use crate::reach::Reach;
use rustix::{
    fs::Timestamps,
    io::{Result, retry_on_intr},
};
use std::{os::fd::OwnedFd, sync::Arc};

/// What may be done with a file or directory.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    /// Whether its grant and the generation's view allow changes.
    pub(super) may_change: bool,
    /// Whether the kernel can tell what it has in memory: it is on a file system of this machine.
    pub(super) local: bool,
    /// The way to the granted directory, where it may hang and the component can do without it.
    pub(super) reach: Option<Reach>,
}

impl Standing {
    /// `EPERM` where nothing may be changed.
    pub(super) fn check_change(&self) -> OpResult<()> {
        if self.may_change { Ok(()) } else { Err(Errno::PERM.into()) }
    }

    /// The way that work goes which may wait.
    pub(super) fn guard(&self) -> Option<Reach> {
        self.reach.clone().filter(|_| !self.local)
    }

    /// Whether this much patience is enough.
    pub(super) fn check_wait(&self, patience: Patience) -> OpResult<()> {
        if self.local || patience == Patience::Any { Ok(()) } else { Err(OpError::Waits) }
    }
}

/// Writes it to the disk, and what is known of it unless only the contents are wanted.
pub(super) fn sync(fd: &OwnedFd, contents_only: bool) -> Result<()> {
    retry_on_intr(|| if contents_only { rustix::fs::fdatasync(fd) } else { rustix::fs::fsync(fd) })
}

/// The times in the system's form.
pub(super) fn times(accessed: NewTime, modified: NewTime) -> Timestamps {
    Timestamps { last_access: accessed.system(), last_modification: modified.system() }
}

/// Closes a descriptor apart where that may hang: what was written is sent to its server then.
/// It counts as open until then.
#[derive(Debug)]
pub(super) struct Closing {
    apart: Option<(Arc<OwnedFd>, Reach)>,
    held: Option<Held>,
}

impl Closing {
    pub(super) fn new(fd: &Arc<OwnedFd>, standing: &Standing, held: Held) -> Self {
        Self { apart: standing.guard().map(|reach| (Arc::clone(fd), reach)), held: Some(held) }
    }
}

impl Drop for Closing {
    /// To be dropped after its owner's descriptor.
    fn drop(&mut self) {
        let Some((fd, reach)) = self.apart.take() else { return };
        let held = self.held.take();
        let close = move || {
            drop(fd);
            drop(held);
        };
        if reach.hangs() {
            // Nobody waits for this as well.
            reach.leave_to(close);
        } else {
            // What fails here has no one to be told.
            let _ = reach.try_to(close);
        }
    }
}
