//! `drivebay:host/context`: where and for what the component runs.

use crate::store::HostState;
use drivebay_contract::bindings::drivebay::host::context::Host;

impl drivebay_contract::bindings::drivebay::host::types::Host for HostState {}

impl drivebay_contract::bindings::drivebay::backend::types::Host for HostState {}

impl Host for HostState {
    fn host_id(&mut self) -> wasmtime::Result<String> {
        Ok(self.around.host_id.clone())
    }

    fn node_id(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(self.around.node_id.clone())
    }

    fn call_id(&mut self) -> wasmtime::Result<String> {
        Ok(self.call.id.clone())
    }

    fn remaining_time(&mut self) -> wasmtime::Result<u64> {
        Ok(u64::try_from(self.call.remaining().as_millis()).unwrap_or(u64::MAX))
    }

    fn node_granted(&mut self) -> wasmtime::Result<bool> {
        Ok(self.around.node.is_some())
    }
}
