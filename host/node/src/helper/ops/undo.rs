//! Undoing one entry: the effect first, then the ledger's line.
//!
//! Owns the way back of every kind, and removing what was made for a mount to stand on. It must
//! not decide what is undone, never unmounts lazily (a busy mount still writes), and never touches
//! what is not the entry's.

use std::sync::Arc;

use rustix::mount::UnmountFlags;

use super::super::engine::{Engine, Scope};
use super::super::ledger::Entry;
use super::super::system::busy::while_busy;
use super::super::system::loops;
use super::super::system::paths::Place;
use super::super::system::table::MountTable;
use super::super::turns::VolumeKey;
use super::presence::{Presence, presence};
use super::{disks, freeze, shares};
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{EntryKind, PathRole};

/// Undoes an entry, whether or not its effect is there, and strikes it out.
pub(crate) fn undo(engine: &Engine, entry: &Entry) -> Result<(), NodeError> {
    let above = engine.read(|ledger| ledger.dependants(entry.id).next().map(|it| it.path.clone()));
    if let Some(above) = above {
        let message = format!("{} is in use: {above} stands on it", entry.path);
        return Err(NodeError::new(ErrorCode::Busy, message));
    }
    match entry.kind {
        EntryKind::Device => {
            if let Some(connected) = &entry.connected {
                disks::take_down(engine, entry, connected)?;
            } else if loops::is_of(entry)? {
                loops::release(entry)?;
            }
        }
        EntryKind::Freeze => return freeze::undo(engine, entry),
        EntryKind::Mount | EntryKind::Bind | EntryKind::Block => take_down(engine, entry)?,
    }
    engine.strike(entry.id)
}

fn take_down(engine: &Engine, entry: &Entry) -> Result<(), NodeError> {
    shares::clear_aside(engine, entry)?;
    let Some(place) = Place::open(&engine.targets, &entry.place, PathRole::Other)? else {
        return Ok(());
    };
    match presence(engine, entry, &MountTable::read()?)? {
        Presence::Present if entry.share.is_some() => shares::take_down(entry)?,
        Presence::Present => detach_mount(&place)?,
        Presence::Hidden => {
            let message = format!("something else is mounted over {}", entry.place);
            return Err(NodeError::new(ErrorCode::Busy, message));
        }
        Presence::Gone => {}
    }
    if entry.created_path { place.remove_empty() } else { Ok(()) }
}

fn detach_mount(place: &Place) -> Result<(), NodeError> {
    let path = place.by_descriptor();
    while_busy(|| rustix::mount::unmount(&path, UnmountFlags::NOFOLLOW))
        .map_err(|errno| NodeError::system(format!("unmounting {}", place.real), errno))
}

/// Undoes second devices that no publication stands on any more.
pub(crate) fn undo_orphans(engine: &Engine, key: &VolumeKey) -> Result<(), NodeError> {
    let orphans: Vec<Entry> = engine.read(|ledger| {
        let mut entries = ledger.of_volume(&key.backend, &key.volume);
        entries.retain(|entry| {
            entry.kind == EntryKind::Device && entry.stands_on.is_some() && ledger.dependants(entry.id).next().is_none()
        });
        entries
    });
    orphans.iter().try_for_each(|orphan| undo(engine, orphan))
}

/// Undoes what stands at the target for this volume, and removes what was made there: also when
/// nothing is mounted any more, because the client relies on the target's being gone.
pub(crate) fn unmount(scope: &Scope<'_>, target: &str) -> Result<(), NodeError> {
    let engine: &Arc<Engine> = scope.engine;
    let Some(place) = scope.find_place(target)? else {
        // What was mounted while other roots were named is not to be taken for gone.
        let stands = scope.entries().iter().any(|entry| entry.path == target);
        return if stands { Err(engine.targets.outside(target)) } else { Ok(()) };
    };
    if let Some(entry) = scope.at(&place) {
        undo(engine, &entry)?;
        undo_orphans(engine, &scope.key())?;
    }
    let foreign = MountTable::read()?.topmost(&place.real).is_some();
    if place.role == PathRole::Target && !foreign { place.remove_empty() } else { Ok(()) }
}
