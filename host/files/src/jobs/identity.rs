//! How a job recognises a file that it worked on before it was interrupted, and how it keeps others
//! away from the file meanwhile.
//!
//! Device numbers are left out on purpose: loop devices and Btrfs get new ones at every mount, and
//! the file is looked up in its granted directory anyway. The time of birth takes their place.

use crate::error::{FileError, FileErrorCode};
use rustix::fs::{AtFlags, FlockOperation, Statx, StatxFlags, StatxTimestamp};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    ops::Deref,
    os::fd::{AsFd, BorrowedFd},
};

/// A point of time as file systems keep it: seconds and nanoseconds.
type Time = (i64, u32);

/// Which file it is, whatever is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileIdentity {
    inode: u64,
    /// Where the file system keeps it.
    born: Option<Time>,
}

/// Which file it is, and with which contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ContentIdentity {
    file: FileIdentity,
    size: u64,
    modified: Time,
}

impl FileIdentity {
    /// Of an open file.
    pub(super) fn of(file: &File, path: &str) -> Result<Self, FileError> {
        look(file, path).map(|seen| Self::from_seen(&seen))
    }

    fn from_seen(seen: &Statx) -> Self {
        let has_birth = seen.stx_mask & StatxFlags::BTIME.bits() != 0;
        Self { inode: seen.stx_ino, born: has_birth.then(|| time(seen.stx_btime)) }
    }
}

impl ContentIdentity {
    /// Of an open file.
    pub(super) fn of(file: &File, path: &str) -> Result<Self, FileError> {
        let seen = look(file, path)?;
        Ok(Self { file: FileIdentity::from_seen(&seen), size: seen.stx_size, modified: time(seen.stx_mtime) })
    }

    /// The length of the file in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }
}

fn time(stamp: StatxTimestamp) -> Time {
    (stamp.tv_sec, stamp.tv_nsec)
}

fn look(file: &File, path: &str) -> Result<Statx, FileError> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, wanted).map_err(|e| FileError::system(e, "look at", path))
}

/// A file that a job works on.
///
/// It is unlocked when it goes, not only closed: a program that another job begins at this moment has copies of all
/// descriptors until it runs, and the lock would live as long as they.
#[derive(Debug)]
pub(super) struct JobFile(File);

impl From<File> for JobFile {
    fn from(file: File) -> Self {
        Self(file)
    }
}

impl Deref for JobFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl AsFd for JobFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for JobFile {
    fn drop(&mut self) {
        // Closing does it in the end.
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

/// Keeps other jobs away from a file, those of another host process too. The lock of a host that is killed lives as long as
/// any copy of this descriptor, also one in a program that outlives the host.
pub(super) fn lock(file: &JobFile, how: FlockOperation, path: &str) -> Result<(), FileError> {
    rustix::fs::flock(&file.0, how).map_err(|e| match e {
        rustix::io::Errno::AGAIN => FileError::at(FileErrorCode::Busy, path, "another job works on this file"),
        other => FileError::system(other, "lock", path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCLUSIVE: FlockOperation = FlockOperation::NonBlockingLockExclusive;

    /// As a process has it that was forked and does not run its program yet.
    #[test]
    fn a_copy_of_the_descriptor_does_not_keep_the_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let first = JobFile::from(File::open(file.path()).unwrap());
        lock(&first, EXCLUSIVE, "file").unwrap();
        let _copy = first.try_clone().unwrap();
        let second = JobFile::from(File::open(file.path()).unwrap());
        assert_eq!(lock(&second, EXCLUSIVE, "file").unwrap_err().code, FileErrorCode::Busy);
        drop(first);
        lock(&second, EXCLUSIVE, "file").unwrap();
    }
}
