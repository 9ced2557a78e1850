//! Work on the node that needs privilege: loop devices, mounts, freezes and the ledger of all of them.
//!
//! This module owns the helper process and the handle that the host speaks to it with. It must not
//! know RPCs, components or their generations. The work runs in a process of its own because the
//! process that runs guests gives up the right to mount, and because a crash of either side must
//! leave a ledger from which the other can tidy up.
//!
//! The helper needs `CAP_SYS_ADMIN`, the host's `/dev` and a kernel of 5.12 or later; growing a mounted
//! ext4 also needs `CAP_SYS_RESOURCE`.
//!
//! ```text
//! host --"start", with two descriptors--> launcher --starts--> helper
//! host: Node (client) --frames over a socketpair--> helper: engine --> ops --> kernel
//!                                                     '--> book = ledger (model) + journal (file)
//! ```

mod book;
mod calls;
mod client;
mod dispatch;
mod engine;
mod error;
mod frames;
mod helper;
mod journal;
mod launcher;
mod ledger;
mod ops;
mod programs;
mod protocol;
mod recover;
mod turns;
mod upkeep;

#[cfg(test)]
mod tests;

pub use calls::MountRequest;
pub use client::Node;
pub use error::{ErrorCode, NodeError};
pub use helper::helper_main;
pub use launcher::{Launcher, launcher_main};
pub use protocol::{
    Access, Answer, BindSource, CallPath, Caller, DirectoryGrant, EntryKind, LedgerEntry, Load, Operation, PathRole,
    Publication, PublicationKind, RecoveryReport, Request, Unresolved, Usage, UsageUnit,
};

use std::path::Path;
use std::sync::Arc;

/// The hidden subcommand that turns the host's binary into the helper. Its one argument is the
/// number of the inherited descriptor.
pub const HELPER_SUBCOMMAND: &str = "node-helper";

/// The same for the launcher.
pub const LAUNCHER_SUBCOMMAND: &str = "node-launcher";

/// How long a freeze holds unless it is thawed before, in milliseconds.
pub const FREEZE_HOLD_MS: u64 = 30_000;

/// Starts the helper and returns the handle to it.
///
/// `state_dir` is an existing directory that holds the ledger. The launcher was started while this process had
/// its rights; this may be called after it has given them up. Nothing is recovered yet: call [`Node::recover`]
/// before the first call of a backend.
pub fn spawn(launcher: Launcher, state_dir: &Path) -> Result<Node, NodeError> {
    Node::start(client::Launch::Through(Arc::new(launcher)), state_dir)
}
