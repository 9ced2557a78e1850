//! An open regular file.

use super::{
    Errno, NewTime, OpError, OpResult, Patience, Stat,
    held::Held,
    standing::{Closing, Standing, sync, times},
};
use crate::reach::Reach;
use rustix::{
    fs::Advice,
    io::{ReadWriteFlags, retry_on_intr},
};
use std::{
    io::{IoSlice, IoSliceMut},
    num::NonZeroU64,
    os::fd::OwnedFd,
    sync::Arc,
};

/// What a file or directory was opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    /// Reading.
    pub reads: bool,
    /// Writing.
    pub writes: bool,
}

/// An open regular file.
#[derive(Debug)]
pub struct File {
    fd: Arc<OwnedFd>,
    _closing: Closing,
    /// What it was opened for.
    pub modes: Modes,
    standing: Standing,
}

impl File {
    pub(super) fn new(fd: OwnedFd, modes: Modes, standing: Standing, held: Held) -> Self {
        let fd = Arc::new(fd);
        Self { _closing: Closing::new(&fd, &standing, held), fd, modes, standing }
    }

    /// The way that work goes which may wait, where this may hang and is not needed.
    pub fn guard(&self) -> Option<Reach> {
        self.standing.guard()
    }

    /// `EPERM` where nothing may be changed.
    pub fn check_change(&self) -> OpResult<()> {
        self.standing.check_change()
    }

    /// Reads at `offset` into `buffer`; gives the number of bytes, 0 at the end. Fewer than there are may be read.
    pub fn read(&self, buffer: &mut [u8], offset: u64, patience: Patience) -> OpResult<usize> {
        // The largest one means "where the last one ended" to the system.
        if i64::try_from(offset).is_err() {
            return Err(Errno::INVAL.into());
        }
        let mut into = [IoSliceMut::new(buffer)];
        if patience == Patience::Any {
            return Ok(retry_on_intr(|| rustix::io::preadv(&self.fd, &mut into, offset))?);
        }
        self.standing.check_wait(patience)?;
        rustix::io::preadv2(&self.fd, &mut into, offset, ReadWriteFlags::NOWAIT).map_err(|errno| match errno {
            Errno::AGAIN | Errno::INTR | Errno::OPNOTSUPP | Errno::NOSYS => OpError::Waits,
            other => OpError::Refused(other),
        })
    }

    /// Writes at `offset`; gives the number of bytes, which may be fewer than there are.
    pub fn write(&self, bytes: &[u8], offset: u64) -> OpResult<usize> {
        self.check_change()?;
        Ok(retry_on_intr(|| rustix::io::pwrite(&self.fd, bytes, offset))?)
    }

    /// Writes at the end; gives the number of bytes, which may be fewer than there are.
    pub fn append(&self, bytes: &[u8]) -> OpResult<usize> {
        self.check_change()?;
        let from = [IoSlice::new(bytes)];
        Ok(retry_on_intr(|| rustix::io::pwritev2(&self.fd, &from, 0, ReadWriteFlags::APPEND))?)
    }

    /// Makes it this long.
    pub fn set_size(&self, size: u64) -> OpResult<()> {
        self.check_change()?;
        Ok(retry_on_intr(|| rustix::fs::ftruncate(&self.fd, size))?)
    }

    /// Says how it will be used; 0 bytes: to its end.
    pub fn advise(&self, offset: u64, length: u64, advice: Advice) -> OpResult<()> {
        Ok(rustix::fs::fadvise(&self.fd, offset, NonZeroU64::new(length), advice)?)
    }

    /// Writes its contents to the disk, and what is known of it unless only the contents are wanted.
    pub fn sync(&self, contents_only: bool) -> OpResult<()> {
        Ok(sync(&self.fd, contents_only)?)
    }

    /// What is known of it.
    pub fn stat(&self, patience: Patience) -> OpResult<Stat> {
        self.standing.check_wait(patience)?;
        Ok(rustix::fs::fstat(&self.fd)?.into())
    }

    /// Sets its times.
    pub fn set_times(&self, accessed: NewTime, modified: NewTime) -> OpResult<()> {
        self.check_change()?;
        Ok(rustix::fs::futimens(&self.fd, &times(accessed, modified))?)
    }
}
