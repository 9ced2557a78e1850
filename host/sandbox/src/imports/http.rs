//! `wasi:http/outgoing-handler`: a guest's requests, handed to the host's egress, and its answers handed back. Decides
//! nothing: who may be reached is egress's to say.
//!
//! A request that may change something goes on when its guest is ended, as every host operation does: the call's
//! locks are kept until the other side has answered, or the call's time is over.

mod errors;
pub mod outgoing;
mod recorded;
mod reply;
mod request;

use std::sync::Arc;

use http::{HeaderName, Request, Response};
use wasmtime::component::Linker;
use wasmtime_wasi_http::{
    Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

use self::outgoing::Outgoing;
use crate::store::HostState;
use drivebay_egress::form;

/// Bytes that a guest hands over at once; what a body has not sent yet is kept by the host.
const CHUNK: usize = 64 * 1024;

/// How long the engine waits for something that ends with the request.
type Rest = Box<dyn Future<Output = Result<(), Error>> + Send>;
/// What the engine would wait for.
type Sent = Box<dyn Future<Output = Result<(Response<WasiBody>, Rest), Error>> + Send>;

/// Everything of `wasi:http` that a guest may import.
///
/// # Errors
/// When two definitions clash, which is a mistake in this crate.
pub fn link(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
    reply::link(linker)
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
