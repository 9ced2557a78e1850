//! Looking where paths lead, each on a thread of its own where its server may not answer: one that hangs holds its
//! thread, and the view stays what it was there.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::resolved::ResolvedPath;

/// How long a path is waited for when it does not hang yet.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is known of paths.
#[derive(Debug, Default)]
pub(super) struct PathProbes {
    /// The system's own: they are looked at as they come.
    trusted: HashSet<PathBuf>,
    known: HashMap<PathBuf, Probe>,
}

#[derive(Debug, Default)]
struct Probe {
    last: ResolvedPath,
    under_way: Option<Receiver<ResolvedPath>>,
}

impl PathProbes {
    pub(super) fn new(trusted: impl Iterator<Item = PathBuf>) -> Self {
        Self { trusted: trusted.collect(), known: HashMap::new() }
    }

    /// Where a path leads; where that does not come to be known, what was known last.
    pub(super) fn resolved(&mut self, path: &Path) -> ResolvedPath {
        if self.trusted.contains(path) {
            return ResolvedPath::of(path);
        }
        let look = self.known.entry(path.to_owned()).or_default();
        let (told, patience) = match look.under_way.take() {
            Some(told) => (told, Duration::ZERO),
            None => match begin(path) {
                Some(told) => (told, PATIENCE),
                None => return look.last.clone(),
            },
        };
        match told.recv_timeout(patience) {
            Ok(resolved) => look.last = resolved,
            Err(RecvTimeoutError::Timeout) => look.under_way = Some(told),
            Err(RecvTimeoutError::Disconnected) => {}
        }
        look.last.clone()
    }

    /// Whether looking at a path hangs now.
    pub(super) fn hangs(&self, path: &Path) -> bool {
        self.known.get(path).is_some_and(|look| look.under_way.is_some())
    }
}

fn begin(path: &Path) -> Option<Receiver<ResolvedPath>> {
    let (tell, told) = channel();
    let path = path.to_owned();
    let look = move || {
        // Nobody hears it any more where the view has gone.
        let _ = tell.send(ResolvedPath::of(&path));
    };
    thread::Builder::new().name("look".to_owned()).spawn(look).ok().map(|_| told)
}
