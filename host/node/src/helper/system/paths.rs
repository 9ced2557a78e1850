//! Host paths: which ones a call may name, and how the last component is opened.
//!
//! A place lies below one of the operator's roots. A root may be reached by the operator's links (a kubelet
//! directory often is one); nothing below it is, or a pod could point a mount elsewhere. It must not mount
//! anything.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, StatxFlags};
use rustix::io::Errno;

use super::super::ledger::FileId;
use super::targets::Targets;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Caller, PathRole};

/// The kernel's limit for a path, in bytes.
const LONGEST_PATH: usize = 4096;
/// Not together with `O_NOFOLLOW`, which would open a last component that is a link, as a link.
const PLAIN: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
const NO_LINKS: ResolveFlags = ResolveFlags::BENEATH.union(PLAIN);

/// What a mount is attached to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Directory,
    File,
}

impl Shape {
    /// None for devices, pipes and the like.
    pub(crate) fn of(stat: &Stat) -> Option<Self> {
        Self::of_mode(stat.st_mode)
    }

    fn of_mode(mode: u32) -> Option<Self> {
        let kind = FileType::from_raw_mode(mode);
        if kind == FileType::Directory {
            return Some(Self::Directory);
        }
        (kind == FileType::RegularFile).then_some(Self::File)
    }
}

/// A host path below a root, whose parent exists and is held open.
#[derive(Debug)]
pub(crate) struct Place {
    parent: OwnedFd,
    name: String,
    /// The path with the root's links resolved, as the mount table shows it.
    pub(crate) real: String,
    pub(crate) role: PathRole,
}

/// The role of a path in the call under way; `not-allowed` when the call does not carry it.
pub(crate) fn admit(caller: &Caller, path: &str) -> Result<PathRole, NodeError> {
    check_form(path)?;
    let found = caller.paths.iter().find(|admitted| admitted.path == path);
    found.map(|admitted| admitted.role).ok_or_else(|| {
        let message = format!("{path} is not a path of the call under way");
        NodeError::new(ErrorCode::NotAllowed, message)
    })
}

/// Absolute, normalised, not the root, within the kernel's limit.
fn check_form(path: &str) -> Result<(), NodeError> {
    let normal = path.strip_prefix('/').is_some_and(is_normal);
    if normal && path.len() <= LONGEST_PATH {
        return Ok(());
    }
    let message = "a host path must be absolute, without `.`, `..` or empty parts, and at most 4096 bytes long";
    Err(NodeError::new(ErrorCode::NotAllowed, message))
}

/// Whether a relative path says plainly where it leads.
pub(crate) fn is_normal(relative: &str) -> bool {
    relative.split('/').all(|part| !matches!(part, "" | "." | "..")) && !relative.contains('\0')
}

impl Place {
    /// Opens the parent. None: there is no parent, so nothing can be there. `not-allowed`: it lies below no root.
    pub(crate) fn open(targets: &Targets, path: &str, role: PathRole) -> Result<Option<Self>, NodeError> {
        check_form(path)?;
        let (root, rest) = targets.locate(path).ok_or_else(|| targets.outside(path))?;
        let Some(root) = open_root(root)? else { return Ok(None) };
        let (parent, name) = match rest.rsplit_once('/') {
            None => (root, rest),
            Some((parents, name)) => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                match rustix::fs::openat2(&root, parents, flags, Mode::empty(), NO_LINKS) {
                    Ok(parent) => (parent, name),
                    Err(Errno::NOENT) => return Ok(None),
                    Err(errno) => return Err(opening(path, errno)),
                }
            }
        };
        let real = real_path(&parent)?;
        let real = format!("{}/{name}", real.trim_end_matches('/'));
        Ok(Some(Self { parent, name: name.to_owned(), real, role }))
    }

    /// What is at the place, links refused. Holding it keeps a mount there busy.
    pub(crate) fn node(&self) -> Result<Option<OwnedFd>, NodeError> {
        self.open_node(OFlags::PATH)
    }

    /// The directory there, for reading.
    pub(crate) fn directory(&self) -> Result<Option<OwnedFd>, NodeError> {
        self.open_node(OFlags::RDONLY | OFlags::DIRECTORY)
    }

    fn open_node(&self, flags: OFlags) -> Result<Option<OwnedFd>, NodeError> {
        let flags = flags | OFlags::CLOEXEC;
        match rustix::fs::openat2(&self.parent, &self.name, flags, Mode::empty(), NO_LINKS) {
            Ok(node) => Ok(Some(node)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(opening(&self.real, errno)),
        }
    }

    /// What is at the place, by its shape; anything but a directory or an empty file is refused.
    pub(crate) fn shape(&self) -> Result<Option<Shape>, NodeError> {
        let Some(node) = self.node()? else {
            return Ok(None);
        };
        let stat = stat(&node, &self.real)?;
        match Shape::of(&stat) {
            Some(Shape::File) if stat.st_size > 0 => {}
            Some(shape) => return Ok(Some(shape)),
            None => {}
        }
        let message = format!("{} is neither a directory nor an empty file", self.real);
        Err(NodeError::new(ErrorCode::Invalid, message))
    }

    /// Makes an empty directory or file for a mount to be attached to.
    pub(crate) fn create(&self, shape: Shape) -> Result<(), NodeError> {
        let made = match shape {
            Shape::Directory => rustix::fs::mkdirat(&self.parent, &self.name, Mode::from_raw_mode(0o750)),
            Shape::File => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                let mode = Mode::from_raw_mode(0o640);
                rustix::fs::openat(&self.parent, &self.name, flags, mode).map(drop)
            }
        };
        made.map_err(|errno| NodeError::system(format!("making {}", self.real), errno))
    }

    /// Removes an empty directory or an empty file; leaves anything else where it is.
    pub(crate) fn remove_empty(&self) -> Result<(), NodeError> {
        let flags = match self.shape() {
            Ok(Some(Shape::Directory)) => AtFlags::REMOVEDIR,
            Ok(Some(Shape::File)) => AtFlags::empty(),
            // Something else took the place: not ours to remove.
            Ok(None) | Err(_) => return Ok(()),
        };
        match rustix::fs::unlinkat(&self.parent, &self.name, flags) {
            // A mount point of another namespace, or somebody's files.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY) => Ok(()),
            Err(errno) => Err(NodeError::system(format!("removing {}", self.real), errno)),
        }
    }

    /// A path to the place that no link can redirect, for calls that take no descriptor.
    pub(crate) fn by_descriptor(&self) -> String {
        format!("{}/{}", descriptor_path(&self.parent), self.name)
    }
}

