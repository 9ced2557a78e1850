//! What the helper does to the system, one file per kind of work.
//!
//! Owns the effects and their checks. It must not decide when something is undone (that is
//! [`super::recover`]) and must make no effect that is not in the ledger first.

pub(super) mod attach;
pub(super) mod bind;
pub(super) mod block;
pub(super) mod device;
mod effect;
pub(crate) mod filesystem;
mod fit;
pub(super) mod freeze;
pub(super) mod mount;
pub(crate) mod options;
pub(crate) mod presence;
pub(super) mod renew;
pub(super) mod undo;
pub(super) mod usage;
