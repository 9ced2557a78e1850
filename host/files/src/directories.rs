//! The directories that the operator granted to a backend, and the only way to a file in them.
//!
//! Every path is opened by the kernel beneath the grant's descriptor, without links, so that no
//! check can be outrun by a rename; nothing else of this module may open by a path. A granted
//! directory is opened anew for each piece of work and let go after it: held open, a file system
//! could not be unmounted, and what is mounted in its place would not be noticed.

use super::{
    View,
    descriptors::{OpError, OpResult, OpenFiles, Patience, Root, is_local},
    error::{FileError, FileErrorCode},
    granted::Granted,
    mounts,
    path::GuestPath,
    place::{Intent, Place, open_beneath},
    reach::{Reach, Reaches},
};
use drivebay_policy::DirectoryGrant;
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags, statx},
    io::Errno,
};
use std::{
    fs::File,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// The way to a granted directory has no links: they were resolved when the configuration was read.
const PLAIN: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
/// What is tried with a granted directory.
const OPEN: &str = "open the granted directory";

/// What a grant allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading and changing.
    ReadWrite,
    /// Reading.
    ReadOnly,
}

/// One granted directory, for as long as it is granted.
#[derive(Debug)]
pub(super) struct Grant {
    /// Where it is, as the operator wrote it.
    host: PathBuf,
    guest: GuestPath,
    /// What the component calls it, as the operator wrote it.
    name: String,
    access: Access,
    /// Where it was when it was first there.
    found: Arc<OnceLock<Found>>,
    /// Whether the component can do without it.
    is_optional: AtomicBool,
    reach: Reach,
}

/// A granted directory as it was when it was first there.
#[derive(Debug)]
struct Found {
    /// Where it is, without links.
    host: PathBuf,
    /// The number of [`mounts::changes`] at which it was last seen on a file system of this machine; 0: never.
    local_at: AtomicU64,
}

impl Found {
    /// Whether it is on a file system of this machine. What was mounted there since then may be a server's.
    fn is_local(&self) -> bool {
        let seen = self.local_at.load(Ordering::Relaxed);
        seen != 0 && mounts::changes() == Some(seen)
    }

    /// Opens it, and sees what it is on. However long that takes.
    fn open(&self, flags: OFlags) -> io::Result<OwnedFd> {
        // Before: what is mounted meanwhile is looked at once more.
        let changes = mounts::changes().unwrap_or_default();
        let root = open_plain(&self.host, flags, PLAIN)?;
        if self.local_at.load(Ordering::Relaxed) != changes {
            self.local_at.store(if is_local(&root) { changes } else { 0 }, Ordering::Relaxed);
        }
        Ok(root)
    }
}

impl Grant {
    fn new(grant: &DirectoryGrant, reaches: &Reaches) -> Result<Self, FileError> {
        Ok(Self {
            host: grant.host.clone(),
            guest: GuestPath::parse(&grant.guest)?,
            name: grant.guest.clone(),
            access: if grant.write { Access::ReadWrite } else { Access::ReadOnly },
            found: Arc::default(),
            is_optional: AtomicBool::new(false),
            reach: reaches.to(&grant.host),
        })
    }

    fn is_optional(&self) -> bool {
        self.is_optional.load(Ordering::Relaxed)
    }

    /// Opens it as it is now, however long that takes; what is optional is not waited for without end.
    fn reach(&self, flags: OFlags) -> io::Result<OwnedFd> {
        let (found, host) = (Arc::clone(&self.found), self.host.clone());
        let open = move || find(&found, &host)?.open(flags);
        match self.guard() {
            Some(reach) => reach.try_to_look(open)?,
            None => open(),
        }
    }

    /// The way to it, where it may hang and the component can do without it: all work in it goes this way.
    pub(super) fn guard(&self) -> Option<Reach> {
        let may_hang = || !self.found.get().is_some_and(Found::is_local);
        (self.is_optional() && may_hang()).then(|| self.reach.clone())
    }