/// The way to an open file that does not depend on its name.
pub(crate) fn descriptor_path(file: impl AsFd) -> String {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

fn real_path(directory: &OwnedFd) -> Result<String, NodeError> {
    let real =
        fs::read_link(descriptor_path(directory)).map_err(|error| NodeError::io("resolving a host path", &error))?;
    real.into_os_string().into_string().map_err(|real| {
        let message = format!("{} is not UTF-8", real.display());
        NodeError::new(ErrorCode::Unsupported, message)
    })
}

/// Opens one of the operator's roots; none: it is not there.
fn open_root(root: &Path) -> Result<Option<OwnedFd>, NodeError> {
    match open_resolved(root) {
        Ok(root) => Ok(Some(root)),
        Err(error) if error.code == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a directory by its whole path, whose links were resolved before: what is a link by now leads nowhere.
pub(crate) fn open_resolved(directory: &Path) -> Result<OwnedFd, NodeError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, directory, flags, Mode::empty(), PLAIN)
        .map_err(|errno| opening(&directory.display().to_string(), errno))
}

/// Opens a path beneath a directory without following any link.
pub(crate) fn open_beneath(directory: impl AsFd, relative: &str, shown: &str) -> Result<OwnedFd, NodeError> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat2(directory, relative, flags, Mode::empty(), NO_LINKS).map_err(|errno| opening(shown, errno))
}

fn opening(path: &str, errno: Errno) -> NodeError {
    match errno {
        Errno::NOENT | Errno::NOTDIR => NodeError::new(ErrorCode::NotFound, format!("{path} does not exist")),
        Errno::LOOP | Errno::XDEV => {
            let message = format!("{path} leads through a link, or out of what was granted");
            NodeError::new(ErrorCode::NotAllowed, message)
        }
        errno => NodeError::system(format!("opening {path}"), errno),
    }
}

/// What the system knows of an open file.
pub(crate) fn stat(file: impl AsFd, shown: &str) -> Result<Stat, NodeError> {
    rustix::fs::fstat(file).map_err(|errno| NodeError::system(format!("looking at {shown}"), errno))
}

/// What a file is and never ceases to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileFacts {
    pub(crate) id: FileId,
    /// None for devices, pipes and the like.
    pub(crate) shape: Option<Shape>,
}

/// As [`stat`], from what this machine knows already: no server is asked, which might hang.
pub(crate) fn glance(file: impl AsFd, shown: &str) -> Result<FileFacts, NodeError> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let seen = rustix::fs::statx(file, "", flags, StatxFlags::TYPE | StatxFlags::INO)
        .map_err(|errno| NodeError::system(format!("looking at {shown}"), errno))?;
    let device = rustix::fs::makedev(seen.stx_dev_major, seen.stx_dev_minor);
    Ok(FileFacts { id: FileId { device, inode: seen.stx_ino }, shape: Shape::of_mode(u32::from(seen.stx_mode)) })
}

/// The file's identity.
pub(crate) fn identity(stat: &Stat) -> FileId {
    FileId { device: stat.st_dev, inode: stat.st_ino }
}
