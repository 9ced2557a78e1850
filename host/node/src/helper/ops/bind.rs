//! Bind mounts: showing a mounted volume, or a granted directory or file, a second time.
//!
//! The copy is made read-only before it is attached, so it is never writable for a moment. It must
//! not show what lies mounted below the source: only the volume is the workload's.

use std::os::fd::OwnedFd;

use super::super::engine::Scope;
use super::super::options::FORBIDDEN;
use super::super::system::paths::glance;
use super::super::system::syscalls;
use super::effect::{Missing, carry_out, vacant};
use super::mount::other_arguments;
use super::presence::need_mounted;
use super::trees::{attach, copy};
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, BindSource, EntryKind};

/// What is bound.
#[derive(Debug)]
struct Source {
    node: OwnedFd,
    stands_on: Option<u64>,
    granted: Option<String>,
}

/// Shows a directory or file at the target.
pub(crate) fn bind(scope: &Scope<'_>, source: &BindSource, target: &str, access: Access) -> Result<(), NodeError> {
    let source = find(scope, source, access)?;
    let seen = glance(&source.node, "the source of a bind mount")?;
    let place = scope.place(target)?;
    if let Some(found) = scope.at(&place) {
        let same = found.kind == EntryKind::Bind && found.backing == seen.id && found.access == access;
        return if same { Ok(()) } else { Err(other_arguments(&found)) };
    }
    let shape = seen.shape.ok_or_else(|| {
        let message = "only directories and regular files can be bound";
        NodeError::new(ErrorCode::Invalid, message)
    })?;
    let mut entry = scope.draft(EntryKind::Bind, target, &place.real, seen.id);
    entry.created_path = vacant(&place, shape, Missing::Create)?;
    entry.access = access;
    entry.stands_on = source.stands_on;
    let is_granted = source.granted.is_some();
    entry.source = source.granted;
    let created = entry.created_path;
    carry_out(scope, entry, |_| {
        if created {
            place.create(shape)?;
        }
        let tree = copy(&source.node, access)?;
        if is_granted {
            forbid(&tree)?;
        }
        attach(&tree, &place)
    })
    .map(drop)
}

fn find(scope: &Scope<'_>, source: &BindSource, access: Access) -> Result<Source, NodeError> {
    match source {
        BindSource::Granted(path) => {
            let node = scope.grants.node(path, access)?;
            Ok(Source { node, stands_on: None, granted: Some(path.clone()) })
        }
        BindSource::Mounted(path) => {
            let place = scope.find_place(path)?.ok_or_else(|| scope.nothing_at(path))?;
            let entry = need_mounted(scope, &place)?;
            if access == Access::ReadWrite && entry.access == Access::ReadOnly {
                let message = format!("{path} is mounted for reading only");
                return Err(NodeError::new(ErrorCode::Invalid, message));
            }
            let node = place.node()?.ok_or_else(|| scope.nothing_at(path))?;
            Ok(Source { node, stands_on: Some(entry.id), granted: None })
        }
    }
}

/// What lies in a granted directory is its backend's, as an image is. What is mounted already has its own flags.
fn forbid(tree: &OwnedFd) -> Result<(), NodeError> {
    syscalls::forbid(tree, FORBIDDEN).map_err(|errno| NodeError::system("forbidding devices on a mount", errno))
}
