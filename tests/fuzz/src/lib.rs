//! What the fuzzers do with their bytes, one module a target: input, the host's own code, and an oracle that knows the
//! rules from elsewhere (the table of facts, the registries of addresses, a model). A target panics when its oracle is
//! contradicted. Owns no rule of the host's.
//!
//! `planted()` is a bug in the way to the host's code, one a target: `check` switches it on and sees that it is found.

pub mod answer;
pub mod cache;
pub mod config;
pub mod egress;
pub mod log;
mod made;
pub mod request;
mod rpcs;
mod rules;
mod verdict;

use std::sync::OnceLock;

/// Whether the planted bugs are there.
pub fn planted() -> bool {
    static PLANTED: OnceLock<bool> = OnceLock::new();
    *PLANTED.get_or_init(|| std::env::var_os("DRIVEBAY_PLANTED").is_some())
}
