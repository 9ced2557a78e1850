//! How much a file system holds, and whether files on it can share blocks.
//!
//! Owns the probe for sharing: it is tried with a file that never has a name, because no name or
//! version of a file system tells it (XFS and network shares decide when they are made).

use super::{
    directories::{Access, Directories},
    error::FileError,
    place::{open_beneath, stat},
};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};
use std::{
    collections::HashMap,
    fs::File,
    os::{fd::OwnedFd, unix::fs::FileExt},
    sync::{Mutex, PoisonError},
};

/// What the probe writes and shares: one block, so that it is not kept inside the inode.
const PROBE: [u8; 4096] = [0x5a; 4096];

/// What a file system can do and hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// All that it holds, in bytes.
    pub total_bytes: u64,
    /// What an unprivileged writer may still use, in bytes.
    pub available_bytes: u64,
    /// Whether files can share blocks. Never where the grant is for reading only.
    pub reflink: bool,
}

/// The answers of the probe, by device and file system: they never change while one is mounted, and
/// a device may hold another one the next time.
#[derive(Debug, Default)]
pub(super) struct Probes(Mutex<HashMap<(u64, u64), bool>>);

impl Probes {
    /// Space and abilities of what holds `path`, a file or a directory.
    pub(super) fn space(&self, directories: &Directories, path: &str) -> Result<Space, FileError> {
        let resolved = directories.resolve(path, Access::ReadOnly)?;
        let directory = resolved.open_nearest()?;
        let space = rustix::fs::fstatvfs(&directory).map_err(|e| FileError::system(e, "ask for the space of", path))?;
        let writable = directories.resolve(path, Access::ReadWrite).is_ok();
        Ok(Space {
            total_bytes: space.f_blocks.saturating_mul(space.f_frsize),
            available_bytes: space.f_bavail.saturating_mul(space.f_frsize),
            reflink: writable && self.reflink(&directory, space.f_fsid, path)?,
        })
    }

    fn reflink(&self, directory: &OwnedFd, file_system: u64, path: &str) -> Result<bool, FileError> {
        let key = (stat(directory, path)?.st_dev, file_system);
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(*known);
        }
        match probe(directory) {
            Ok(()) => Ok(self.remember(key, true)),
            Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL | Errno::NOSYS | Errno::XDEV | Errno::ISDIR) => {
                Ok(self.remember(key, false))
            }
            // A full disk, for example, says nothing of tomorrow.
            Err(_) => Ok(false),
        }
    }

    fn remember(&self, key: (u64, u64), answer: bool) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, answer);
        answer
    }
}

fn probe(directory: &OwnedFd) -> rustix::io::Result<()> {
    let make = || open_beneath(directory, ".", OFlags::RDWR | OFlags::TMPFILE, Mode::RUSR | Mode::WUSR).map(File::from);
    let (source, target) = (make()?, make()?);
    source.write_all_at(&PROBE, 0).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
    rustix::fs::ioctl_ficlone(&target, &source)
}
