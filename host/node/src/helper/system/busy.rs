//! Waiting for what the kernel calls busy, or does in its own time.
//!
//! Owns how long that takes at most. It must not know what is waited for.

use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;

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
