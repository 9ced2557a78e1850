//! The host's side: the handle to the helper, and the handle to the launcher that starts helpers.
//!
//! Owns what of this crate runs in the host's own process. It must not need any right there, and must
//! not name anything of `helper`: the two share words, not code.

mod calls;
mod launcher;
mod node;
mod requests;
mod upkeep;

pub use calls::{ConnectRequest, MountRequest, ShareRequest};
pub use launcher::Launcher;
pub(crate) use node::Launch;
pub use node::Node;
