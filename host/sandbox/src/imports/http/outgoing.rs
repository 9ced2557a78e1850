//! The HTTP of one instance: whose requests they are, and what they may use. Decides nothing.

use std::sync::Arc;
use std::time::Duration;

use wasmtime_wasi_http::{RequestOptions, WasiHttpCtx};

use crate::context::CallContext;
use crate::surroundings::{Surroundings, View};
use drivebay_egress::{Allowance, GuestTimeouts, Phase, Presence, Progress, RequestContext};
use drivebay_recording::Tape;

/// Bytes of the fields of one message, counted as the engine does.
const FIELDS: usize = 64 * 1024;

/// The HTTP of one instance.
#[derive(Debug)]
pub struct Outgoing {
    pub(super) around: Arc<Surroundings>,
    pub(super) call: Arc<CallContext>,
    allowance: Arc<Allowance>,
    guest: Presence,
    /// What is recorded of it.
    pub(super) tape: Option<Tape>,
    /// Whether there was a request that may have changed something.
    pub(super) may_change: bool,
}

impl Outgoing {
    /// For an instance and its first call.
    pub fn new(around: &Arc<Surroundings>, call: &Arc<CallContext>, tape: Option<Tape>) -> Self {
        Self {
            around: Arc::clone(around),
            call: Arc::clone(call),
            allowance: allowance(around),
            guest: Presence::new(),
            tape,
            may_change: false,
        }
    }

    /// For the instance's next call.
    pub fn begin(&mut self, call: &Arc<CallContext>) {
        self.call = Arc::clone(call);
        self.allowance = allowance(&self.around);
    }

    /// What egress must know of a request.
    pub(super) fn ask(&self, options: Option<RequestOptions>) -> RequestContext {
        let timeouts = options.map_or_else(GuestTimeouts::default, |options| GuestTimeouts {
            connect: options.connect_timeout,
            head: options.first_byte_timeout,
            pause: options.between_bytes_timeout.map(|pause| pause.max(Duration::from_millis(1))),
        });
        RequestContext {
            call: self.call.id.clone(),
            secrets: self.call.secrets.clone(),
            phase: match self.around.view {
                View::Full => Phase::Serving,
                View::ReadOnly => Phase::Trial,
            },
            timeouts,
            ends: self.call.ends,
            allowance: Arc::clone(&self.allowance),
            guest: self.guest.witness(),
            progress: Progress::default(),
        }
    }
}

/// What the engine keeps to.
pub fn fields() -> WasiHttpCtx {
    let mut fields = WasiHttpCtx::new();
    fields.set_field_size_limit(FIELDS);
    fields
}

fn allowance(around: &Surroundings) -> Arc<Allowance> {
    Arc::new(Allowance::new(around.limits.crossing_total, around.limits.http.requests))
}
