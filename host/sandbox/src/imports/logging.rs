//! `wasi:logging/logging`: the component's own log lines.

use crate::store::HostState;
use drivebay_contract::bindings::wasi::logging::logging::{Host, Level};
use drivebay_observe::guest_log::Origin;

impl Host for HostState {
    fn log(&mut self, level: Level, context: String, message: String) -> wasmtime::Result<()> {
        self.cross(context.len() + message.len())?;
        let level = match level {
            Level::Trace | Level::Debug => drivebay_observe::Level::Debug,
            Level::Info => drivebay_observe::Level::Info,
            Level::Warn => drivebay_observe::Level::Warn,
            Level::Error | Level::Critical => drivebay_observe::Level::Error,
        };
        let origin = Origin { call: &self.call.id, secrets: &self.call.secrets };
        self.around.log.line(level, &context, &message, origin);
        Ok(())
    }
}
