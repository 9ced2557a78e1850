//! Mounts that are attached nowhere yet: copied from what is there, and attached at a place.

use std::os::fd::OwnedFd;

use rustix::mount::{MoveMountFlags, OpenTreeFlags};

use super::super::system::paths::Place;
use super::super::system::syscalls;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::Access;

/// A second mount of what the descriptor shows, attached nowhere yet.
pub(crate) fn copy(node: &OwnedFd, access: Access) -> Result<OwnedFd, NodeError> {
    let failed = |errno| NodeError::system("copying a mount", errno);
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = rustix::mount::open_tree(node, "", flags).map_err(failed)?;
    if access == Access::ReadOnly {
        syscalls::set_access(&tree, access).map_err(failed)?;
    }
    Ok(tree)
}

/// Attaches a mount at a place.
pub(crate) fn attach(tree: &OwnedFd, place: &Place) -> Result<(), NodeError> {
    let Some(target) = place.node()? else {
        let message = format!("{} does not exist", place.real);
        return Err(NodeError::new(ErrorCode::NotFound, message));
    };
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(tree, "", &target, "", flags)
        .map_err(|errno| NodeError::system(format!("attaching a mount at {}", place.real), errno))
}
