//! `wasi:config/store`: the settings that the operator wrote for the backend.

use crate::store::HostState;
use drivebay_contract::bindings::wasi::config::store::{Error, Host};

impl Host for HostState {
    fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<String>, Error>> {
        Ok(Ok(self.around.settings.iter().find(|(k, _)| *k == key).map(|(_, v)| v.clone())))
    }

    fn get_all(&mut self) -> wasmtime::Result<Result<Vec<(String, String)>, Error>> {
        Ok(Ok(self.around.settings.clone()))
    }
}
