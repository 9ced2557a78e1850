//! A host for unit tests: what a backend's code calls when it is compiled for the machine and not for the sandbox.
//!
//! It owns a state, settings and facts of a call for each thread, in memory, so tests that run side by side
//! do not meet: Rust gives every test a thread. It keeps the contract's promises (a commit is all or nothing,
//! keys are in order), not the host's limits. In a component there is nothing of it.
//!
//! ```
//! use drivebay_sdk::{state, testing};
//!
//! testing::set_config("pool", "fast");
//! assert_eq!(drivebay_sdk::config::require("pool")?, "fast");
//!
//! // Another call writes between what this one reads and its commit: it must decide anew.
//! testing::conflicts(1);
//! let mut attempts = 0;
//! state::transact(|| {
//!     attempts += 1;
//!     Ok(((), state::Commit::new().put("key", "value")))
//! })?;
//! assert_eq!(attempts, 2);
//! assert_eq!(testing::keys(), ["key"]);
//! # Ok::<(), drivebay_sdk::Error>(())
//! ```

#[expect(clippy::unnecessary_wraps, reason = "the functions that they stand in for can fail")]
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod logging;
#[expect(clippy::unnecessary_wraps, reason = "the functions that they stand in for can fail")]
pub(crate) mod state;

use std::cell::RefCell;
use std::collections::BTreeMap;

thread_local! {
    static HOST: RefCell<Host> = RefCell::default();
}

/// What one thread's host knows.
#[derive(Debug, Default)]
struct Host {
    state: BTreeMap<String, Vec<u8>>,
    config: BTreeMap<String, String>,
    conflicts: u32,
    lines: Vec<String>,
}

fn with<T>(work: impl FnOnce(&mut Host) -> T) -> T {
    HOST.with_borrow_mut(work)
}

/// Forgets everything, as if the test began here.
pub fn reset() {
    with(|host| *host = Host::default());
}

/// Sets what [`config`](crate::config) reads.
pub fn set_config(key: impl Into<String>, value: impl Into<String>) {
    with(|host| host.config.insert(key.into(), value.into()));
}

/// Lets the next commits fail as if other calls had been faster.
pub fn conflicts(commits: u32) {
    with(|host| host.conflicts = commits);
}

/// The keys that the state holds, in order: what a test says is left, or is not.
pub fn keys() -> Vec<String> {
    with(|host| host.state.keys().cloned().collect())
}

/// The lines that were logged, as `level context: message`.
pub fn lines() -> Vec<String> {
    with(|host| host.lines.clone())
}
