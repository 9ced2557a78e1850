//! How a connected volume is, from what the kernel lists: no disk is asked, so nothing waits for one.
//!
//! Owns where the kernel says it.

use std::fs;

use super::super::engine::Scope;
use super::super::system::table::MountTable;
use super::disks;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, EntryKind, Health};

/// Ways, and whether the file system still takes writes.
pub(in crate::helper) fn get_health(scope: &Scope<'_>) -> Result<Health, NodeError> {
    let device = scope.device().filter(|device| !device.path.is_empty());
    let Some((device, connected)) = device.and_then(|device| Some((device.path, device.connected?))) else {
        let message = format!("volume {} is not connected on this node", scope.volume);
        return Err(NodeError::new(ErrorCode::NotFound, message));
    };
    let table = MountTable::read()?;
    let mut read_only = false;
    for mount in scope.of_kind(EntryKind::Mount).iter().filter(|it| it.access == Access::ReadWrite) {
        read_only |= table.topmost(&mount.place).is_some_and(|line| line.super_read_only);
    }
    let errors = fs::read_to_string(format!("/sys/fs/ext4/{device}/errors_count")).ok();
    let errors = errors.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    Ok(Health { portals: disks::ways(&connected), read_only, errors })
}
