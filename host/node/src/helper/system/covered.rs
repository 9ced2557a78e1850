//! A file system in memory that one program sees in the place of a directory, and nobody else sees at all.
//!
//! Owns making and filling it. It is attached nowhere until the program has begun, in a mount namespace of the program's own, so it
//! ends with the program, or with this process, whatever ends them.

use std::ffi::CString;
use std::fs;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags};
use rustix::thread::UnshareFlags;

use crate::error::{ErrorCode, NodeError};

/// The file system, and the directories that it covers.
#[derive(Debug)]
pub(crate) struct Covered {
    tree: OwnedFd,
    places: Vec<CString>,
}

impl Covered {
    /// An empty one, over those of the directories whose parents are there; they are made where they are missing.
    pub(crate) fn new(places: &[&str]) -> Result<Self, NodeError> {
        let failed = |errno| NodeError::system("making a file system in memory", errno);
        let mut covered = Vec::new();
        for place in places {
            let parent = Path::new(place).parent().unwrap_or_else(|| Path::new("/"));
            if parent.is_dir() {
                let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(place);
                made.map_err(|error| NodeError::io(format!("making {place}"), &error))?;
                covered.extend(CString::new(*place));
            }
        }
        if covered.is_empty() {
            let message = format!("none of the directories is there that {} would lie in", places.join(" or "));
            return Err(NodeError::new(ErrorCode::Unsupported, message));
        }
        let context = rustix::mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC).map_err(failed)?;
        rustix::mount::fsconfig_set_string(context.as_fd(), "mode", "700").map_err(failed)?;
        rustix::mount::fsconfig_set_string(context.as_fd(), "size", "1m").map_err(failed)?;
        rustix::mount::fsconfig_create(context.as_fd()).map_err(failed)?;
        let flags =
            MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let tree = rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags).map_err(failed)?;
        Ok(Self { tree, places: covered })
    }

    /// Writes a file into it, at a relative path.
    pub(crate) fn write(&self, path: &Path, text: &str) -> Result<(), NodeError> {
        let failed = |errno| NodeError::system("writing into memory", errno);
        let mut above = path.ancestors().skip(1).filter(|it| !it.as_os_str().is_empty()).collect::<Vec<_>>();
        above.reverse();
        for directory in above {
            rustix::fs::mkdirat(&self.tree, directory, Mode::RWXU).map_err(failed)?;
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.tree, path, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        fs::File::from(file).write_all(text.as_bytes()).map_err(|error| NodeError::io("writing into memory", &error))
    }

    /// Enters a mount namespace of this process's own, and puts the file system in its places. Allocates nothing: it is for the
    /// moment between fork and exec.
    #[allow(unsafe_code, reason = "this process has one thread and shares nothing yet")]
    pub(super) fn enter(&self) -> Result<(), Errno> {
        // SAFETY: no other thread of this process shares its file system attributes.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
        rustix::mount::mount_change(c"/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
        let Some((first, others)) = self.places.split_first() else { return Ok(()) };
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        rustix::mount::move_mount(&self.tree, c"", CWD, first.as_c_str(), flags)?;
        others.iter().try_for_each(|place| rustix::mount::mount_bind(first.as_c_str(), place.as_c_str()))
    }
}
