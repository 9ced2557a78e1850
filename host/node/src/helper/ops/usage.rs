//! How full a volume is.
//!
//! Owns the numbers' meaning. It must not walk files: the file system keeps count.

use super::super::engine::Scope;
use super::super::ledger::Stage;
use super::super::protocols;
use super::super::system::blocks;
use super::super::system::table::MountTable;
use super::presence::{Presence, expect_seen, presence};
use super::shares;
use crate::error::NodeError;
use crate::protocol::{EntryKind, Usage, UsageUnit};

/// Usage of what the volume has at a path of the call under way.
pub(crate) fn get_usage(scope: &Scope<'_>, path: &str) -> Result<Vec<Usage>, NodeError> {
    let place = scope.find_place(path)?.ok_or_else(|| scope.nothing_at(path))?;
    // What is being mounted at this moment is not there yet.
    let there = scope.at(&place).filter(|entry| entry.stage > Stage::Intended);
    let entry = there.ok_or_else(|| scope.nothing_at(path))?;
    if presence(scope.engine, &entry, &MountTable::read()?)? == Presence::Gone {
        return Err(scope.nothing_at(path));
    }
    expect_seen(scope.engine, &entry)?;
    if entry.kind == EntryKind::Block {
        let total = blocks::size(&scope.need_device()?.path)?;
        return Ok(vec![Usage { available: 0, total, used: 0, unit: UsageUnit::Bytes }]);
    }
    if shares::share_of(scope.engine, &entry).is_some() {
        return protocols::usage(&place.real);
    }
    let node = place.node()?.ok_or_else(|| scope.nothing_at(path))?;
    let seen =
        rustix::fs::fstatvfs(&node).map_err(|errno| NodeError::system(format!("asking how full {path} is"), errno))?;
    let bytes = |blocks: u64| blocks.saturating_mul(seen.f_frsize);
    let mut usage = vec![Usage {
        available: bytes(seen.f_bavail),
        total: bytes(seen.f_blocks),
        used: bytes(seen.f_blocks.saturating_sub(seen.f_bfree)),
        unit: UsageUnit::Bytes,
    }];
    // Some file systems, such as btrfs, make inodes as they go and count none.
    if seen.f_files > 0 {
        usage.push(Usage {
            available: seen.f_favail,
            total: seen.f_files,
            used: seen.f_files.saturating_sub(seen.f_ffree),
            unit: UsageUnit::Inodes,
        });
    }
    Ok(usage)
}
