//! `wasi:http/outgoing-handler`: a guest's requests, handed to the host's egress, and its answers handed back. Decides
//! nothing: who may be reached is egress's to say.
//!
//! A request that may change something goes on when its guest is ended, as every host operation does: the call's
//! locks are kept until the other side has answered, or the call's time is over.

mod reply;
mod request;

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Request, Response};
use wasmtime::component::Linker;
use wasmtime_wasi_http::p2::bindings::http::types::{DnsErrorPayload, ErrorCode, TlsAlertReceivedPayload};
use wasmtime_wasi_http::{
    Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

use self::request::written;
use crate::context::CallContext;
use crate::store::{HostState, Surroundings, View};
use drivebay_egress::{Allowance, Ask, EgressError, Patience, Presence, Progress, Standing, form};

/// Bytes of the fields of one message, counted as the engine does.
const FIELDS: usize = 64 * 1024;
/// Bytes that a guest hands over at once; what a body has not sent yet is kept by the host.
const CHUNK: usize = 64 * 1024;

/// How long the engine waits for something that ends with the request.
type Rest = Box<dyn Future<Output = Result<(), Error>> + Send>;
/// What the engine would wait for.
type Sent = Box<dyn Future<Output = Result<(Response<WasiBody>, Rest), Error>> + Send>;

/// The HTTP of one instance.
#[derive(Debug)]
pub struct Outgoing {
    around: Arc<Surroundings>,
    call: Arc<CallContext>,
    allowance: Arc<Allowance>,
    guest: Presence,
    /// Whether there was a request that may have changed something.
    may_change: bool,
}

impl Outgoing {
    /// For an instance and its first call.
    pub fn new(around: &Arc<Surroundings>, call: &Arc<CallContext>) -> Self {
        Self {
            around: Arc::clone(around),
            call: Arc::clone(call),
            allowance: allowance(around),
            guest: Presence::new(),
            may_change: false,
        }
    }

    /// For the instance's next call.
    pub fn begin(&mut self, call: &Arc<CallContext>) {
        self.call = Arc::clone(call);
        self.allowance = allowance(&self.around);
    }

    fn ask(&self, options: Option<RequestOptions>) -> Ask {
        let patience = options.map_or_else(Patience::default, |options| Patience {
            connect: options.connect_timeout,
            head: options.first_byte_timeout,
            pause: options.between_bytes_timeout.map(|pause| pause.max(Duration::from_millis(1))),
        });
        Ask {
            call: self.call.id.clone(),
            secrets: self.call.secrets.clone(),
            standing: match self.around.view {
                View::Full => Standing::Serving,
                View::ReadOnly => Standing::Trial,
            },
            patience,
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

/// Everything of `wasi:http` that a guest may import.
///
/// # Errors
/// When two definitions clash, which is a mistake in this crate.
pub fn link(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
    reply::link(linker)
}

fn allowance(around: &Surroundings) -> Arc<Allowance> {
    Arc::new(Allowance::new(around.limits.crossing_total, around.limits.http.requests))
}

impl HostState {
    /// The guest has left: what may change something goes on.
    pub(crate) fn leave_requests(&mut self) {
        if self.http.may_change {
            self.http.may_change = false;
            reply::leave(&mut self.table);
        }
    }
}

impl WasiHttpView for HostState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.http, table: &mut self.table, ctx: &mut self.http_fields }
    }
}

impl WasiHttpHooks for Outgoing {
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(|name: &HeaderName| form::is_forbidden(name))
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK
    }

    /// Nobody asks: `reply` has put its own `handle` before the engine's, which makes two tasks of every request.
    fn send_request(&mut self, _: Request<WasiBody>, _: Option<RequestOptions>, _: Rest) -> Sent {
        Box::new(async { Err(Error::InternalError(None)) })
    }
}

fn explain(error: &EgressError) -> ErrorCode {
    match error {
        EgressError::Refused(_) => ErrorCode::HttpRequestDenied,
        EgressError::Address(_) => ErrorCode::DestinationIpProhibited,
        EgressError::Name => ErrorCode::DnsError(DnsErrorPayload { rcode: None, info_code: None }),
        EgressError::NameTime => ErrorCode::DnsTimeout,
        EgressError::ConnectionRefused => ErrorCode::ConnectionRefused,
        EgressError::Unreachable => ErrorCode::DestinationIpUnroutable,
        EgressError::ConnectTime => ErrorCode::ConnectionTimeout,
        EgressError::Busy => ErrorCode::ConnectionLimitReached,
        EgressError::Certificate => ErrorCode::TlsCertificateError,
        EgressError::Alert(alert) => {
            ErrorCode::TlsAlertReceived(TlsAlertReceivedPayload { alert_id: Some(*alert), alert_message: None })
        }
        EgressError::Tls => ErrorCode::TlsProtocolError,
        EgressError::Time => ErrorCode::HttpResponseTimeout,
        EgressError::Cut => ErrorCode::ConnectionTerminated,
        EgressError::Protocol | EgressError::Unfinished => ErrorCode::HttpProtocolError,
        EgressError::Upgrade => ErrorCode::HttpUpgradeFailed,
        EgressError::RequestSize => ErrorCode::HttpRequestBodySize(None),
        EgressError::ResponseSize => ErrorCode::HttpResponseBodySize(None),
        EgressError::Host => ErrorCode::InternalError(None),
    }
}
