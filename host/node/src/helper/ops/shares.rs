//! Shares of servers: mounting one where nobody looks, showing it, and the way back.
//!
//! Owns which protocol is asked, named here once, and what only a file system of this node can do. It must not know how a
//! protocol is spoken.

use super::super::engine::{Engine, Scope};
use super::super::ledger::{Entry, Shared};
use super::super::options::MountPlan;
use super::super::protocols::private::{self, Private};
use super::super::protocols::{flush, nfs};
use super::super::system::paths::Place;
use super::trees::{attach, copy};
use crate::error::{ErrorCode, NodeError};
use crate::protocol::Share;

/// Where a share is, if it is granted: as the mount table will show it.
pub(super) fn source(scope: &Scope<'_>, share: &Share) -> Result<String, NodeError> {
    match share {
        Share::Nfs(share) => nfs::source(share, &scope.grants.attach().nfs),
    }
}

/// Mounts a share where nobody looks, checks what was mounted, and shows it at the place.
pub(super) fn show(
    engine: &Engine,
    entry: u64,
    share: &Share,
    source: &str,
    plan: &MountPlan,
    place: &Place,
) -> Result<(), NodeError> {
    let aside = Private::new(&engine.aside, entry);
    match share {
        Share::Nfs(share) => nfs::mount(share, source, plan, &aside)?,
    }
    attach(&copy(&aside.open()?, plan.access)?, place)?;
    aside.clear()
}

/// Takes away what a crash left aside of an entry.
pub(super) fn clear_aside(engine: &Engine, entry: &Entry) -> Result<(), NodeError> {
    if entry.share.is_some() { Private::new(&engine.aside, entry.id).clear() } else { Ok(()) }
}

/// Unmounts the share that is seen at an entry's place.
pub(super) fn take_down(entry: &Entry) -> Result<(), NodeError> {
    flush::flush(&entry.place)?;
    private::unmount(&entry.place)
}

/// The share that an entry shows: its own, or the one that it is a second mount of.
pub(in crate::helper) fn share_of(engine: &Engine, entry: &Entry) -> Option<Box<Shared>> {
    engine.read(|ledger| {
        let mut at = Some(entry);
        while let Some(entry) = at {
            if entry.share.is_some() {
                return entry.share.clone();
            }
            at = entry.stands_on.and_then(|id| ledger.entries().find(|below| below.id == id));
        }
        None
    })
}

/// Refuses on a share what only a file system of this node can do.
pub(in crate::helper) fn expect_own(engine: &Engine, entry: &Entry, what: &str) -> Result<(), NodeError> {
    let Some(shared) = share_of(engine, entry) else { return Ok(()) };
    let message = format!("{} shows a share ({}), of which {what}", entry.path, protocol(&shared.asked));
    Err(NodeError::new(ErrorCode::Unsupported, message))
}

/// The name of a share's protocol.
pub(super) const fn protocol(share: &Share) -> &'static str {
    match share {
        Share::Nfs(_) => "nfs",
    }
}
