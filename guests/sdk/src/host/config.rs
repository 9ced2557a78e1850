//! The settings that the operator wrote for this backend. Fixed for a generation, never secret.
//!
//! Reading only: a backend that wants to remember something has [`crate::state`].
//!
//! ```no_run
//! # fn read() -> drivebay_sdk::Result<()> {
//! let pool = drivebay_sdk::config::require("pool")?;
//! let link = drivebay_sdk::config::get("link")?.unwrap_or_else(|| "private".to_owned());
//! # Ok(()) }
//! ```

use crate::bindings::host::wasi::config::store::Error as Failed;
use crate::{Error, Result};

#[cfg(target_family = "wasm")]
use crate::bindings::host::wasi::config::store;
#[cfg(not(target_family = "wasm"))]
use crate::testing::config as store;

/// One setting; none: it is not set. `unavailable`: the host could not read it.
pub fn get(key: &str) -> Result<Option<String>> {
    store::get(key).map_err(failed)
}

/// One setting that must be there. `failed-precondition`: the operator has not set it.
pub fn require(key: &str) -> Result<String> {
    get(key)?.ok_or_else(|| Error::failed_precondition(format!("the setting {key} is missing")))
}

/// All settings. `unavailable`: the host could not read them.
pub fn get_all() -> Result<Vec<(String, String)>> {
    store::get_all().map_err(failed)
}

fn failed(error: Failed) -> Error {
    let (Failed::Upstream(why) | Failed::Io(why)) = error;
    Error::unavailable(format!("the settings cannot be read: {why}"))
}
