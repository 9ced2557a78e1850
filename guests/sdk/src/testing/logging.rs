//! The log of the host for unit tests, with the function of `wasi:logging`.

use super::with;
use crate::bindings::host::wasi::logging::logging::Level;

/// As `logging.log`.
pub(crate) fn log(level: Level, context: &str, message: &str) {
    let level = format!("{level:?}");
    let level = level.rsplit("::").next().unwrap_or_default().to_lowercase();
    with(|host| host.lines.push(format!("{level} {context}: {message}")));
}
