//! Storage that is reached over a network: mounting a volume's share, connecting its disk, and the ways back.
//!
//! Owns the order that all protocols share: the grant, the ledger, the effect, and only then the place where workloads
//! look. It must not know how a protocol is spoken; that is up to the folder of each, which is named here once.
//! It must not touch a file of a share by itself: a server that hangs would hold this process. What waits for a
//! server is a program with a deadline; all else here is asked of the mount table, which waits for nobody.

mod access;
mod beginning;
pub(in crate::helper) mod connect;
mod flush;
pub(in crate::helper) mod format;
pub(in crate::helper) mod health;
mod iscsi;
mod nfs;
mod outcome;
mod private;
mod usage;

use super::super::engine::{Engine, Scope};
use super::super::ledger::{Entry, Shared};
use super::super::system::paths::Place;
use super::bind::copy;
use super::mount::attach;
use super::options::MountPlan;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::Share;
use private::Private;

pub(in crate::helper) use iscsi::Grant as IscsiGrant;
pub(in crate::helper) use nfs::Grant as NfsGrant;
pub(in crate::helper) use private::directory as aside;
pub(in crate::helper) use usage::usage;

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
