//! A granted directory while it is open: the descriptor beneath which everything is opened, and what the component
//! calls it.
//!
//! Opens nothing itself.

use super::path::GuestPath;
use std::os::fd::OwnedFd;

/// One granted directory, open.
#[derive(Debug)]
pub(super) struct Granted {
    guest: GuestPath,
    root: OwnedFd,
}

impl Granted {
    /// The directory that the component calls `guest`.
    pub(super) const fn new(guest: GuestPath, root: OwnedFd) -> Self {
        Self { guest, root }
    }

    /// The granted directory, to open beneath it only.
    pub(super) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// What `names` beneath this directory are called by the component.
    pub(super) fn name(&self, names: &str) -> String {
        format!("{}/{names}", self.guest.text().trim_end_matches('/'))
    }
}
