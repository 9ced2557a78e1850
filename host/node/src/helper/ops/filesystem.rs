//! Work on mounted file systems: growing, trimming, giving them to a group.
//!
//! Everything goes through a mount of the ledger. It must not work on unmounted devices: their
//! contents are nobody's business here, except for a new UUID (`renew`).

use std::os::fd::OwnedFd;

use rustix::fs::{Gid, Mode};
use rustix::thread::CapabilitySet;

use super::super::engine::{Engine, Scope};
use super::super::ledger::Entry;
use super::super::system::paths::{Place, stat};
use super::super::system::{programs, syscalls};
use super::presence::{expect_seen, need_mounted};
use super::shares;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, EntryKind, PathRole};

/// Read, write and pass for the group, and new files belong to it too.
const GROUP_MODE: u32 = 0o2070;

/// Grows the mounted file system to the size of its device; nothing to do when it is not mounted.
pub(super) fn grow(scope: &Scope<'_>, device: &Entry) -> Result<(), NodeError> {
    let mounts = scope.of_kind(EntryKind::Mount);
    let Some(mount) = mounts.iter().find(|it| it.access == Access::ReadWrite) else {
        return match mounts.first() {
            None => Ok(()),
            Some(mount) => Err(read_only(mount)),
        };
    };
    // Also that it lies below a root: programs are told its path.
    drop(open_root(scope.engine, mount)?);
    let file_system = mount.recipe.as_ref().map(|recipe| recipe.file_system.as_str());
    let node = format!("/dev/{}", device.path);
    let (program, arguments): (&str, &[&str]) = match file_system {
        Some("ext4") => ("resize2fs", &[&node]),
        Some("xfs") => ("xfs_growfs", &["-d", &mount.place]),
        Some("btrfs") => ("btrfs", &["filesystem", "resize", "max", &mount.place]),
        _ => return Ok(()),
    };
    let _place = scope.heavy();
    let grown = programs::run(program, arguments)?.expect_success(&[0]);
    if grown.is_err() && program == "resize2fs" && !may_resize_ext4() {
        let message = "growing a mounted ext4 needs CAP_SYS_RESOURCE, which this host was started without";
        return Err(NodeError::new(ErrorCode::Unsupported, message));
    }
    grown
}

/// The kernel asks for it for this file system only.
pub(crate) fn may_resize_ext4() -> bool {
    let mine = rustix::thread::capabilities(None);
    mine.is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_RESOURCE))
}

fn read_only(mount: &Entry) -> NodeError {
    let message = format!("the file system at {} is mounted for reading only", mount.path);
    NodeError::new(ErrorCode::Unsupported, message)
}

/// Gives unused blocks back to the image; returns how many bytes.
pub(in crate::helper) fn trim(scope: &Scope<'_>) -> Result<u64, NodeError> {
    let mounts = scope.of_kind(EntryKind::Mount);
    let writable = mounts.iter().find(|it| it.access == Access::ReadWrite);
    let Some(mount) = writable.or(mounts.first()) else {
        let message = format!("volume {} is not mounted on this node", scope.volume);
        return Err(NodeError::new(ErrorCode::NotFound, message));
    };
    if mount.access == Access::ReadOnly {
        return Err(read_only(mount));
    }
    shares::expect_own(scope.engine, mount, "no blocks can be given back")?;
    let root = open_root(scope.engine, mount)?;
    syscalls::trim(&root).map_err(|errno| NodeError::system(format!("trimming {}", mount.place), errno))
}

/// Gives the mounted root directory to a group, writable and with the set-group bit.
pub(in crate::helper) fn set_group(scope: &Scope<'_>, target: &str, group: u32) -> Result<(), NodeError> {
    let place = scope.place(target)?;
    let mount = need_mounted(scope, &place)?;
    shares::expect_own(scope.engine, &mount, "the server decides whose the files are")?;
    if group == u32::MAX {
        // The system takes it for "leave as it is".
        return Err(NodeError::new(ErrorCode::Invalid, format!("{group} is not a group id")));
    }
    let root = open_root(scope.engine, &mount)?;
    let failed = |errno| NodeError::system(format!("giving {target} to group {group}"), errno);
    rustix::fs::fchown(&root, None, Some(Gid::from_raw(group))).map_err(failed)?;
    // After the owner, whose change may clear the bit.
    let mode = stat(&root, target)?.st_mode;
    let wanted = Mode::from_raw_mode((mode | GROUP_MODE) & 0o7777);
    rustix::fs::fchmod(&root, wanted).map_err(failed)
}

/// The root directory of what an entry mounted.
pub(super) fn open_root(engine: &Engine, mount: &Entry) -> Result<OwnedFd, NodeError> {
    expect_seen(engine, mount)?;
    let place = Place::open(&engine.targets, &mount.place, PathRole::Other)?;
    let root = place.map_or(Ok(None), |place| place.directory())?;
    root.ok_or_else(|| NodeError::new(ErrorCode::NotFound, format!("{} does not exist", mount.place)))
}
