//! Setting ledger and system right again: at start, before each operation, and after a failed call.
//!
//! Owns what is undone and what is kept; the decisions are pure functions. What nobody acknowledged
//! is undone, **what was acknowledged is never touched** (a pod writes to it), what is gone is
//! struck out, what the ledger does not name is not seen.

use std::sync::Arc;
use std::thread;

use super::engine::Engine;
use super::ledger::{Entry, Stage};
use super::ops::presence::{Presence, presence};
use super::ops::undo::{undo, undo_orphans};
use super::system::table::MountTable;
use super::turns::{Turn, VolumeKey};
use crate::error::{ErrorCode, NodeError};
use crate::process::log;
use crate::protocol::{EntryKind, RecoveryReport, Unresolved};

/// What becomes of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Leave it alone.
    Keep,
    /// It is gone; so goes its line.
    Strike,
    /// Undo it, if it is there, and what was made for it.
    Undo,
}

/// At start, for entries of earlier helpers.
pub(crate) fn decide_at_start(entry: &Entry, presence: Presence) -> Step {
    match (entry.kind, entry.stage, presence) {
        // No cut outlives the helper that held the writes.
        (EntryKind::Freeze, _, _) | (_, Stage::Intended | Stage::Made, _) => Step::Undo,
        (_, Stage::Acknowledged, Presence::Gone) => Step::Strike,
        (_, Stage::Acknowledged, Presence::Present | Presence::Hidden) => Step::Keep,
    }
}

/// Before an operation on a volume that has its turn: an intent that is still open was cut off.
pub(crate) fn decide_in_turn(entry: &Entry, presence: Presence) -> Step {
    match (entry.kind, entry.stage, presence) {
        (EntryKind::Freeze, _, Presence::Gone) | (_, Stage::Intended, _) => Step::Undo,
        (_, Stage::Made | Stage::Acknowledged, Presence::Gone) => Step::Strike,
        (_, Stage::Made | Stage::Acknowledged, Presence::Present | Presence::Hidden) => Step::Keep,
    }
}

/// Brings a volume's entries in line with the system. The volume's turn must be held.
pub(super) fn settle(engine: &Engine, key: &VolumeKey) -> Result<(), NodeError> {
    let entries = engine.read(|ledger| ledger.of_volume(&key.backend, &key.volume));
    if entries.is_empty() {
        return Ok(());
    }
    let table = MountTable::read()?;
    for entry in entries.iter().rev() {
        match decide_in_turn(entry, presence(engine, entry, &table)?) {
            Step::Keep => {}
            Step::Strike => engine.strike(entry.id)?,
            Step::Undo => undo(engine, entry)?,
        }
    }
    undo_orphans(engine, key)
}

/// Compares what earlier helpers wrote with the system, volume by volume. What may wait for a server goes on afterwards: the
/// next request for such a volume waits for its turn, and nobody else.
pub(super) fn recover(engine: &Arc<Engine>) -> Result<RecoveryReport, NodeError> {
    let mut report = RecoveryReport { vanished: engine.take_vanished(), ..RecoveryReport::default() };
    for key in engine.volumes() {
        let turn = engine.turns.take(vec![key.clone()]);
        let mut entries = engine.read(|ledger| ledger.of_volume(&key.backend, &key.volume));
        entries.retain(|entry| entry.id < engine.first_own_id);
        if entries.iter().any(|entry| entry.share.is_some() || entry.connected.is_some()) {
            later(engine, turn, entries)?;
        } else {
            recover_volume(engine, &entries, &mut report)?;
        }
    }
    Ok(report)
}

fn recover_volume(engine: &Engine, entries: &[Entry], report: &mut RecoveryReport) -> Result<(), NodeError> {
    entries.iter().rev().try_for_each(|entry| {
        let found = presence(engine, entry, &MountTable::read()?)?;
        recover_entry(engine, entry, found, report)
    })
}

/// Recovers a volume whose turn is held, on a thread of its own.
fn later(engine: &Arc<Engine>, turn: Turn, entries: Vec<Entry>) -> Result<(), NodeError> {
    let engine = Arc::clone(engine);
    let work = move || {
        let mut report = RecoveryReport::default();
        if let Err(error) = recover_volume(&engine, &entries, &mut report) {
            log(&format!("recovery of a volume with a share: {error}"));
        }
        engine.turns.give_back(turn);
        let RecoveryReport { kept, undone, vanished, unresolved } = report;
        let counts = [kept.len(), undone.len(), vanished.len(), unresolved.len()];
        log(&format!("recovered a volume with a share: kept, undone, vanished, unresolved {counts:?}"));
    };
    let started = thread::Builder::new().name("node-recovery".to_owned()).spawn(work);
    started.map(drop).map_err(|error| NodeError::io("starting a thread", &error))
}

fn recover_entry(
    engine: &Engine,
    entry: &Entry,
    found: Presence,
    report: &mut RecoveryReport,
) -> Result<(), NodeError> {
    match decide_at_start(entry, found) {
        Step::Keep => report.kept.push(entry.listed()),
        Step::Strike => {
            engine.strike(entry.id)?;
            report.vanished.push(entry.listed());
        }
        Step::Undo => match undo(engine, entry) {
            Ok(()) if found == Presence::Gone && entry.kind != EntryKind::Freeze => {
                report.vanished.push(entry.listed());
            }
            Ok(()) => report.undone.push(entry.listed()),
            Err(error) => {
                log(&format!("recovery could not undo {}: {error}", entry.path));
                let reason = error.message;
                report.unresolved.push(Unresolved { entry: entry.listed(), reason });
            }
        },
    }
    Ok(())
}

/// Undoes what a failed call made, newest first. What it found, what was acknowledged since, and
/// what another call's work stands on are left.
pub(super) fn abandon(engine: &Arc<Engine>, backend: &str, call: &str) -> Result<(), NodeError> {
    engine.holds.release_empty(backend, call);
    let made = || engine.read(|ledger| ledger.of_call(backend, call));
    let mut keys: Vec<_> = made().iter().map(|it| VolumeKey::new(backend, &it.volume)).collect();
    keys.sort();
    keys.dedup();
    let _turn = engine.turns.take(keys);
    let mut failures = Vec::new();
    for entry in made().iter().rev().filter(|entry| entry.stage != Stage::Acknowledged) {
        let needed = engine.read(|ledger| ledger.dependants(entry.id).any(|it| it.call != call));
        if needed {
            continue;
        }
        if let Err(error) = undo(engine, entry) {
            failures.push(error);
        }
    }
    match failures.into_iter().next() {
        None => Ok(()),
        Some(error) => {
            let message = format!("not all of call {call} could be undone: {error}");
            let code = if error.code == ErrorCode::Busy { ErrorCode::Busy } else { ErrorCode::Failed };
            Err(NodeError::new(code, message))
        }
    }
}
