//! From a request to the work: who may, in which turn, on which ledger.
//!
//! Owns the order of the checks that all operations share; what they say is up to `rules`. It must not do the
//! work itself.

use std::sync::Arc;

use super::engine::{Engine, Scope};
use super::ledger::{Entry, Ledger, Record};
use super::ops::mount::{Source, Wanted};
use super::ops::{
    bind, block, connect, device, encrypt, filesystem, format, freeze, health, mount, renew, undo, usage,
};
use super::recover::{abandon, recover, settle};
use super::rules;
use super::turns::{Turn, VolumeKey};
use super::worker_pool::Pace;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Answer, Caller, LedgerEntry, Operation, Publication, Request};

/// The volume whose turn a request must have before it is performed; none: it needs no turn, or takes several by
/// itself.
pub(super) fn turn_of(request: &Request) -> Option<VolumeKey> {
    let volume = match &request.operation {
        Operation::Publications { volume } => volume.as_deref(),
        Operation::ListEntries { .. }
        | Operation::Reread
        | Operation::Acknowledge { .. }
        | Operation::Abandon
        | Operation::Forget { .. }
        | Operation::Recover
        | Operation::Load
        // What has the turn may be waiting for this very thaw.
        | Operation::Thaw { .. }
        // It changes nothing, and reports on a server that the holder of the turn may be waiting for.
        | Operation::GetUsage { .. }
        | Operation::GetHealth { .. } => None,
        Operation::AttachImage { volume, .. }
        | Operation::DetachImage { volume }
        | Operation::RenewUuid { volume, .. }
        | Operation::MountDevice { volume, .. }
        | Operation::MountShare { volume, .. }
        | Operation::Connect { volume, .. }
        | Operation::Disconnect { volume }
        | Operation::Encrypt { volume, .. }
        | Operation::Unlock { volume, .. }
        | Operation::ChangePassphrase { volume, .. }
        | Operation::MakeFileSystem { volume, .. }
        | Operation::Bind { volume, .. }
        | Operation::PublishDevice { volume, .. }
        | Operation::Unmount { volume, .. }
        | Operation::SetAccess { volume, .. }
        | Operation::Grow { volume }
        | Operation::Trim { volume }
        | Operation::Freeze { volume, .. }
        | Operation::SetGroup { volume, .. } => Some(volume.as_str()),
    };
    volume.map(|volume| VolumeKey::new(&request.caller.backend, volume))
}

/// What a request needs that is done by a look into the ledger or a line of it.
#[derive(Debug)]
pub(super) struct Note {
    _turn: Option<Turn>,
}

/// What it needs where it is done by a look into the ledger or a line of it: a thread of its own would wait longer for a
/// processor than this takes. None: it is more than that.
pub(super) fn note(engine: &Engine, request: &Request) -> Option<Note> {
    let Request { caller, operation } = request;
    match operation {
        Operation::Acknowledge { .. } | Operation::Forget { .. } => Some(Note { _turn: None }),
        // With nothing of the volume there is nothing to compare with the system.
        Operation::Publications { volume: Some(volume) } => {
            let turn = engine.turns.try_take(&VolumeKey::new(&caller.backend, volume))?;
            let is_bare = !engine.read(|ledger| ledger.holds(&caller.backend, volume));
            is_bare.then_some(Note { _turn: Some(turn) })
        }
        _ => None,
    }
}

/// Whether a request may have to wait for a server.
pub(super) fn pace_of(engine: &Engine, request: &Request) -> Pace {
    let Request { caller, operation } = request;
    let touched = if let Operation::GetUsage { volume, .. } = operation {
        engine.read(|ledger| ledger.of_volume(&caller.backend, volume))
    } else if *operation == Operation::Abandon {
        engine.read(|ledger| ledger.of_call(&caller.backend, &caller.call))
    } else {
        turn_of(request).map_or_else(Vec::new, |key| engine.read(|ledger| ledger.of_volume(&key.backend, &key.volume)))
    };
    let begins = matches!(operation, Operation::MountShare { .. } | Operation::Connect { .. });
    let waits = begins || touched.iter().any(|it| it.share.is_some() || it.connected.is_some());
    if waits { Pace::Waits } else { Pace::Works }
}

/// Does what a request asks for, which has the turn of [`turn_of`].
pub(super) fn perform(engine: &Arc<Engine>, request: &Request) -> Result<Answer, NodeError> {
    let Request { caller, operation } = request;
    match operation {
        Operation::Reread => engine.permits.reread(&caller.backend).map(Answer::Permitted),
        Operation::ListEntries { volume } => {
            engine.permits.grants(&caller.backend)?;
            Ok(Answer::Entries(list(engine, caller, volume.as_deref())))
        }
        Operation::Acknowledge { publication } => acknowledge(engine, caller, publication.as_ref()),
        Operation::Abandon => abandon(engine, &caller.backend, &caller.call).map(|()| Answer::Done),
        Operation::Forget { volume, path } => {
            let record = Record::Forget { backend: caller.backend.clone(), volume: volume.clone(), path: path.clone() };
            engine.write(|_| record).map(|()| Answer::Done)
        }
        Operation::Publications { volume } => publications(engine, caller, volume.as_deref()),
        Operation::Recover => recover(engine).map(Answer::Recovered),
        Operation::Load => Ok(Answer::Load(engine.load())),
        Operation::AttachImage { volume, .. }
        | Operation::DetachImage { volume }
        | Operation::RenewUuid { volume, .. }
        | Operation::MountDevice { volume, .. }
        | Operation::MountShare { volume, .. }
        | Operation::Connect { volume, .. }
        | Operation::Disconnect { volume }
        | Operation::Encrypt { volume, .. }
        | Operation::Unlock { volume, .. }
        | Operation::ChangePassphrase { volume, .. }
        | Operation::MakeFileSystem { volume, .. }
        | Operation::Bind { volume, .. }
        | Operation::PublishDevice { volume, .. }
        | Operation::Unmount { volume, .. }
        | Operation::SetAccess { volume, .. }
        | Operation::Grow { volume }
        | Operation::Trim { volume }
        | Operation::Freeze { volume, .. }
        | Operation::Thaw { volume }
        | Operation::GetUsage { volume, .. }
        | Operation::GetHealth { volume }
        | Operation::SetGroup { volume, .. } => on_volume(engine, caller, volume, operation),
    }
}

