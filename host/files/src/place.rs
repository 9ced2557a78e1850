//! A file's place: its directory, open, and its name in it.
//!
//! Owns every opening by name. Working beside a file (temporary names, renaming, syncing the
//! directory) stays right when the directory is moved meanwhile, because no path is walked twice.

use super::{
    error::{FileError, FileErrorCode},
    granted::Granted,
    path::RESERVED,
};
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat},
    io::Errno,
};
use std::{
    fs::File,
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
};

/// Opens a path strictly beneath `directory`, through no link of any kind.
pub(super) fn open_beneath(directory: impl AsFd, path: &str, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(directory, path, flags | OFlags::CLOEXEC | OFlags::NOCTTY, mode, resolve)
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// Reading.
    Read,
    /// Reading and writing what is there.
    Write,
    /// Making it; it must not exist.
    Create,
}

/// A name in an open directory.
#[derive(Debug)]
pub(super) struct Place {
    directory: OwnedFd,
    name: String,
    guest: String,
    below: String,
    grant: Arc<Granted>,
}

impl Place {
    /// Opens the directory of the file that `names` lead to beneath a granted directory. Names that
    /// begin as the host's own are refused, so that a component cannot work on a file that a job of
    /// the host is writing.
    pub(super) fn new(grant: &Arc<Granted>, names: &[String]) -> Result<Self, FileError> {
        let place = Self::reserved(grant, names)?;
        if place.name.starts_with(RESERVED) {
            return Err(FileError::at(
                FileErrorCode::NotAllowed,
                &place.guest,
                "names of this form are the host's own",
            ));
        }
        Ok(place)
    }

    /// As [`Self::new`], for the host's own names too.
    pub(super) fn reserved(grant: &Arc<Granted>, names: &[String]) -> Result<Self, FileError> {
        let below = names.join("/");
        let guest = grant.name(&below);
        let Some((name, parents)) = names.split_last() else {
            return Err(FileError::at(FileErrorCode::Invalid, &guest, "names a directory, not a file"));
        };
        let parent = if parents.is_empty() { ".".to_owned() } else { parents.join("/") };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let directory =
            open_beneath(grant.root(), &parent, flags, Mode::empty()).map_err(|e| FileError::opening(e, &guest))?;
        Ok(Self { directory, name: name.clone(), guest, below, grant: Arc::clone(grant) })
    }

    /// The same directory, another name.
    pub(super) fn beside(&self, name: &str) -> Result<Self, FileError> {
        let directory = self.directory.try_clone().map_err(|e| FileError::io(&e, "open the directory", &self.guest))?;
        let below = match self.below.rsplit_once('/') {
            Some((parent, _)) => format!("{parent}/{name}"),
            None => name.to_owned(),
        };
        let guest = self.grant.name(&below);
        Ok(Self { directory, name: name.to_owned(), guest, below, grant: Arc::clone(&self.grant) })
    }

    /// Its name in its directory.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What the component calls it.
    pub(super) fn guest(&self) -> &str {
        &self.guest
    }

    /// Its names beneath the granted directory, joined by `/`.
    pub(super) fn below(&self) -> &str {
        &self.below
    }

    /// The grant that it falls under.
    pub(super) fn grant(&self) -> &Arc<Granted> {
        &self.grant
    }

    /// Its directory.
    pub(super) fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    /// Opens it; what is not a regular file is `Invalid`.
    pub(super) fn open(&self, intent: Intent) -> Result<File, FileError> {
        let (flags, mode) = match intent {
            Intent::Read => (OFlags::RDONLY, Mode::empty()),
            Intent::Write => (OFlags::RDWR, Mode::empty()),
            Intent::Create => (OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, Mode::RUSR | Mode::WUSR),
        };
        // Without NONBLOCK, opening a FIFO would wait for its other end.
        let opened = open_beneath(&self.directory, &self.name, flags | OFlags::NONBLOCK, mode)
            .map_err(|e| FileError::opening(e, &self.guest))?;
        let file = File::from(opened);
        let stat = stat(&file, &self.guest)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(FileError::at(FileErrorCode::Invalid, &self.guest, "is not a regular file"));
        }
        Ok(file)
    }

    /// Whether there is anything by this name.
    pub(super) fn exists(&self) -> Result<bool, FileError> {
        match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(e) => Err(FileError::system(e, "look at", &self.guest)),
        }
    }

    /// Removes the name; success if there is none.
    pub(super) fn remove(&self) -> Result<(), FileError> {
        match rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(FileError::system(e, "remove", &self.guest)),
        }
    }

    /// Gives a file that has no name yet this one; `AlreadyExists` if it is taken.
    pub(super) fn link(&self, unnamed: &File) -> Result<(), FileError> {
        let by_descriptor = rustix::fs::linkat(unnamed, "", &self.directory, &self.name, AtFlags::EMPTY_PATH);
        let linked = match by_descriptor {
            // Kernels before 6.10 want a capability for this way and none for the other.
            Err(Errno::NOENT | Errno::PERM) => {
                let name = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(unnamed));
                rustix::fs::linkat(rustix::fs::CWD, name, &self.directory, &self.name, AtFlags::SYMLINK_FOLLOW)
            }
            other => other,
        };
        linked.map_err(|e| FileError::system(e, "name the new file", &self.guest))?;
        self.sync_directory()
    }

    /// Renames this file to `target`, which must not exist, and writes that to disk.
    pub(super) fn rename_to(&self, target: &Self) -> Result<(), FileError> {
        let from = (&self.directory, self.name.as_str());
        let to = (&target.directory, target.name.as_str());
        let mut renamed = rustix::fs::renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE);
        if matches!(renamed, Err(Errno::INVAL | Errno::NOSYS)) {
            // Network file systems do not know the flag; the calls on this file hold its locks.
            if target.exists()? {
                return Err(FileError::system(Errno::EXIST, "name the new file", &target.guest));
            }
            renamed = rustix::fs::renameat(from.0, from.1, to.0, to.1);
        }
        renamed.map_err(|e| FileError::system(e, "name the new file", &target.guest))?;
        target.sync_directory()
    }

    /// Renames this file over `target`, whatever that is. It waits for no disk.
    pub(super) fn replace(&self, target: &Self) -> Result<(), FileError> {
        rustix::fs::renameat(&self.directory, &self.name, &target.directory, &target.name)
            .map_err(|e| FileError::system(e, "rename", &target.guest))
    }

    /// Writes the directory to disk.
    pub(super) fn sync_directory(&self) -> Result<(), FileError> {
        rustix::fs::fsync(&self.directory).map_err(|e| FileError::system(e, "sync the directory of", &self.guest))
    }
}

/// What the system says of an open file.
pub(super) fn stat(file: impl AsFd, path: &str) -> Result<Stat, FileError> {
    rustix::fs::fstat(file).map_err(|e| FileError::system(e, "look at", path))
}

/// The length of an open file in bytes.
pub(super) fn size_of(file: impl AsFd, path: &str) -> Result<u64, FileError> {
    stat(file, path).map(|stat| u64::try_from(stat.st_size).unwrap_or_default())
}
