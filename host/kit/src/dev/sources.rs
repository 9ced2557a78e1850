//! Whether the files that a build is made of have changed. What a look finds decides, and events only say when to look:
//! a build that touches a file without changing it starts no other, and a file system without events is seen, too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// Editors write a file in several steps; this long nothing happens when they are done.
const QUIET: Duration = Duration::from_millis(60);
/// How often is looked without an event.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Folders that builds and tools write to.
const MADE: [&str; 5] = ["target", "build", "bindings", "node_modules", "__pycache__"];
/// How recordings end, which grow while something is served.
const RECORDING: &str = ".jsonl";

/// The files of a project as they were at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Look(BTreeMap<PathBuf, (u64, Option<SystemTime>)>);

/// Watches files and folders.
#[derive(Debug)]
pub(super) struct Sources {
    watch: Vec<PathBuf>,
    happened: Arc<Notify>,
    _watcher: Option<RecommendedWatcher>,
}

impl Sources {
    /// Watches these from now on.
    pub(super) fn watch(watch: &[PathBuf]) -> Self {
        let happened = Arc::new(Notify::new());
        let tell = Arc::clone(&happened);
        // A look opens folders, which is an event, too.
        let heard = move |event: notify::Result<notify::Event>| {
            if !event.is_ok_and(|event| event.kind.is_access()) {
                tell.notify_one();
            }
        };
        let watcher = notify::recommended_watcher(heard).ok().map(|mut watcher| {
            for path in folders(watch) {
                // Where there are no events, the looks are enough.
                let _ = watcher.watch(&path, RecursiveMode::NonRecursive);
            }
            watcher
        });
        Self { watch: watch.to_owned(), happened, _watcher: watcher }
    }

    /// The files as they are now.
    pub(super) fn look(&self) -> Look {
        let mut look = Look::default();
        for path in &self.watch {
            look.take(path);
        }
        look
    }

    /// Waits until they differ from an earlier look and have come to rest; names one that differs.
    pub(super) async fn differ_from(&self, before: &Look) -> PathBuf {
        loop {
            let now = self.look();
            if let Some(path) = before.difference(&now) {
                tokio::time::sleep(QUIET).await;
                if self.look() == now {
                    return path;
                }
                continue;
            }
            // Whether it was an event or the time does not matter: it is looked again.
            let _ = tokio::time::timeout(LOOK_EVERY, self.happened.notified()).await;
        }
    }
}

impl Look {
    fn take(&mut self, path: &Path) {
        let Ok(found) = std::fs::metadata(path) else { return };
        if !found.is_dir() {
            self.0.insert(path.to_owned(), (found.len(), found.modified().ok()));
            return;
        }
        for entry in std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok) {
            if is_source(&entry.path()) && !is_way_elsewhere(&entry.path()) {
                self.take(&entry.path());
            }
        }
    }

    fn difference(&self, other: &Self) -> Option<PathBuf> {
        let changed = other.0.iter().find(|(path, stamp)| self.0.get(*path) != Some(*stamp));
        let gone = self.0.keys().find(|path| !other.0.contains_key(*path));
        changed.map(|(path, _)| path).or(gone).cloned()
    }
}

/// Whether an entry of a watched folder is a part of the project, and not made from it.
fn is_source(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.starts_with('.') && !MADE.contains(&name.as_ref()) && !name.ends_with(RECORDING)
}

/// A link to a folder, which may lead out of the project or back to where it is.
fn is_way_elsewhere(path: &Path) -> bool {
    path.is_symlink() && path.is_dir()
}

/// All folders below the watched ones, one by one: a recursive watch would hear every file of a build.
fn folders(watch: &[PathBuf]) -> Vec<PathBuf> {
    let (mut found, mut rest) = (Vec::new(), watch.to_vec());
    while let Some(path) = rest.pop() {
        if path.is_dir() {
            let below = std::fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
            rest.extend(below.filter(|below| below.is_dir() && is_source(below) && !is_way_elsewhere(below)));
        }
        found.push(path);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Sources;

    #[tokio::test]
    async fn a_source_that_changes_is_named_and_what_a_build_writes_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("src/lib.rs");
        for folder in ["src", "target", ".dev"] {
            std::fs::create_dir(directory.path().join(folder)).unwrap();
        }
        std::fs::write(&source, "a").unwrap();
        let sources = Sources::watch(&[directory.path().to_owned()]);
        let before = sources.look();
        std::fs::write(directory.path().join("target/a.wasm"), "b").unwrap();
        std::fs::write(directory.path().join(".dev/host.toml"), "b").unwrap();
        assert_eq!(sources.look(), before);
        std::fs::write(&source, "abc").unwrap();
        assert_eq!(sources.differ_from(&before).await, source);
        let after = sources.look();
        std::fs::remove_file(&source).unwrap();
        assert_eq!(sources.differ_from(&after).await, source);
    }
}
