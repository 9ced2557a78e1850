//! The settings of the host for unit tests, with the functions of `wasi:config/store`.

use super::with;
use crate::bindings::host::wasi::config::store::Error;

/// As `store.get`.
pub(crate) fn get(key: &str) -> Result<Option<String>, Error> {
    Ok(with(|host| host.config.get(key).cloned()))
}

/// As `store.get-all`.
pub(crate) fn get_all() -> Result<Vec<(String, String)>, Error> {
    Ok(with(|host| host.config.clone().into_iter().collect()))
}
