//! What the helper does to the system, one file per kind of work.
//!
//! Owns the effects and their checks. It must not decide when something is undone (that is
//! [`super::recover`]) and must make no effect that is not in the ledger first.

pub(super) mod bind;
pub(super) mod block;
pub(super) mod connect;
pub(super) mod device;
mod disks;
mod effect;
pub(super) mod encrypt;
pub(crate) mod filesystem;
mod fit;
pub(super) mod format;
pub(super) mod freeze;
pub(super) mod health;
pub(super) mod mount;
pub(crate) mod presence;
pub(super) mod renew;
mod shares;
mod trees;
pub(super) mod undo;
pub(super) mod usage;
