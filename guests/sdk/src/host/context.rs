//! Where and for what the component runs.
//!
//! Facts of the host and of the call under way; nothing here can fail or change anything.
//!
//! ```no_run
//! use drivebay_sdk::context;
//! use std::time::Duration;
//!
//! if context::remaining() < Duration::from_secs(2) {
//!     // Too little for another round: leave the progress in the state and answer `unavailable`.
//! }
//! ```

use std::time::Duration;

#[cfg(target_family = "wasm")]
use crate::bindings::host::drivebay::host::context as raw;
#[cfg(not(target_family = "wasm"))]
use crate::testing::context as raw;

pub use raw::{call_id, host_id, node_granted, node_id};

/// How long until the host ends this call.
pub fn remaining() -> Duration {
    Duration::from_millis(raw::remaining_time())
}
