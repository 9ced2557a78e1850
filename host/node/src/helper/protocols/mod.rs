//! Protocols of storage that is reached over a network: how each is spoken, and what may be granted of it.
//!
//! Owns each way up and down, one folder per protocol. It knows no engine and makes no entry: when what is done, and
//! what the ledger says of it, is up to `ops::shares` and `ops::disks`. It must not touch a file of a share by itself: a
//! server that hangs would hold this process. What waits for a server is a program with a deadline; all else here is
//! asked of the mount table, which waits for nobody.

mod access;
pub(super) mod beginning;
pub(super) mod disk;
pub(super) mod flush;
pub(super) mod iscsi;
pub(super) mod nfs;
pub(super) mod nvme;
mod outcome;
pub(super) mod portals;
pub(super) mod private;
mod usage;

pub(super) use private::directory as aside;
pub(super) use usage::usage;
