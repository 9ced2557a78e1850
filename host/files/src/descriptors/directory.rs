//! An open directory, and what is done by names in it.

use super::{
    Entries, Errno, File, Modes, NewTime, OpError, OpResult, OpenFiles, Patience, Stat,
    beneath::{self, ends_with_slash, parent, without_slashes},
    held::Held,
    local::is_local,
    standing::{Standing, sync, times},
};
use crate::{directories::Grant, reach::Reach};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use std::{
    ffi::OsStr,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

/// How a file or directory is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the interface")]
pub struct Opening {
    /// A link that the path ends with is followed.
    pub follow: bool,
    /// Made if it is not there.
    pub create: bool,
    /// Made by this call, or not at all.
    pub exclusive: bool,
    /// Emptied.
    pub truncate: bool,
    /// It must be a directory.
    pub directory: bool,
    /// For reading.
    pub read: bool,
    /// For writing.
    pub write: bool,
}

/// What was opened.
#[derive(Debug)]
pub enum Opened {
    /// A regular file.
    File(File),
    /// A directory.
    Directory(Directory),
}

/// An open directory.
#[derive(Debug)]
pub struct Directory {
    fd: OwnedFd,
    /// What it was opened for.
    pub modes: Modes,
    standing: Standing,
    open_files: OpenFiles,
    _held: Held,
}

impl Opening {
    /// What is opened for neither is opened for reading.
    const fn reads(self) -> bool {
        self.read || !self.write
    }

    const fn writes(self) -> bool {
        self.write || self.create || self.truncate
    }

    /// The flags of the system.
    fn flags(self) -> OpResult<OFlags> {
        if self.directory && (self.create || self.exclusive || self.truncate) {
            return Err(Errno::INVAL.into());
        }
        let mut flags = match (self.reads(), self.writes()) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            _ => OFlags::RDONLY,
        };
        flags.set(OFlags::NOFOLLOW, !self.follow);
        flags.set(OFlags::CREATE, self.create);
        flags.set(OFlags::EXCL, self.create && self.exclusive);
        flags.set(OFlags::TRUNC, self.truncate && !(self.create && self.exclusive));
        Ok(flags)
    }
}

impl Directory {
    /// A granted directory as it is now.
    pub(super) fn granted(
        grant: &Grant,
        may_change: bool,
        open_files: &OpenFiles,
        patience: Patience,
    ) -> OpResult<Self> {
        let held = open_files.take()?;
        let fd = grant.open_for_component(patience)?;
        let standing = Standing { may_change, local: is_local(&fd), reach: grant.guard() };
        let modes = Modes { reads: true, writes: may_change };
        Ok(Self { fd, modes, standing, open_files: open_files.clone(), _held: held })
    }

    /// The way that work goes which may wait, where this may hang and is not needed.
    pub fn guard(&self) -> Option<Reach> {
        self.standing.guard()
    }

