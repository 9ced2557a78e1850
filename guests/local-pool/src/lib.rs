//! The pool of the backend `local`: one directory with a record and the contents of every object.
//!
//! Three types, each a view of one call:
//!
//! - [`Pool`] knows where everything stands, reads records, and writes files that are whole or not there;
//! - [`Lifecycle`] makes objects appear and disappear, so that a crash leaves all of one or nothing;
//! - [`Contents`] fills images and directories, and knows who uses them.
//!
//! `host` and `disk` are what they ask of the sandbox, `record` what stands in the files, `refusal` the errors. No
//! request of a client is known here, and no listing: those are `local` and `local-index`.

mod contents;
pub mod disk;
pub mod host;
pub mod ids;
mod lifecycle;
mod pool;
pub mod record;
pub mod refusal;

pub use contents::{Contents, Hold, Place, USES, use_key};
pub use lifecycle::{Claim, Draft, Lifecycle};
pub use pool::{DATA, IMAGE, Pool, Progress, Section, Sharing};
