//! The interfaces that only the host calls: background work, recovery, the self-test.
//!
//! ```
//! use drivebay_sdk::{Recovery, Result, context, log, state};
//!
//! struct Array;
//!
//! impl Recovery for Array {
//!     /// Forgets the creations that this host had begun and not finished.
//!     fn recover() -> Result<()> {
//!         for intent in state::range(&format!("intent/{}/", context::host_id())) {
//!             let intent = intent?;
//!             log::info("recovery", format!("undoing {}", intent.key));
//!             state::Commit::new().delete(&intent.key).run()?;
//!         }
//!         Ok(())
//!     }
//! }
//! ```

use crate::bindings::interface;

interface! {
    /// Work that goes on without a client asking.
    background as Background, "drivebay:sdk/background"
}
interface! {
    /// Putting things right after a crash.
    recovery as Recovery, "drivebay:sdk/recovery"
}
interface! {
    /// A check before a new version takes over.
    self_test as SelfTest, "drivebay:sdk/self-test"
}
