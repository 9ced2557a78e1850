//! The effect around `settling`: the system's events, looks and reads of one file, as a task. Decides nothing.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{Config, RecommendedWatcher, RecursiveMode, Watcher};
use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::resolved::ResolvedPath;
use super::settling::{Event, Next, Settling, Stamp};

/// A file that is watched until this is dropped.
#[derive(Debug)]
pub struct Watch(#[expect(dead_code, reason = "held for its Drop")] AbortOnDropHandle<()>);

impl Watch {
    /// Watches a file. Every content that comes to rest is told, with its SHA-256 in hexadecimal; the first is
    /// the one that is there already, because it may have changed since the watcher read it.
    pub fn start(path: &Path, tell: impl Fn(String) + Send + 'static) -> Self {
        // A relative path is the operator's, and means the directory the program was started in.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let task = tokio_util::task::TaskTracker::new().spawn(watch(path, tell));
        Self(AbortOnDropHandle::new(task))
    }
}

/// The system's events for one file. Without them it is looked at now and then.
struct Notifications {
    watcher: Option<RecommendedWatcher>,
    resolved: ResolvedPath,
}

impl Notifications {
    fn new(send: mpsc::UnboundedSender<notify::Event>) -> Self {
        let hear = move |event: notify::Result<notify::Event>| {
            // An error is no event, and a look comes anyway. Files beside it are opened all the time, which wakes nobody.
            if let Ok(event) = event
                && !is_only_read(event.kind)
            {
                let _ = send.send(event);
            }
        };
        let watcher = RecommendedWatcher::new(hear, Config::default().with_follow_symlinks(false))
            .inspect_err(|error| tracing::warn!(%error, "no events of files; they are looked at now and then"))
            .ok();
        Self { watcher, resolved: ResolvedPath::default() }
    }

    /// Listens where the path leads now.
    fn follow(&mut self, path: &Path) {
        let resolved = ResolvedPath::to(path);
        if let Some(watcher) = &mut self.watcher {
            for left in self.resolved.directories.difference(&resolved.directories) {
                // It may be gone, and its watch with it.
                let _ = watcher.unwatch(left);
            }
            for new in resolved.directories.difference(&self.resolved.directories) {
                if let Err(error) = watcher.watch(new, RecursiveMode::NonRecursive) {
                    tracing::warn!(%error, directory = %new.display(), "no events from here; the file is looked at now and then");
                }
            }
        }
        self.resolved = resolved;
    }

    /// What an event means for the file; none: nothing.
    fn meaning(&self, event: &notify::Event) -> Option<Event> {
        if event.need_rescan() {
            return Some(Event::Written);
        }
        let concerns = event.paths.iter().any(|path| self.resolved.names.contains(path));
        let meaning = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => Event::Closed,
            EventKind::Access(_) => return None,
            EventKind::Modify(ModifyKind::Name(_)) | EventKind::Remove(_) => Event::Replaced,
            EventKind::Modify(ModifyKind::Metadata(_)) => Event::Beside,
            // A link is whole when it is made; a file is not.
            EventKind::Create(_) if event.paths.iter().any(|path| path.is_symlink()) => Event::Replaced,
            EventKind::Create(_) | EventKind::Modify(_) | EventKind::Any | EventKind::Other => Event::Written,
        };
        concerns.then_some(meaning)
    }
}

/// Whether a file is as it was.
const fn is_only_read(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(it) if !matches!(it, AccessKind::Close(AccessMode::Write)))
}

async fn watch(path: PathBuf, tell: impl Fn(String) + Send + 'static) {
    let (send, mut events) = mpsc::unbounded_channel();
    let (mut notifications, begin, mut settling) = (Notifications::new(send), Instant::now(), Settling::default());
    loop {
        tokio::select! {
            Some(event) = events.recv() => {
                if let Some(event) = notifications.meaning(&event) {
                    settling.happened(begin.elapsed(), event);
                }
                continue;
            }
            () = tokio::time::sleep_until(begin + settling.next()) => {}
        }
        // Before the look: what happens after it is then heard of.
        let from = path.clone();
        let followed = tokio::task::spawn_blocking(move || {
            notifications.follow(&from);
            (notifications, look(&from))
        });
        let Ok((same, seen)) = followed.await else { return };
        notifications = same;
        if settling.looked(begin.elapsed(), seen) == Next::Read {
            let from = path.clone();
            let Ok(read) = tokio::task::spawn_blocking(move || read(&from)).await else { return };
            let (looks, digest) = read.map_or((None, String::new()), |(looks, digest)| (Some(looks), digest));
            if let Some(digest) = settling.was_read(begin.elapsed(), looks, &digest) {
                tell(digest);
            }
        }
    }
}

fn look(path: &Path) -> Option<Stamp> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|meta| stamp(&meta))
}

fn stamp(meta: &std::fs::Metadata) -> Stamp {
    let moment = |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    Stamp {
        file: (meta.dev(), meta.ino()),
        size: meta.size(),
        changed: (moment(meta.mtime(), meta.mtime_nsec()), moment(meta.ctime(), meta.ctime_nsec())),
    }
}

/// Reads the file through one descriptor, looking before, and at the path again after.
fn read(path: &Path) -> io::Result<((Stamp, Stamp), String)> {
    // A pipe that has taken its place would be waited for.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let before = stamp(&file.metadata()?);
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let n = file.read(&mut buffer)?;
        match buffer.get(..n) {
            Some(part) if n > 0 => hash.update(part),
            _ => break,
        }
    }
    let digest = hex::encode(hash.finalize());
    let after = look(path).ok_or(io::ErrorKind::NotFound)?;
    Ok(((before, after), digest))
}
