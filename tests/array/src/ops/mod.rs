//! What the array can do, one file for each kind of object.
//!
//! Every operation is one transaction and may be repeated: asking for what is already so is success.

pub(crate) mod data;
pub(crate) mod groups;
pub(crate) mod hosts;
pub(crate) mod jobs;
pub(crate) mod session;
pub(crate) mod snapshots;
pub(crate) mod volumes;