    /// What the component calls it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Opens it for the component's own work, as it is now. Work that may wait goes through its [`Self::guard`].
    pub(super) fn open_for_component(&self, patience: Patience) -> OpResult<OwnedFd> {
        const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);
        if patience == Patience::Any {
            let opened = find(&self.found, &self.host).and_then(|found| found.open(FLAGS));
            return opened.map_err(|error| self.absent(Errno::from_io_error(&error).unwrap_or(Errno::IO)));
        }
        let Some(found) = self.found.get().filter(|found| found.is_local()) else { return Err(OpError::Waits) };
        open_plain(&found.host, FLAGS, PLAIN | ResolveFlags::CACHED).map_err(|errno| match errno {
            // Kernels before 5.12 do not know the flag.
            Errno::AGAIN | Errno::INVAL | Errno::NOSYS => OpError::Waits,
            other => self.absent(other),
        })
    }

    /// A full table of descriptors says nothing about the directory.
    fn absent(&self, errno: Errno) -> OpError {
        match errno {
            Errno::MFILE | Errno::NFILE | Errno::NOMEM => OpError::Refused(Errno::NOMEM),
            // A component that can do without it gets an error; nothing says that its contents are gone.
            _ if self.is_optional() => OpError::Refused(Errno::IO),
            _ => OpError::Absent(self.guest.text()),
        }
    }

    /// Whether it can be used now: its server is asked, too.
    fn look(&self) -> Result<(), FileError> {
        let root = self.open()?;
        let ask = move || statx(root.root(), "", AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC, StatxFlags::INO);
        let asked = self.guard().map_or_else(|| Ok(ask()), |reach| reach.try_to_look(ask.clone()));
        let asked = asked.and_then(|asked| Ok(asked.map(drop)?));
        asked.map_err(|e| FileError::io(&e, "look at the granted directory", &self.guest.text()))
    }

    /// Opens it as it is now. A link that took the place of a directory on the way leads nowhere:
    /// with nested grants the component could have put it there.
    fn open(&self) -> Result<Arc<Granted>, FileError> {
        let root = self.reach(OFlags::PATH).map_err(|e| FileError::io(&e, OPEN, &self.guest.text()))?;
        Ok(Arc::new(Granted::new(self.guest.clone(), root)))
    }
}

/// Does work on a path, apart and with an end to the waiting where that is asked for.
pub(super) fn in_time<T: Send + 'static>(
    guard: Option<Reach>,
    path: &str,
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, FileError> {
    match guard {
        None => work(),
        Some(reach) => reach.try_to(work).unwrap_or_else(|error| Err(FileError::io(&error, "reach it", path))),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the outcome of a directory that is left out")]
fn left_out(error: &FileError) -> Result<(), FileError> {
    tracing::debug!(%error, "a directory that is not needed is left out");
    Ok(())
}

/// Where a granted directory is. Links on the way are the operator's, and followed when it is first there.
fn find<'a>(found: &'a OnceLock<Found>, host: &Path) -> io::Result<&'a Found> {
    if let Some(found) = found.get() {
        return Ok(found);
    }
    let host = host.canonicalize()?;
    drop(open_plain(&host, OFlags::PATH, PLAIN)?);
    Ok(found.get_or_init(|| Found { host, local_at: AtomicU64::new(0) }))
}

fn open_plain(host: &Path, flags: OFlags, resolve: ResolveFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, host, flags, Mode::empty(), resolve)
}

/// A path with the grant that it falls under.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) grant: Arc<Granted>,
    /// The names below the granted directory; empty: the directory itself.
    pub(super) names: Vec<String>,
    /// The plain form of the path, for messages.
    pub(super) guest: String,
    trailing_slash: bool,
}

impl Resolved {
    /// The path as a directory, open.
    pub(super) fn open_directory(&self) -> Result<OwnedFd, FileError> {
        self.open_names(&self.names).map_err(|e| FileError::opening(e, &self.guest))
    }

    /// The path if it is a directory, otherwise the directory of the file that it names.
    pub(super) fn open_nearest(&self) -> Result<OwnedFd, FileError> {
        let parents = self.names.split_last().map(|(_, parents)| parents);
        match (self.open_names(&self.names), parents) {
            (Err(Errno::NOTDIR), Some(parents)) if !self.trailing_slash => {
                self.open_names(parents).map_err(|e| FileError::opening(e, &self.guest))
            }
            (other, _) => other.map_err(|e| FileError::opening(e, &self.guest)),
        }
    }

    fn open_names(&self, names: &[String]) -> rustix::io::Result<OwnedFd> {
        let below = if names.is_empty() { ".".to_owned() } else { names.join("/") };
        open_beneath(self.grant.root(), &below, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
    }
}

/// The grants of one backend.
#[derive(Debug, Default)]
pub struct Directories {
    /// Longest guest path first, so that the first match is the nearest.
    grants: Vec<Arc<Grant>>,
}

impl Directories {
    /// Every granted directory must be there now. Two grants under one guest path are `Invalid`.
    pub fn new(grants: &[DirectoryGrant]) -> Result<Self, FileError> {
        let directories = Self::granted(grants, &Reaches::default())?;
        directories.can_do_without(&[])?;
        Ok(directories)
    }

    /// As `new`, whatever is there: who needs what is said later. `reaches` is the backend's.
    pub fn granted(grants: &[DirectoryGrant], reaches: &Reaches) -> Result<Self, FileError> {
        let mut known: Vec<Arc<Grant>> = Vec::with_capacity(grants.len());
        for grant in grants {
            let grant = Grant::new(grant, reaches)?;
            if known.iter().any(|other| other.guest.names == grant.guest.names) {
                return Err(FileError::at(FileErrorCode::Invalid, &grant.guest.text(), "granted twice"));
            }
            known.push(Arc::new(grant));
        }
        known.sort_by_key(|grant| std::cmp::Reverse(grant.guest.names.len()));
        Ok(Self { grants: known })
    }

