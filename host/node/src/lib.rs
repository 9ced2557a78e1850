//! Work on the node that needs privilege: loop devices, mounts, freezes and the ledger of all of them.
//!
//! This crate owns the helper process and the handle that the host speaks to it with. It must not
//! know RPCs, components or their generations. The work runs in a process of its own because the
//! process that runs guests gives up the right to mount, and because a crash of either side must
//! leave a ledger from which the other can tidy up.
//!
//! The helper needs `CAP_SYS_ADMIN`, the host's `/dev` and a kernel of 5.12 or later; growing a mounted
//! ext4 also needs `CAP_SYS_RESOURCE`.
//!
//! ```text
//! host --mandate, once; "start", with two descriptors--> launcher --starts, with the mandate sealed--> helper
//! host: "show" --> launcher: makes a mount namespace, and shows in it what the operator says; the host enters
//! host: Node (client) --frames over a socketpair--> helper: dispatch --> ops --> system --> kernel
//!                                                                         '--> engine --> book
//! book = ledger (model) + journal (file)
//! ```
//!
//! One folder or file per process: `client` runs in the host, `launcher` and `helper` in processes of
//! their own. They share only what stands next to them here, and do not name each other.

mod client;
mod configuration;
mod error;
mod frames;
mod helper;
mod launcher;
mod ledger_directory;
mod permissions;
mod process;
mod protocol;
mod sealed;
mod view;
mod visible;

#[cfg(test)]
mod tests;

pub use client::{ConnectRequest, Launcher, MountRequest, Node, ShareRequest};
pub use error::{ErrorCode, NodeError};
pub use helper::{fabrics_main, helper_main, still_there};
pub use launcher::launcher_main;
pub use permissions::{
    AttachGrant, DirectoryGrant, IscsiGrant, Mandate, MountOption, NfsGrant, NvmeTcpGrant, Permissions,
    PermissionsByName, PortalRange, ReadPermissions,
};
pub use process::{FABRICS_SUBCOMMAND, HELPER_SUBCOMMAND, LAUNCHER_SUBCOMMAND};
pub use protocol::{
    Access, Answer, BindSource, CallPath, Caller, Chap, DhChap, EntryKind, FREEZE_HOLD_MS, Health, IscsiTarget,
    LedgerEntry, Load, Login, NfsShare, NvmeTcpTarget, Operation, PathRole, Publication, PublicationKind,
    RecoveryReport, Request, Secret, Share, Target, Unresolved, Usage, UsageUnit,
};
pub use visible::{ReadVisible, Visibility, Visible};

use std::sync::Arc;

/// Starts the helper and returns the handle to it.
///
/// The launcher was started, with what helpers may do, while this process had its rights; this may be called after
/// it has given them up. Nothing is recovered yet: call [`Node::recover`] before the first call of a backend.
pub fn spawn(launcher: Arc<Launcher>) -> Result<Node, NodeError> {
    Node::start(client::Launch::Through(launcher))
}
