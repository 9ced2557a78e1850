//! `drivebay:host/context`: where and for what the component runs.

use crate::sandbox::bindings::drivebay::host::context::Host;
use crate::sandbox::store::HostState;

impl crate::sandbox::bindings::drivebay::host::types::Host for HostState {}

impl crate::sandbox::bindings::drivebay::backend::types::Host for HostState {}

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
