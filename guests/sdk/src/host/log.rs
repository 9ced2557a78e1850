//! Lines for the operator's log.
//!
//! The host bounds and rate-limits them, masks the secrets of the call, and adds backend,
//! generation and call id, so a line need not repeat them. Plain functions: a backend that prefers
//! a logging crate can forward to [`line()`].
//!
//! ```no_run
//! drivebay_sdk::log::info("volumes", format!("made {} in {} ms", "vol-7", 12));
//! ```

#[doc(inline)]
pub use crate::bindings::host::wasi::logging::logging::Level;

#[cfg(target_family = "wasm")]
use crate::bindings::host::wasi::logging::logging;
#[cfg(not(target_family = "wasm"))]
use crate::testing::logging;

/// One line. `context` is a short word for the part of the backend that speaks.
pub fn line(level: Level, context: &str, message: impl AsRef<str>) {
    logging::log(level, context, message.as_ref());
}

macro_rules! levels {
    ($($(#[$doc:meta])* $name:ident => $level:ident,)+) => {
        $($(#[$doc])*
        pub fn $name(context: &str, message: impl AsRef<str>) {
            line(Level::$level, context, message);
        })+
    };
}

levels! {
    /// For following every step.
    trace => Trace,
    /// For finding faults.
    debug => Debug,
    /// What an operator may want to know.
    info => Info,
    /// Something is not as it should be; the call goes on.
    warn => Warn,
    /// The call fails because of it.
    error => Error,
    /// Data are in danger; somebody must act.
    critical => Critical,
}
