//! How an effect is made: written down, done, confirmed; or undone again.
//!
//! Owns that order, for every kind of entry. It must not know what the effect is.

use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::super::engine::Scope;
use super::super::helper::log;
use super::super::ledger::{Entry, Mark, Stage};
use super::super::{EntryKind, ErrorCode, NodeError};
use super::paths::{Place, Shape};
use super::table::MountTable;
use super::undo::undo;

/// Between two looks at something that the kernel does in its own time and announces nowhere.
const PAUSE: Duration = Duration::from_millis(20);
/// How long something may stay busy before we say so.
const BUSY_LIMIT: Duration = Duration::from_secs(2);

/// Waits a moment before the kernel is asked again.
#[allow(clippy::disallowed_methods, reason = "the end of an unmount or detach cannot be awaited")]
pub(crate) fn pause() {
    thread::sleep(PAUSE);
}

/// Tries again for a while what the system calls busy, for example while a program that used it is
/// ending.
pub(crate) fn while_busy(mut attempt: impl FnMut() -> rustix::io::Result<()>) -> rustix::io::Result<()> {
    let deadline = Instant::now() + BUSY_LIMIT;
    loop {
        match attempt() {
            Err(Errno::BUSY) if Instant::now() < deadline => pause(),
            other => return other,
        }
    }
}

/// Writes the entry down, makes the effect and confirms it. After an error nothing is left of it;
/// if even that cannot be done, the entry stays and recovery sees to it.
pub(crate) fn carry_out(
    scope: &Scope<'_>,
    mut entry: Entry,
    effect: impl FnOnce() -> Result<(), NodeError>,
) -> Result<Entry, NodeError> {
    scope.engine.put(&entry)?;
    let made = effect().and_then(|()| {
        entry.mark = mark_of(&entry)?;
        entry.stage = Stage::Made;
        scope.engine.put(&entry)
    });
    let Err(error) = made else { return Ok(entry) };
    entry.stage = Stage::Intended;
    if let Err(undoing) = undo(scope.engine, &entry) {
        log(&format!("undoing what failed at {}: {undoing}", entry.path));
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