    /// Says which of them, by their guest paths, the component can do without. All others must be there now.
    pub fn can_do_without(&self, optional: &[String]) -> Result<(), FileError> {
        for grant in &self.grants {
            let is_optional = optional.contains(&grant.name);
            grant.is_optional.store(is_optional, Ordering::Relaxed);
            if !is_optional {
                grant.open()?;
            }
        }
        Ok(())
    }

    /// The guest paths of those that cannot be opened now, each with the reason.
    pub fn absent(&self) -> Vec<(String, FileError)> {
        let absent = |grant: &Arc<Grant>| Some((grant.name.clone(), grant.look().err()?));
        self.grants.iter().filter_map(absent).collect()
    }

    /// Opens a regular file. Writing and making need a writable grant.
    pub fn open(&self, path: &str, intent: Intent) -> Result<File, FileError> {
        let access = match intent {
            Intent::Read => Access::ReadOnly,
            Intent::Write | Intent::Create => Access::ReadWrite,
        };
        self.place(path, access)?.open(intent)
    }

    /// Refuses when there is no grant at all.
    pub(super) fn check_granted(&self) -> Result<(), FileError> {
        if self.grants.is_empty() {
            return Err(FileError::new(FileErrorCode::NotGranted, "no directory is granted to this backend"));
        }
        Ok(())
    }

    /// The nearest grant that `path` falls under, if it allows `access`.
    pub(super) fn resolve(&self, path: &str, access: Access) -> Result<Resolved, FileError> {
        self.check_granted()?;
        let parsed = GuestPath::parse(path)?;
        let Some((grant, names)) = self.nearest(&parsed) else {
            return Err(FileError::at(FileErrorCode::NotAllowed, path, "lies in no granted directory"));
        };
        if access == Access::ReadWrite && grant.access == Access::ReadOnly {
            return Err(FileError::at(FileErrorCode::NotAllowed, path, "the directory is granted for reading only"));
        }
        Ok(Resolved {
            grant: grant.open()?,
            names: names.to_vec(),
            guest: parsed.text(),
            trailing_slash: parsed.trailing_slash,
        })
    }

    /// The directory and the name of a file, which need not exist.
    pub(super) fn place(&self, path: &str, access: Access) -> Result<Place, FileError> {
        let resolved = self.resolve(path, access)?;
        if resolved.trailing_slash || resolved.names.is_empty() {
            return Err(FileError::at(FileErrorCode::Invalid, path, "names a directory, not a file"));
        }
        Place::new(&resolved.grant, &resolved.names)
    }

    /// Does this in each granted directory that may be changed. One that cannot be reached, and that the component can
    /// do without, is left out.
    pub(super) fn in_each_writable(
        &self,
        work: impl Fn(&Arc<Granted>) -> Result<(), FileError> + Clone + Send + 'static,
    ) -> Result<(), FileError> {
        let mut writable = self.grants.iter().filter(|grant| grant.access == Access::ReadWrite);
        writable.try_for_each(|grant| {
            let (own, work) = (Arc::clone(grant), work.clone());
            match in_time(grant.guard(), &grant.name, move || Ok(own.open().map(|open| work(&open)))) {
                // A stale handle shows in the work only. What is said for other reasons (busy, no space) is no matter of reach.
                Ok(Ok(Err(error))) if grant.is_optional() && error.code == FileErrorCode::Failed => left_out(&error),
                Ok(Err(error)) | Err(error) if grant.is_optional() => left_out(&error),
                Ok(Ok(done)) => done,
                Ok(Err(error)) | Err(error) => Err(error),
            }
        })
    }

    /// The way to those of these paths that lie in a directory which may hang and is not needed.
    pub(super) fn guard(&self, paths: &[&str]) -> Option<Reach> {
        Reach::to_all(paths.iter().map(|path| self.nearest(&GuestPath::parse(path).ok()?)?.0.guard()))
    }

    /// The nearest grant, and the names below it.
    fn nearest<'a>(&'a self, path: &'a GuestPath) -> Option<(&'a Arc<Grant>, &'a [String])> {
        self.grants.iter().find_map(|grant| Some((grant, path.beneath(&grant.guest)?)))
    }

    /// The granted directories as a component begins with them, none of them opened.
    pub(super) fn roots(&self, view: View, open_files: &OpenFiles) -> Vec<Root> {
        let root = |grant: &Arc<Grant>| {
            let may_change = grant.access == Access::ReadWrite && view == View::Full;
            Root::new(Arc::clone(grant), may_change, open_files.clone())
        };
        self.grants.iter().map(root).collect()
    }
}

#[cfg(test)]
mod tests;
