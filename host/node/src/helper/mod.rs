//! What runs in the helper process.
//!
//! Owns all work that needs privilege, and the ledger of it. It must not name anything of `client`.
//! A file names only files that stand below it:
//!
//! ```text
//! serve -> dispatch -> recover -> ops -> engine -> book -> journal -> ledger
//!   |         '-> rules            |
//!   '-> worker_pool -> schedule    |       |  still --> journal -> ledger (read by others)
//!                                  |       |-----> turns, holds, heavy, proofs
//!                                  |       '-----> permits -> grants
//!                                  |                            |
//!                                  |------> crypt (what decrypts a disk) ------------------,
//!                                  '------> protocols (how a server's storage is reached) -> options
//!                                               |                                          |
//!                                               '-> system (what the kernel and its programs are asked)
//! ```
//!
//! `ops`, `protocols`, `crypt` and `system` speak to the log through `log_budget`, and know of the ledger what an entry and a file's
//! identity are; `engine` and `grants` know of `protocols` what may be granted, and of `system` how paths are opened.

pub(crate) mod book;
mod crypt;
mod dispatch;
mod engine;
mod grants;
mod heavy;
mod holds;
pub(crate) mod journal;
pub(crate) mod ledger;
mod limits;
mod log_budget;
pub(crate) mod ops;
pub(crate) mod options;
mod permits;
mod proofs;
mod protocols;
#[cfg(test)]
mod recorded;
pub(crate) mod recover;
mod rules;
pub(crate) mod schedule;
mod serve;
mod still;
pub(crate) mod system;
pub(crate) mod turns;
mod worker_pool;

pub use protocols::nvme::fabrics_main;
pub use serve::helper_main;
pub use still::still_there;
