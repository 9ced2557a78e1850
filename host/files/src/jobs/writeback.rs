//! Puts on disk what a copy writes through the page cache, step by step. Owns how much of it is on its way at once: a disk does what it is given in
//! order, so a small flush by another writer waits behind all of it. What is on disk is not yet there after a power
//! failure; that is what a checkpoint flushes for.

use std::{collections::VecDeque, fs::File, io, os::fd::AsRawFd as _};

use crate::extents::Extent;

/// So much may be on its way while the next step is read.
const MOST: u64 = 1024 * 1024;

/// What may still be on its way to the disk.
#[derive(Debug, Default)]
pub(super) struct Writeback {
    begun: VecDeque<Extent>,
    bytes: u64,
}

impl Writeback {
    /// Sends a step that was written on its way, and waits for those before it, as far as they are too much.
    ///
    /// # Errors
    /// What of either could not be put on disk: the kernel may tell it only once.
    pub(super) fn step(&mut self, file: &File, step: Extent) -> io::Result<()> {
        write(file, step, libc::SYNC_FILE_RANGE_WRITE)?;
        self.begun.push_back(step);
        self.bytes += step.length;
        while self.bytes > MOST
            && self.begun.len() > 1
            && let Some(before) = self.begun.pop_front()
        {
            self.bytes -= before.length;
            write(file, before, libc::SYNC_FILE_RANGE_WAIT_BEFORE)?;
        }
        Ok(())
    }
}

#[cfg(test)]
impl Writeback {
    /// So much may be on its way.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Success where the file system does not do it: then a checkpoint has more to wait for.
#[allow(unsafe_code, reason = "no crate that we have wraps sync_file_range")]
fn write(file: &File, range: Extent, flags: libc::c_uint) -> io::Result<()> {
    let bounds = (i64::try_from(range.offset), i64::try_from(range.length));
    let (Ok(offset), Ok(length)) = bounds else { return Ok(()) };
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and no memory is handed over.
    let done = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) };
    if done == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    let is_lost = matches!(error.raw_os_error(), Some(libc::EIO | libc::ENOSPC | libc::EDQUOT));
    if is_lost { Err(error) } else { Ok(()) }
}