    /// Opens a regular file or a directory. Anything else is `ENOTSUP`.
    pub fn open(&self, path: &str, how: Opening, patience: Patience) -> OpResult<Opened> {
        let flags = how.flags()?;
        if how.writes() {
            self.standing.check_change()?;
        }
        self.standing.check_wait(patience)?;
        let held = self.open_files.take()?;
        let mode = if how.create { Mode::from_raw_mode(0o666) } else { Mode::empty() };
        let fd = beneath::open(&self.fd, Path::new(path), flags, mode, patience).map_err(|trouble| match trouble {
            // A FIFO that nobody reads, a socket.
            OpError::Refused(Errno::NXIO) => OpError::Refused(Errno::NOTSUP),
            other => other,
        })?;
        let modes = Modes { reads: how.reads(), writes: how.writes() };
        // Without waiting no mount was crossed.
        let local = self.standing.local && (patience == Patience::Cached || is_local(&fd));
        let standing = Standing { local, ..self.standing.clone() };
        match FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) {
            FileType::Directory => {
                let open_files = self.open_files.clone();
                Ok(Opened::Directory(Self { fd, modes, standing, open_files, _held: held }))
            }
            _ if how.directory => Err(Errno::NOTDIR.into()),
            FileType::RegularFile => Ok(Opened::File(File::new(fd, modes, standing, held))),
            _ => Err(Errno::NOTSUP.into()),
        }
    }

    /// Its entries, from the first one on.
    pub fn entries(&self) -> OpResult<Entries> {
        let held = self.open_files.take()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let fd = beneath::open(&self.fd, Path::new("."), flags, Mode::empty(), Patience::Any)?;
        Ok(Entries::new(fd, held))
    }

    /// What is known of it.
    pub fn stat(&self, patience: Patience) -> OpResult<Stat> {
        self.standing.check_wait(patience)?;
        Ok(rustix::fs::fstat(&self.fd)?.into())
    }

    /// What is known of a path.
    pub fn stat_at(&self, path: &str, follow: bool, patience: Patience) -> OpResult<Stat> {
        self.standing.check_wait(patience)?;
        let fd = self.open_path(path, follow, patience)?;
        Ok(rustix::fs::fstat(&fd)?.into())
    }

    fn open_path(&self, path: &str, follow: bool, patience: Patience) -> OpResult<OwnedFd> {
        let flags = if follow { OFlags::PATH } else { OFlags::PATH | OFlags::NOFOLLOW };
        let path = if follow { Path::new(path) } else { beneath::plain(path) };
        beneath::open(&self.fd, path, flags, Mode::empty(), patience)
    }

    /// Writes its entries to the disk.
    pub fn sync(&self, contents_only: bool) -> OpResult<()> {
        Ok(sync(&self.fd, contents_only)?)
    }

    /// Sets its times.
    pub fn set_times(&self, accessed: NewTime, modified: NewTime) -> OpResult<()> {
        self.standing.check_change()?;
        Ok(rustix::fs::futimens(&self.fd, &times(accessed, modified))?)
    }

    /// Sets the times of a path.
    pub fn set_times_at(&self, path: &str, follow: bool, accessed: NewTime, modified: NewTime) -> OpResult<()> {
        self.standing.check_change()?;
        let times = times(accessed, modified);
        if !follow {
            let (directory, name) = parent(self.fd.as_fd(), Path::new(path))?;
            return Ok(rustix::fs::utimensat(directory, name, &times, AtFlags::SYMLINK_NOFOLLOW)?);
        }
        let fd = self.open_path(path, true, Patience::Any)?;
        Ok(rustix::fs::utimensat(fd, "", &times, AtFlags::EMPTY_PATH)?)
    }

    /// Makes a directory.
    pub fn create_directory(&self, path: &str) -> OpResult<()> {
        self.standing.check_change()?;
        let (directory, name) = parent(self.fd.as_fd(), without_slashes(path))?;
        Ok(rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(0o777))?)
    }

    /// Removes an empty directory.
    pub fn remove_directory(&self, path: &str) -> OpResult<()> {
        self.standing.check_change()?;
        let (directory, name) = parent(self.fd.as_fd(), Path::new(path))?;
        Ok(rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)?)
    }

    /// Removes a name that is not a directory's.
    pub fn unlink(&self, path: &str) -> OpResult<()> {
        self.standing.check_change()?;
        let (directory, name) = parent(self.fd.as_fd(), Path::new(path))?;
        Ok(rustix::fs::unlinkat(directory, name, AtFlags::empty())?)
    }

    /// Gives `from` the name `path` in `target`, replacing what has it.
    pub fn rename(&self, from: &str, target: &Self, path: &str) -> OpResult<()> {
        self.standing.check_change()?;
        target.standing.check_change()?;
        let must_be_directory = ends_with_slash(Path::new(from)) || ends_with_slash(Path::new(path));
        let (old, name) = parent(self.fd.as_fd(), without_slashes(from))?;
        let (new, new_name) = parent(target.fd.as_fd(), without_slashes(path))?;
        if !must_be_directory {
            return Ok(rustix::fs::renameat(old, name, new, new_name)?);
        }
        // With a slash the kernel itself sees that it is one.
        let mut name = name.to_owned();
        name.push(OsStr::new("/"));
        Ok(rustix::fs::renameat(old, name, new, new_name)?)
    }

    /// Gives the file `from` one more name, `path` in `target`. A link is never followed, and to wish it is `EINVAL`.
    pub fn link(&self, from: &str, follow: bool, target: &Self, path: &str) -> OpResult<()> {
        self.standing.check_change()?;
        target.standing.check_change()?;
        if follow {
            return Err(Errno::INVAL.into());
        }
        let (old, name) = parent(self.fd.as_fd(), Path::new(from))?;
        let (new, new_name) = parent(target.fd.as_fd(), Path::new(path))?;
        Ok(rustix::fs::linkat(old, name, new, new_name, AtFlags::empty())?)
    }

    /// Makes a symbolic link to `text`, which must not be absolute.
    pub fn symlink(&self, text: &str, path: &str) -> OpResult<()> {
        self.standing.check_change()?;
        if text.starts_with('/') {
            return Err(Errno::PERM.into());
        }
        let (directory, name) = parent(self.fd.as_fd(), Path::new(path))?;
        Ok(rustix::fs::symlinkat(text, directory, name)?)
    }

    /// What a symbolic link says. An absolute one is not told; one that is not UTF-8 is `EILSEQ`.
    pub fn read_link(&self, path: &str) -> OpResult<String> {
        let (directory, name) = parent(self.fd.as_fd(), Path::new(path))?;
        let text = rustix::fs::readlinkat(directory, name, Vec::new())?;
        if text.as_bytes().starts_with(b"/") {
            return Err(Errno::PERM.into());
        }
        text.into_string().map_err(|_| Errno::ILSEQ.into())
    }
}
