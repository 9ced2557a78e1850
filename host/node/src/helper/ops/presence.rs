//! Whether what an entry describes is there.
//!
//! Owns the comparison with the system. It must not change anything. A mount is known by what it
//! shows, not by its path alone: others may mount at the same place.

use super::super::engine::{Engine, Scope};
use super::super::ledger::Entry;
use super::super::system::loops;
use super::super::system::paths::{Place, glance};
use super::super::system::table::{MountLine, MountTable};
use super::disks;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{EntryKind, PathRole};

/// Where an effect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// There, and what is seen at its place.
    Present,
    /// There, but something else is mounted over it.
    Hidden,
    /// Not there.
    Gone,
}

/// Looks for an entry's effect.
pub(in crate::helper) fn presence(engine: &Engine, entry: &Entry, table: &MountTable) -> Result<Presence, NodeError> {
    let there = match entry.kind {
        EntryKind::Device => match &entry.connected {
            Some(connected) => disks::is_there(connected),
            None => loops::is_of(entry)?,
        },
        EntryKind::Freeze => engine.holds.has(entry),
        EntryKind::Mount | EntryKind::Bind | EntryKind::Block => {
            return mounted(engine, entry, table);
        }
    };
    Ok(if there { Presence::Present } else { Presence::Gone })
}

fn mounted(engine: &Engine, entry: &Entry, table: &MountTable) -> Result<Presence, NodeError> {
    let Some(top) = table.topmost(&entry.place) else {
        return Ok(Presence::Gone);
    };
    if is_marked(entry, top) || looks_like(engine, entry, top)? {
        return Ok(Presence::Present);
    }
    let hidden = table.at(&entry.place).any(|line| is_marked(entry, line));
    Ok(if hidden { Presence::Hidden } else { Presence::Gone })
}

/// `busy` when something else is mounted over it: work by path would meet the wrong file system.
pub(super) fn expect_seen(engine: &Engine, entry: &Entry) -> Result<(), NodeError> {
    if presence(engine, entry, &MountTable::read()?)? == Presence::Present {
        return Ok(());
    }
    let message = format!("something else is mounted over {}", entry.path);
    Err(NodeError::new(ErrorCode::Busy, message))
}

/// As [`Scope::at`], for work that needs a mounted directory there.
pub(super) fn need_mounted(scope: &Scope<'_>, place: &Place) -> Result<Entry, NodeError> {
    let found = scope.at(place).filter(|it| it.kind != EntryKind::Block);
    let entry = found.ok_or_else(|| scope.nothing_at(&place.real))?;
    expect_seen(scope.engine, &entry)?;
    Ok(entry)
}

fn is_marked(entry: &Entry, line: &MountLine) -> bool {
    // Numbers of file systems that stand on no device are given again.
    let is_source = entry.share.as_ref().is_none_or(|shared| shared.source == line.source);
    is_source && entry.mark.as_ref().is_some_and(|mark| mark.device == line.device && mark.root == line.root)
}

/// For entries that were never confirmed, and for bound directories that were renamed since.
fn looks_like(engine: &Engine, entry: &Entry, top: &MountLine) -> Result<bool, NodeError> {
    if let Some(shared) = &entry.share {
        return Ok(shared.source == top.source && top.file_system.starts_with("nfs"));
    }
    if entry.kind == EntryKind::Mount {
        let device = device_of(engine, entry).map(|name| format!("/dev/{name}"));
        let file_system = entry.recipe.as_ref().map(|recipe| recipe.file_system.as_str());
        return Ok(device.as_ref() == Some(&top.source) && file_system == Some(&top.file_system));
    }
    let place = match Place::open(&engine.targets, &entry.place, PathRole::Other) {
        Ok(Some(place)) => place,
        // What lies below no root any more is nobody's to look at; undoing it says so.
        Ok(None) => return Ok(false),
        Err(error) if error.code == ErrorCode::NotAllowed => return Ok(false),
        Err(error) => return Err(error),
    };
    let Some(node) = place.node()? else {
        return Ok(false);
    };
    Ok(glance(&node, &entry.place)?.id == entry.backing)
}

fn device_of(engine: &Engine, entry: &Entry) -> Option<String> {
    let id = entry.stands_on?;
    engine.read(|ledger| ledger.entries().find(|it| it.id == id).map(|it| it.path.clone()))
}
