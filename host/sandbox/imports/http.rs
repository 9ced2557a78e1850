//! `wasi:http/outgoing-handler`: a guest's requests, handed to the host's egress, and its answers handed back. Decides
//! nothing: who may be reached is egress's to say.
//!
//! A request that may change something goes on when its guest is ended, as every host operation does: the call's
//! locks are kept until the other side has answered, or the call's time is over.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Request, Response, uri::Scheme};
use http_body_util::BodyExt as _;
use wasmtime_wasi_http::{
    Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

use crate::egress::{Allowance, Ask, Down, EgressError, Patience, Presence, Standing, form};
use crate::sandbox::context::CallContext;
use crate::sandbox::store::{HostState, Surroundings, View};

/// Bytes of the fields of one message, counted as the engine does.
const FIELDS: usize = 64 * 1024;
/// Bytes that a guest hands over at once; what a body has not sent yet is kept by the host.
const CHUNK: usize = 64 * 1024;

/// How long the engine waits for something that ends with the request.
type Rest = Box<dyn Future<Output = Result<(), Error>> + Send>;

/// The HTTP of one instance.
#[derive(Debug)]
pub struct Outgoing {
    around: Arc<Surroundings>,
    call: Arc<CallContext>,
    allowance: Arc<Allowance>,
    guest: Presence,
}

impl Outgoing {
    /// For an instance and its first call.
    pub fn new(around: &Arc<Surroundings>, call: &Arc<CallContext>) -> Self {
        Self {
            around: Arc::clone(around),
            call: Arc::clone(call),
            allowance: allowance(around),
            guest: Presence::new(),
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

impl WasiHttpView for HostState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.http, table: &mut self.table, ctx: &mut self.http_fields }
    }
}

impl WasiHttpHooks for Outgoing {
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(|name: &HeaderName| form::is_forbidden(name))
    }

    /// Refused where it is recorded, with all else.
    fn is_supported_scheme(&mut self, _: &Scheme) -> bool {
        true
    }

    fn set_host_header(&mut self) -> bool {
        false
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Rest,
    ) -> Box<dyn Future<Output = Result<(Response<WasiBody>, Rest), Error>> + Send> {
        let (egress, ask, call) = (Arc::clone(&self.around.egress), self.ask(options), Arc::clone(&self.call));
        let is_reading = form::is_reading(request.method(), request.headers());
        let sending = async move { egress.send(request, ask).await };
        Box::new(async move {
            let answer =
                if is_reading { sending.await } else { call.begin(sending).await.unwrap_or(Err(EgressError::Host)) };
            answer.map(into).map_err(explain)
        })
    }
}

fn into(answer: Response<Down>) -> (Response<WasiBody>, Rest) {
    let answer = answer.map(|body| body.map_err(explain).boxed_unsync());
    (answer, Box::new(async { Ok(()) }))
}

#[expect(clippy::needless_pass_by_value, reason = "it stands where errors are mapped")]
fn explain(error: EgressError) -> Error {
    match error {
        EgressError::Refused(_) => Error::HttpRequestDenied,
        EgressError::Address(_) => Error::DestinationIpProhibited,
        EgressError::Name => Error::DnsError { rcode: None, info_code: None },
        EgressError::NameTime => Error::DnsTimeout,
        EgressError::ConnectionRefused => Error::ConnectionRefused,
        EgressError::Unreachable => Error::DestinationIpUnroutable,
        EgressError::ConnectTime => Error::ConnectionTimeout,
        EgressError::Busy => Error::ConnectionLimitReached,
        EgressError::Certificate => Error::TlsCertificateError,
        EgressError::Alert(alert) => Error::TlsAlertReceived { alert_id: Some(alert), alert_message: None },
        EgressError::Tls => Error::TlsProtocolError,
        EgressError::Time => Error::HttpResponseTimeout,
        EgressError::Cut => Error::ConnectionTerminated,
        EgressError::Protocol | EgressError::Unfinished => Error::HttpProtocolError,
        EgressError::Upgrade => Error::HttpUpgradeFailed,
        EgressError::RequestSize => Error::HttpRequestBodySize(None),
        EgressError::ResponseSize => Error::HttpResponseBodySize(None),
        EgressError::Host => Error::InternalError(None),
    }
}
