//! What files and directories of one grant have in common, and what is done to both alike.

use super::{Done, Errno, NewTime, Patience, Trouble};
use rustix::{
    fs::Timestamps,
    io::{Result, retry_on_intr},
};
use std::os::fd::OwnedFd;

/// What may be done with a file or directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// Whether its grant and the generation's view allow changes.
    pub(super) may_change: bool,
    /// Whether the kernel can tell what it has in memory: it is on a file system of this machine.
    pub(super) local: bool,
}

impl Standing {
    /// `EPERM` where nothing may be changed.
    pub(super) fn check_change(self) -> Done<()> {
        if self.may_change { Ok(()) } else { Err(Errno::PERM.into()) }
    }

    /// Whether this much patience is enough.
    pub(super) fn check_wait(self, patience: Patience) -> Done<()> {
        if self.local || patience == Patience::Any { Ok(()) } else { Err(Trouble::Waits) }
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
