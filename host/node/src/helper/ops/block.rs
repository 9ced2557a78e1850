//! Publishing a volume's device as a device node that a workload opens.
//!
//! The node is the kernel's own, bound over an empty file: making one would need its number to be
//! right for as long as the file exists. It must not show a writable device as read-only.

use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags};

use super::super::engine::Scope;
use super::super::ledger::Entry;
use super::super::system::paths::{Shape, identity, stat};
use super::device;
use super::disks;
use super::effect::{Missing, carry_out, vacant};
use super::mount::other_arguments;
use super::trees::{attach, copy};
use super::undo::undo_orphans;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, EntryKind};

/// Shows the volume's device at the target.
pub(crate) fn publish(scope: &Scope<'_>, target: &str, access: Access) -> Result<(), NodeError> {
    let place = scope.place(target)?;
    if let Some(found) = scope.at(&place) {
        let same = found.kind == EntryKind::Block && found.access == access;
        return if same { Ok(()) } else { Err(other_arguments(&found)) };
    }
    let own = scope.need_device()?;
    check(scope, &own, access)?;
    disks::expect_live(&own)?;
    let created = vacant(&place, Shape::File, Missing::Create)?;
    let device = if own.access == access { own } else { device::attach_read_only(scope, &own)? };
    let node = open_node(&device)?;
    let backing = identity(&stat(&node, &device.path)?);
    let mut entry = scope.draft(EntryKind::Block, target, &place.real, backing);
    entry.created_path = created;
    entry.access = access;
    entry.stands_on = Some(device.id);
    let made = carry_out(scope, entry, |_| {
        if created {
            place.create(Shape::File)?;
        }
        attach(&copy(&node, Access::ReadWrite)?, &place)
    });
    if made.is_err() {
        undo_orphans(scope.engine, &scope.key())?;
    }
    made.map(drop)
}

fn check(scope: &Scope<'_>, device: &Entry, access: Access) -> Result<(), NodeError> {
    if access == Access::ReadWrite && device.access == Access::ReadOnly {
        let message = format!("volume {} is attached for reading only", scope.volume);
        return Err(NodeError::new(ErrorCode::Invalid, message));
    }
    if access == Access::ReadWrite && !scope.of_kind(EntryKind::Mount).is_empty() {
        let message = format!("the file system of volume {} is mounted", scope.volume);
        return Err(NodeError::new(ErrorCode::Busy, message));
    }
    Ok(())
}

fn open_node(device: &Entry) -> Result<OwnedFd, NodeError> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let path = format!("/dev/{}", device.path);
    rustix::fs::openat(CWD, &path, flags, Mode::empty())
        .map_err(|errno| NodeError::system(format!("opening {path}"), errno))
}
