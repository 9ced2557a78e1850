//! What operators see: log lines, with secrets and hostile text kept out of them.

pub mod drill;
pub mod guest_log;
pub mod masking;
pub mod metrics;
pub mod text;

pub use guest_log::{GuestLog, Level, Topic};
pub use masking::Secrets;