fn on_volume(engine: &Arc<Engine>, caller: &Caller, volume: &str, operation: &Operation) -> Result<Answer, NodeError> {
    let grants = engine.permits.grants(&caller.backend)?;
    let held = engine.read(|ledger| ledger.holds(&caller.backend, volume));
    rules::judge(caller, volume, operation, held)?;
    let key = VolumeKey::new(&caller.backend, volume);
    if let Operation::Thaw { .. } = operation {
        return freeze::thaw(engine, &key).map(|()| Answer::Done);
    }
    let looks = matches!(operation, Operation::GetUsage { .. } | Operation::GetHealth { .. });
    let harmless = looks || matches!(operation, Operation::Freeze { .. });
    if !harmless && engine.holds.contains(&key) {
        let message = format!("volume {volume} is frozen; thaw it first");
        return Err(NodeError::new(ErrorCode::Busy, message));
    }
    // What is under way looks cut off to a request without a turn.
    if !looks {
        settle(engine, &key)?;
    }
    run(&Scope { engine, caller, grants, volume }, operation)
}

fn run(scope: &Scope<'_>, operation: &Operation) -> Result<Answer, NodeError> {
    let done = match operation {
        Operation::AttachImage { image, access, .. } => device::attach(scope, image, *access),
        Operation::DetachImage { .. } | Operation::Disconnect { .. } => device::detach(scope),
        Operation::RenewUuid { file_system, .. } => renew::renew_uuid(scope, file_system),
        Operation::MountDevice { target, file_system, options, access, .. } => {
            let (source, access) = (Source::Device(file_system), *access);
            mount::mount(scope, Wanted { source, target, options, access })
        }
        Operation::MountShare { share, target, options, access, .. } => {
            let (source, access) = (Source::Share(share), *access);
            mount::mount(scope, Wanted { source, target, options, access })
        }
        Operation::Connect { target, identity, access, .. } => connect::connect(scope, target, identity, *access),
        Operation::Encrypt { passphrase, .. } => encrypt::encrypt(scope, passphrase),
        Operation::Unlock { passphrase, .. } => encrypt::unlock(scope, passphrase),
        Operation::ChangePassphrase { old, new, .. } => encrypt::change_passphrase(scope, old, new),
        Operation::MakeFileSystem { file_system, .. } => format::make_file_system(scope, file_system),
        Operation::GetHealth { .. } => return health::get_health(scope).map(Answer::Health),
        Operation::Bind { source, target, access, .. } => bind::bind(scope, source, target, *access),
        Operation::PublishDevice { target, access, .. } => block::publish(scope, target, *access),
        Operation::Unmount { target, .. } => undo::unmount(scope, target),
        Operation::SetAccess { target, access, .. } => mount::set_access(scope, target, *access),
        Operation::Freeze { hold_ms, .. } => freeze::freeze(scope, *hold_ms),
        Operation::SetGroup { target, group, .. } => filesystem::set_group(scope, target, *group),
        Operation::Grow { .. } => return device::grow(scope).map(Answer::Bytes),
        Operation::Trim { .. } => return filesystem::trim(scope).map(Answer::Bytes),
        Operation::GetUsage { path, .. } => {
            return usage::get_usage(scope, path).map(Answer::Usage);
        }
        Operation::Thaw { .. }
        | Operation::ListEntries { .. }
        | Operation::Reread
        | Operation::Acknowledge { .. }
        | Operation::Abandon
        | Operation::Forget { .. }
        | Operation::Publications { .. }
        | Operation::Recover
        | Operation::Load => {
            let message = "this operation does not wait for a volume's turn";
            return Err(NodeError::new(ErrorCode::Failed, message));
        }
    };
    done.map(|()| Answer::Done)
}

fn list(engine: &Engine, caller: &Caller, volume: Option<&str>) -> Vec<LedgerEntry> {
    engine.read(|ledger| {
        let wanted = ledger
            .entries()
            .filter(|entry| entry.backend == caller.backend && volume.is_none_or(|volume| volume == entry.volume));
        wanted.map(Entry::listed).collect()
    })
}

fn acknowledge(engine: &Engine, caller: &Caller, publication: Option<&Publication>) -> Result<Answer, NodeError> {
    engine.permits.grants(&caller.backend)?;
    if let Some(publication) = publication {
        rules::named(caller, &publication.volume)?;
    }
    let record = |ledger: &Ledger| ledger.acknowledgement(&caller.backend, &caller.call, publication.cloned());
    engine.write(record).map(|()| Answer::Done)
}

fn publications(engine: &Engine, caller: &Caller, volume: Option<&str>) -> Result<Answer, NodeError> {
    if let Some(volume) = volume {
        settle(engine, &VolumeKey::new(&caller.backend, volume))?;
    }
    let found = engine.read(|ledger| {
        let wanted = ledger.standings().iter().filter(|standing| {
            standing.backend == caller.backend && volume.is_none_or(|volume| volume == standing.publication.volume)
        });
        wanted.map(|standing| standing.publication.clone()).collect()
    });
    Ok(Answer::Publications(found))
}
