//! How much the helper does at once, for each backend and for all of them. What the operator can set stands in the
//! permissions instead.

use std::time::Duration;

/// Requests that are worked on at once. Each may hold a program, so this bounds processes as well.
pub(super) const AT_ONCE: usize = 64;
/// Of these, requests of one backend: one that waits for a slow disk leaves room for the others, and one that has many is
/// no more than a few steps of the kernel's before them.
pub(super) const AT_ONCE_OF_ONE: usize = 4;
/// Requests at once that wait for servers, beside those above: they hold a sleeping program and nothing that others need.
pub(super) const SERVERS_AT_ONCE: usize = 256;
/// Of these, requests of one backend: a server that hangs holds some for as long as their deadlines, and other volumes go on.
pub(super) const SERVERS_AT_ONCE_OF_ONE: usize = 32;
/// Requests of one backend that wait. More than the host has calls at once, several times over.
pub(super) const WAITING_OF_ONE: usize = 1024;
/// How long what runs may go on when the host has ended: most of it is over in a moment, a check of a huge image is not.
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// Programs that check, change or grow a file system, of one backend at once: they compute and read for long.
pub(super) const HEAVY_OF_ONE: usize = 2;

/// What one backend may have at once of what all share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shares {
    /// Requests that are worked on.
    pub(super) at_once: usize,
    /// Programs that check, change or grow a file system.
    pub(super) heavy: usize,
}

impl Default for Shares {
    fn default() -> Self {
        Self { at_once: AT_ONCE_OF_ONE, heavy: HEAVY_OF_ONE }
    }
}

impl Shares {
    /// All there is.
    pub(super) const NONE: Self = Self { at_once: AT_ONCE, heavy: AT_ONCE };
}
