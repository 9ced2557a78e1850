//! Storage that is reached over a network: mounting a volume's share, and taking it down.
//!
//! Owns the order that all protocols share: the grant, the ledger, the effect, and only then the place where workloads
//! look. It must not know how a protocol is spoken; that is up to the folder of each, which is named here once.
//! It must not touch a file of a share by itself: a server that hangs would hold this process. What waits for a
//! server is a program with a deadline; all else here is asked of the mount table, which waits for nobody.

mod access;
mod nfs;
mod outcome;
mod private;
mod usage;

use super::super::engine::{Engine, Scope};
use super::super::ledger::{Entry, FileId, Recipe, Shared};
use super::super::system::paths::{Place, Shape};
use super::bind::copy;
use super::effect::{Missing, carry_out, vacant};
use super::mount::{attach, other_arguments};
use super::options::{self, MountPlan};
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, EntryKind, PathRole, Share};
use private::Private;

pub(in crate::helper) use nfs::Grant as NfsGrant;
pub(in crate::helper) use private::directory as aside;
pub(in crate::helper) use usage::usage;

/// Which share to mount where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) share: &'a Share,
    pub(crate) target: &'a str,
    pub(crate) options: &'a [String],
    pub(crate) access: Access,
}

/// Mounts a share at the target.
pub(crate) fn mount_share(scope: &Scope<'_>, wanted: Wanted<'_>) -> Result<(), NodeError> {
    let Wanted { share, target, .. } = wanted;
    let plan = options::plan_share(wanted.options, wanted.access, &scope.grants.mount_options)?;
    let recipe = Recipe { file_system: protocol(share).to_owned(), options: wanted.options.to_vec() };
    let place = scope.place(target)?;
    if let Some(found) = scope.at(&place) {
        let asked = found.share.as_ref().map(|shared| &shared.asked);
        let same = asked == Some(share) && found.recipe.as_ref() == Some(&recipe) && found.access == plan.access;
        return if same { Ok(()) } else { Err(other_arguments(&found)) };
    }
    let source = match share {
        Share::Nfs(share) => nfs::source(share, scope.grants.attach())?,
    };
    // Staging paths are made by the client; a target is ours to make and to remove.
    let missing = if place.role == PathRole::Target { Missing::Create } else { Missing::Refuse };
    let mut entry = scope.draft(EntryKind::Mount, target, &place.real, FileId { device: 0, inode: 0 });
    entry.created_path = vacant(&place, Shape::Directory, missing)?;
    entry.access = plan.access;
    entry.recipe = Some(recipe);
    entry.share = Some(Box::new(Shared { asked: share.clone(), source: source.clone() }));
    let (created, id) = (entry.created_path, entry.id);
    carry_out(scope, entry, || {
        if created {
            place.create(Shape::Directory)?;
        }
        show(scope.engine, id, &Mount { share, source: &source, plan: &plan }, &place)
    })
    .map(drop)
}

/// What is mounted, and how.
#[derive(Debug, Clone, Copy)]
struct Mount<'a> {
    share: &'a Share,
    source: &'a str,
    plan: &'a MountPlan,
}

/// Mounts where nobody looks, checks what was mounted, and shows it at the place.
fn show(engine: &Engine, entry: u64, mount: &Mount<'_>, place: &Place) -> Result<(), NodeError> {
    let aside = Private::new(&engine.aside, entry);
    match mount.share {
        Share::Nfs(share) => nfs::mount(share, mount.source, mount.plan, &aside)?,
    }
    attach(&copy(&aside.open()?, mount.plan.access)?, place)?;
    aside.clear()
}

/// Takes away what a crash left aside of an entry.
pub(super) fn clear_aside(engine: &Engine, entry: &Entry) -> Result<(), NodeError> {
    if entry.share.is_some() { Private::new(&engine.aside, entry.id).clear() } else { Ok(()) }
}

/// Unmounts the share that is seen at an entry's place.
pub(super) fn take_down(entry: &Entry) -> Result<(), NodeError> {
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
const fn protocol(share: &Share) -> &'static str {
    match share {
        Share::Nfs(_) => "nfs",
    }
}
