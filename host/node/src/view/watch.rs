//! Tells that a file or directory which is shown may have been moved, removed or replaced: the kernel tells of changes in
//! the directories that such names stand in. Looks at nothing itself.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Result;

const NAMES: WatchFlags =
    WatchFlags::CREATE.union(WatchFlags::DELETE).union(WatchFlags::MOVE).union(WatchFlags::ONLYDIR);

/// The directories that are watched.
#[derive(Debug)]
pub(super) struct Watch(OwnedFd);

impl Watch {
    pub(super) fn new() -> Result<Self> {
        init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map(Self)
    }

    /// Watches the directories that these stand in, too. One that is not there is found when it is looked for again.
    pub(super) fn cover<'a>(&self, paths: impl Iterator<Item = &'a Path>) {
        for directory in paths.filter_map(Path::parent) {
            let _ = add_watch(&self.0, directory, NAMES);
        }
    }

    /// Forgets what was told so far.
    pub(super) fn forget(&self) {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut told = Reader::new(&self.0, &mut buffer);
        while told.next().is_ok() {}
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
