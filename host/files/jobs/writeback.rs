//! Puts on disk what a copy writes, step by step. Owns how much of it is on its way at once: a disk does what it is given in
//! order, so that whoever else flushes a few bytes waits behind all of it. What is on disk is not yet there after a power
//! failure; that is what a checkpoint flushes for.

use std::{fs::File, io, os::fd::AsRawFd as _};

use crate::files::extents::Extent;

/// The step before, which may still be on its way to the disk.
#[derive(Debug, Default)]
pub(super) struct Writeback(Option<Extent>);

impl Writeback {
    /// Sends a step that was written on its way, and waits for the one before it.
    ///
    /// # Errors
    /// What of either could not be put on disk: the kernel may tell it only once.
    pub(super) fn step(&mut self, file: &File, step: Extent) -> io::Result<()> {
        write(file, step, libc::SYNC_FILE_RANGE_WRITE)?;
        match self.0.replace(step) {
            Some(before) => write(file, before, libc::SYNC_FILE_RANGE_WAIT_BEFORE),
            None => Ok(()),
        }
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
