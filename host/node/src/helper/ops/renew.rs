//! A UUID of its own for a copy of a file system, so that copy and original can be mounted together.
//!
//! Changing it may rewrite much of the metadata, so the change is written down as begun and the
//! volume is not mounted until it is finished; running it again repairs what was cut off. It must
//! not mount anything where somebody could see it.

use std::fs::File;

use rustix::mount::MountAttrFlags;

use super::super::engine::Scope;
use super::super::ledger::{Entry, Record, Renewal};
use super::super::options::MountPlan;
use super::super::system::blocks;
use super::super::system::programs::{run, run_without_rights};
use super::disks;
use super::{fit, mount};
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, EntryKind};

/// Where XFS keeps its UUID: in the first superblock, 16 bytes.
const XFS_UUID: u64 = 0x20;
/// Where btrfs keeps the address of its log, 8 bytes; 0 when there is none. The superblock stands
/// at 64 KiB.
const BTRFS_LOG_ROOT: u64 = 0x1_0000 + 0x60;

/// Replays the journal and gives the file system a random UUID.
pub(crate) fn renew_uuid(scope: &Scope<'_>, file_system: &str) -> Result<(), NodeError> {
    let device = scope.need_device()?;
    check(scope, &device)?;
    disks::expect_live(&device)?;
    let change = match file_system {
        "ext4" => renew_ext4,
        "xfs" => renew_xfs,
        "btrfs" => renew_btrfs,
        _ => {
            let message = format!("{file_system} is not a file system whose UUID can be changed here");
            return Err(NodeError::new(ErrorCode::Unsupported, message));
        }
    };
    let key = scope.key();
    scope.engine.write(|_| {
        Record::Renew(Renewal { backend: key.backend.clone(), volume: key.volume.clone(), image: device.backing })
    })?;
    let place = scope.heavy();
    change(&device.path)?;
    drop(place);
    sync(&device.path)?;
    scope.engine.write(|_| Record::Renewed { backend: key.backend.clone(), volume: key.volume.clone() })
}

fn check(scope: &Scope<'_>, device: &Entry) -> Result<(), NodeError> {
    if device.access == Access::ReadOnly {
        let message = format!("volume {} is attached for reading only", scope.volume);
        return Err(NodeError::new(ErrorCode::Invalid, message));
    }
    let shown = |it: &Entry| matches!(it.kind, EntryKind::Mount | EntryKind::Block);
    if let Some(entry) = scope.entries().iter().find(|it| shown(it)) {
        let message = format!("volume {} is in use at {}", scope.volume, entry.path);
        return Err(NodeError::new(ErrorCode::Busy, message));
    }
    blocks::ensure_unused(&device.path)
}

/// The check replays the journal, and repairs checksums that an earlier change left half done.
fn renew_ext4(device: &str) -> Result<(), NodeError> {
    fit::check(device)?;
    run_without_rights("tune2fs", &["-U", "random", &format!("/dev/{device}")])?.expect_success(&[0])
}

/// `nouuid`, because the original may be mounted.
fn renew_xfs(device: &str) -> Result<(), NodeError> {
    replay("xfs", device, &["nouuid"])?;
    let before: [u8; 16] = blocks::read_at(device, XFS_UUID)?;
    run("xfs_db", &["-x", "-c", "uuid generate", &format!("/dev/{device}")])?.expect_success(&[0])?;
    // The program reports success also when it has refused.
    if blocks::read_at::<16>(device, XFS_UUID)? == before {
        let message = format!("xfs_db did not change the UUID on {device}");
        return Err(NodeError::new(ErrorCode::Failed, message));
    }
    Ok(())
}

/// Changes the UUID that is shown, not the one in every block. The program takes no notice of a log
/// and would make it unreadable. Kernels before 6.7 cannot mount a copy beside its original, so a
/// mount is tried only where there is a log.
fn renew_btrfs(device: &str) -> Result<(), NodeError> {
    let log: [u8; 8] = blocks::read_at(device, BTRFS_LOG_ROOT)?;
    if log != [0; 8] {
        replay("btrfs", device, &[])?;
        if blocks::read_at::<8>(device, BTRFS_LOG_ROOT)? != [0; 8] {
            let message = format!("the log on {device} was not replayed");
            return Err(NodeError::new(ErrorCode::Failed, message));
        }
    }
    run("btrfstune", &["-m", &format!("/dev/{device}")])?.expect_success(&[0])
}

/// Mounting replays the log. The mount is attached nowhere, so a crash takes it away.
fn replay(file_system: &str, device: &str, options: &[&str]) -> Result<(), NodeError> {
    let plan = MountPlan {
        attributes: MountAttrFlags::empty(),
        parameters: options.iter().map(|option| ((*option).to_owned(), None)).collect(),
        access: Access::ReadWrite,
    };
    drop(mount::make(file_system, device, &plan)?);
    blocks::ensure_unused(device)
}

fn sync(device: &str) -> Result<(), NodeError> {
    File::open(format!("/dev/{device}"))
        .and_then(|device| device.sync_all())
        .map_err(|error| NodeError::io(format!("syncing {device}"), &error))
}
