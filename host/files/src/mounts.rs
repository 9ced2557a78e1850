//! Whether something was mounted or unmounted since it was last looked, for this process. Owns the one descriptor that the
//! kernel tells it by; knows no directory.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    fs::File,
    sync::{LazyLock, Mutex, PoisonError},
};

/// The table of mounts, with how often it was seen to have changed.
static TABLE: LazyLock<Option<Mutex<Table>>> =
    LazyLock::new(|| File::open("/proc/self/mountinfo").ok().map(|file| Mutex::new(Table { file, seen: 1 })));

struct Table {
    file: File,
    seen: u64,
}

/// A number that is another one after each change of the table of mounts. None: nobody can tell.
pub(super) fn changes() -> Option<u64> {
    const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut table = TABLE.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
    // The kernel says so once for each descriptor.
    let mut asked = [PollFd::new(&table.file, PollFlags::PRI)];
    let has_changed = poll(&mut asked, Some(&NOW)).ok()? > 0;
    table.seen += u64::from(has_changed);
    Some(table.seen)
}
