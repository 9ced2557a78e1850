//! `wasi:logging/logging`: the component's own log lines.

use crate::observe::guest_log::Origin;
use crate::sandbox::bindings::wasi::logging::logging::{Host, Level};
use crate::sandbox::store::HostState;

impl Host for HostState {
    fn log(&mut self, level: Level, context: String, message: String) -> wasmtime::Result<()> {
        self.cross(context.len() + message.len())?;
        let level = match level {
            Level::Trace | Level::Debug => crate::observe::Level::Debug,
            Level::Info => crate::observe::Level::Info,
            Level::Warn => crate::observe::Level::Warn,
            Level::Error | Level::Critical => crate::observe::Level::Error,
        };
        let origin = Origin { call: &self.call.id, secrets: &self.call.secrets };
        self.around.log.line(level, &context, &message, origin);
        Ok(())
    }
}
