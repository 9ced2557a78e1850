//! How an effect is made: written down, done, confirmed; or undone again.
//!
//! Owns that order, for every kind of entry. It must not know what the effect is.

use super::super::engine::Scope;
use super::super::ledger::{Entry, Mark, Stage};
use super::super::log_budget::say;
use super::super::system::paths::{Place, Shape};
use super::super::system::table::MountTable;
use super::undo::undo;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::EntryKind;

/// Writes the entry down, makes the effect and confirms it. After an error nothing is left of it;
/// if even that cannot be done, the entry stays and recovery sees to it.
pub(crate) fn carry_out(
    scope: &Scope<'_>,
    mut entry: Entry,
    effect: impl FnOnce(&mut Entry) -> Result<(), NodeError>,
) -> Result<Entry, NodeError> {
    if entry.kind == EntryKind::Device {
        scope.engine.put_device(&entry, scope.grants.devices)?;
    } else {
        scope.engine.put(&entry)?;
    }
    let made = effect(&mut entry).and_then(|()| {
        entry.mark = mark_of(&entry)?;
        entry.stage = Stage::Made;
        scope.engine.put(&entry)
    });
    let Err(error) = made else { return Ok(entry) };
    entry.stage = Stage::Intended;
    if let Err(undoing) = undo(scope.engine, &entry) {
        say(&format!("undoing what failed at {}: {undoing}", entry.path));
    }
    Err(error)
}

/// How the mount table shows what was just made.
fn mark_of(entry: &Entry) -> Result<Option<Mark>, NodeError> {
    if matches!(entry.kind, EntryKind::Device | EntryKind::Freeze) {
        return Ok(None);
    }
    let table = MountTable::read()?;
    let line = table.topmost(&entry.place).ok_or_else(|| {
        let message = format!("{} was mounted and is gone again", entry.place);
        NodeError::new(ErrorCode::Failed, message)
    })?;
    Ok(Some(Mark { device: line.device.clone(), root: line.root.clone() }))
}

/// Who sees to it that the target exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Make it.
    Create,
    /// It must be there.
    Refuse,
}

/// Checks that a mount of this shape can go to the place. Returns whether the place must be made.
pub(crate) fn vacant(place: &Place, shape: Shape, missing: Missing) -> Result<bool, NodeError> {
    if MountTable::read()?.topmost(&place.real).is_some() {
        let message = format!("something that is not this volume's is mounted at {}", place.real);
        return Err(NodeError::new(ErrorCode::Busy, message));
    }
    match place.shape()? {
        Some(found) if found == shape => Ok(false),
        Some(_) => {
            let message = format!("{} is of another kind than what is to be shown there", place.real);
            Err(NodeError::new(ErrorCode::Invalid, message))
        }
        None if missing == Missing::Create => Ok(true),
        None => Err(NodeError::new(ErrorCode::NotFound, format!("{} does not exist", place.real))),
    }
}
