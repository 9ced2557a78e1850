//! The pool of the backend `local`: one directory with a record and the contents of every object.
//!
//! Three types, each valid for one call:
//!
//! - [`Pool`] has the paths, reads records and replaces files atomically;
//! - [`Lifecycle`] creates and removes objects so that a crash leaves all of an object or nothing;
//! - [`Contents`] fills images and directories, and knows who uses them.
//!
//! `host` and `disk` are what they need from the sandbox, `record` defines the files' contents, `refusal` the errors.
//! Requests of clients are handled in `local`, listings in `local-index`.

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
