//! What a backend may call: the host's functions in the form that Rust expects.
//!
//! Every function needs nothing or says which grant it needs; a function that is not used leaves
//! no import in the component, so the component's imports show what it can do at all.

pub mod attach;
pub mod config;
pub mod context;
pub mod files;
pub mod http;
pub mod log;
pub mod mounts;
pub mod state;
