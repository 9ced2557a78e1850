//! Freezes: holding all writes of a volume for the moment of a cut, and letting go by themselves.
//!
//! Every freeze has a watchdog thread that exists before the freeze does. Thawing must not wait for
//! the volume's turn: what has the turn may be waiting for the frozen file system. The open root
//! keeps the file system from being unmounted, after which nothing could thaw it.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

use super::super::engine::{Engine, Scope};
use super::super::holds::Hold;
use super::super::ledger::{Entry, Stage};
use super::super::system::syscalls;
use super::super::system::table::MountTable;
use super::super::turns::VolumeKey;
use super::filesystem::open_root;
use super::presence::{Presence, presence};
use super::shares;
use crate::error::{ErrorCode, NodeError};
use crate::process::log;
use crate::protocol::{EntryKind, FREEZE_HOLD_MS};

/// Volumes of one backend that are frozen at once. Each has a thread, also one that is not mounted here and may be
/// any text.
const MOST_HOLDS: usize = 256;

/// Flushes the volume's mounted file system and holds its writes, at most `hold_ms` milliseconds.
pub(crate) fn freeze(scope: &Scope<'_>, hold_ms: u64) -> Result<(), NodeError> {
    let key = scope.key();
    if scope.engine.holds.contains(&key) {
        return Ok(());
    }
    if scope.engine.holds.count_of(&key.backend) >= MOST_HOLDS {
        let message = format!("{MOST_HOLDS} volumes of backend {} are frozen already", key.backend);
        return Err(NodeError::new(ErrorCode::Limit, message));
    }
    let mount = find_mount(scope)?;
    let root = mount.as_ref().map(|it| open_root(scope.engine, it)).transpose()?;
    let id = scope.engine.take_id();
    let time = Duration::from_millis(hold_ms.min(FREEZE_HOLD_MS));
    let start = start_watchdog(scope.engine, &key, id, time)?;
    let hold = Hold::new(id, &scope.caller.call, root, start.clone());
    match &mount {
        None => {
            scope.engine.holds.insert(key, hold);
        }
        Some(mount) => freeze_mount(scope, mount, hold)?,
    }
    // The watchdog waits for this: its time starts when the freeze has begun.
    let _ = start.send(());
    Ok(())
}

/// None: nothing of the volume is mounted here.
fn find_mount(scope: &Scope<'_>) -> Result<Option<Entry>, NodeError> {
    let entries = scope.entries();
    if let Some(mount) = entries.iter().find(|it| it.kind == EntryKind::Mount) {
        shares::expect_own(scope.engine, mount, "the writes of other nodes cannot be held")?;
        return Ok(Some(mount.clone()));
    }
    let reason = match entries.iter().find(|it| it.kind != EntryKind::Device) {
        None => return Ok(None),
        Some(it) if it.kind == EntryKind::Block => "is published as a raw device",
        Some(_) => "is a directory among others, which would be frozen too",
    };
    let message = format!("volume {} {reason}, so its writes cannot be held", scope.volume);
    Err(NodeError::new(ErrorCode::Unsupported, message))
}

fn freeze_mount(scope: &Scope<'_>, mount: &Entry, hold: Hold) -> Result<(), NodeError> {
    let mut entry = scope.draft(EntryKind::Freeze, &mount.path, &mount.place, mount.backing);
    entry.id = hold.id;
    entry.access = mount.access;
    entry.stands_on = Some(mount.id);
    scope.engine.put(&entry)?;
    let frozen = hold.root.as_ref().map_or(Ok(()), syscalls::freeze);
    if let Err(errno) = frozen {
        // `EBUSY`: somebody else froze it. Theirs is not ours to thaw.
        scope.engine.strike(entry.id)?;
        return Err(NodeError::system(format!("freezing {}", mount.place), errno));
    }
    scope.engine.holds.insert(scope.key(), hold);
    entry.stage = Stage::Made;
    scope.engine.put(&entry).inspect_err(|_| {
        log_failure(&scope.key(), thaw(scope.engine, &scope.key()));
    })
}

/// The thread ends without effect when its hold is dropped, before or after the start.
fn start_watchdog(engine: &Arc<Engine>, key: &VolumeKey, id: u64, time: Duration) -> Result<Sender<()>, NodeError> {
    let (sender, receiver) = mpsc::channel();
    let (engine, key) = (Arc::clone(engine), key.clone());
    let watch = move || watch(&engine, &key, id, &receiver, time);
    let started = thread::Builder::new().name("node-thaw".to_owned()).spawn(watch);
    started.map(|_| sender).map_err(|error| NodeError::io("starting a freeze's watchdog", &error))
}

fn watch(engine: &Engine, key: &VolumeKey, id: u64, signal: &Receiver<()>, time: Duration) {
    if signal.recv().is_err() || signal.recv_timeout(time) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    if let Some(hold) = engine.holds.take(key, |hold| hold.id == id) {
        log(&format!("thawing volume {}: its time is up", key.volume));
        log_failure(key, release(engine, hold));
    }
}

/// Lets writes go on; `not-found` when they went on already, so that the cut is not trusted.
pub(crate) fn thaw(engine: &Engine, key: &VolumeKey) -> Result<(), NodeError> {
    let Some(hold) = engine.holds.take(key, |_| true) else {
        let message = format!("volume {} is not frozen, or not any more", key.volume);
        return Err(NodeError::new(ErrorCode::NotFound, message));
    };
    release(engine, hold)
}

/// Lets all writes go on, at the helper's end.
pub(crate) fn thaw_all(engine: &Engine) {
    for (key, hold) in engine.holds.take_all() {
        log(&format!("thawing volume {} because the host is gone", key.volume));
        log_failure(&key, release(engine, hold));
    }
}

fn release(engine: &Engine, hold: Hold) -> Result<(), NodeError> {
    let Some(root) = hold.root else { return Ok(()) };
    let thawed = syscalls::thaw(&root);
    // Closed before the entry goes: the next operation may be an unmount.
    drop(root);
    match thawed {
        Ok(()) => engine.strike(hold.id),
        Err(Errno::INVAL) => {
            engine.strike(hold.id)?;
            let message = "somebody else has thawed the file system meanwhile";
            Err(NodeError::new(ErrorCode::NotFound, message))
        }
        // The entry stays, so the next operation or recovery tries again.
        Err(errno) => Err(NodeError::system("thawing a file system", errno)),
    }
}

/// Thaws what an entry says is frozen, by this helper or an earlier one, and strikes it out.
pub(crate) fn undo(engine: &Engine, entry: &Entry) -> Result<(), NodeError> {
    let key = VolumeKey::new(&entry.backend, &entry.volume);
    if let Some(hold) = engine.holds.take(&key, |hold| hold.id == entry.id) {
        return match release(engine, hold) {
            Err(error) if error.code == ErrorCode::NotFound => Ok(()),
            released => released,
        };
    }
    let mounts = engine.read(|ledger| ledger.of_volume(&entry.backend, &entry.volume));
    if let Some(mount) = mounts.iter().find(|it| Some(it.id) == entry.stands_on)
        && presence(engine, mount, &MountTable::read()?)? == Presence::Present
    {
        match syscalls::thaw(open_root(engine, mount)?) {
            Ok(()) | Err(Errno::INVAL) => {}
            Err(errno) => return Err(NodeError::system(format!("thawing {}", mount.place), errno)),
        }
    }
    engine.strike(entry.id)
}

fn log_failure(key: &VolumeKey, result: Result<(), NodeError>) {
    if let Err(error) = result {
        log(&format!("thawing volume {}: {error}", key.volume));
    }
}
