//! `outgoing-handler.handle` and the answer that a guest waits for. The engine has both, but makes two tasks of every
//! request, and a guest would wait for four more wake-ups than the host does. Here the request is polled by the task that waits
//! for its answer; a task is made only of what must go on without its guest, or waits for a connection.

use std::future::Future;
use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use http::Response;
use http_body_util::BodyExt as _;
use tokio::task::JoinHandle;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource, ResourceTable, ResourceType};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, IoError};
use wasmtime_wasi_http::p2::body::HostIncomingBody;
use wasmtime_wasi_http::p2::types::{HostIncomingResponse, HostOutgoingRequest};
use wasmtime_wasi_http::{Error, FieldMap, RequestOptions};

use super::errors::explain;
use super::recorded::Exchange;
use super::request::written;
use crate::boundary::Passed;
use crate::context::CallContext;
use crate::store::HostState;
use drivebay_egress::{EgressError, ResponseBody, form};

/// The versions that the engine defines; every 0.2.x of a guest is matched with them.
const TYPES: &str = "wasi:http/types@0.2.12";
const HANDLER: &str = "wasi:http/outgoing-handler@0.2.12";

type Outcome = Result<Response<ResponseBody>, EgressError>;
/// A request on its way.
type Sending = Pin<Box<dyn Future<Output = Outcome> + Send>>;
/// What a guest gets of an answer, how often it asks for it included.
type Got = Option<Result<Result<Resource<HostIncomingResponse>, ErrorCode>, ()>>;

/// An answer that is waited for, perhaps.
#[derive(Debug)]
pub(super) struct Reply {
    state: State,
    /// What is recorded of it.
    exchange: Option<Exchange>,
    call: Arc<CallContext>,
    may_change: bool,
}

enum State {
    /// Polled by the waiting task.
    Waiting(Sending),
    /// Polled by a task.
    Driven(JoinHandle<Outcome>),
    There(Box<Outcome>),
    Taken,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Waiting(_) => "Waiting",
            Self::Driven(_) => "Driven",
            Self::There(_) => "There",
            Self::Taken => "Taken",
        })
    }
}

/// Puts ours before the engine's.
///
/// # Errors
/// When the engine will not have it, which is a mistake in this crate.
pub(super) fn link(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES)?;
    types.resource("future-incoming-response", ResourceType::host::<Reply>(), |mut store, index| {
        store.data_mut().table.delete(Resource::<Reply>::new_own(index))?;
        Ok(())
    })?;
    types.func_wrap("[method]future-incoming-response.subscribe", |store, (reply,)| Ok((wait(store, reply)?,)))?;
    types.func_wrap("[method]future-incoming-response.get", |store, (reply,)| Ok((get(store, &reply)?,)))?;
    types.func_wrap("http-error-code", |store, (error,)| Ok((code(store, &error)?,)))?;
    linker
        .instance(HANDLER)?
        .func_wrap("handle", |store, (request, options)| Ok((handle(store, request, options)?,)))?;
    linker.allow_shadowing(false);
    Ok(())
}

fn handle(
    mut store: StoreContextMut<'_, HostState>,
    request: Resource<HostOutgoingRequest>,
    options: Option<Resource<RequestOptions>>,
) -> wasmtime::Result<Result<Resource<Reply>, ErrorCode>> {
    let passed = store.data().waiting.gate.pass_at_once("http.handle")?;
    let HostState { table, http, .. } = store.data_mut();
    let options = options.map(|options| table.delete(options)).transpose()?;
    let written = match written(table.delete(request)?) {
        Ok(written) => written,
        Err(code) => return Ok(Err(code)),
    };
    let (mut request, is_whole) = written;
    let exchange = http.tape.as_ref().map(|tape| Exchange::begin(tape, &mut request));
    let may_change = !form::is_reading(request.method(), request.headers());
    http.may_change |= may_change;
    let (ask, egress) = (http.ask(options), Arc::clone(&http.around.egress));
    let progress = ask.progress.clone();
    let sending: Sending = match passed {
        Passed::Proceed => Box::pin(async move { egress.send(request, ask).await }),
        Passed::Refuse => Box::pin(async { Err(EgressError::ConnectionRefused) }),
        Passed::Lose => Box::pin(async move { egress.send(request, ask).await.and(Err(EgressError::Cut)) }),
    };
    let mut reply = Reply::begin(sending, Arc::clone(&http.call), may_change, &|| is_whole && progress.is_connected());
    reply.exchange = exchange;
    Ok(Ok(table.push(reply)?))
}

fn wait(mut store: StoreContextMut<'_, HostState>, reply: Resource<Reply>) -> wasmtime::Result<Resource<DynPollable>> {
    subscribe(&mut store.data_mut().table, reply)
}

fn get(mut store: StoreContextMut<'_, HostState>, reply: &Resource<Reply>) -> wasmtime::Result<Got> {
    let HostState { table, http, .. } = store.data_mut();
    let reply = table.get_mut(reply)?;
    let outcome = match mem::replace(&mut reply.state, State::Taken) {
        State::There(outcome) => *outcome,
        State::Taken => return Ok(Some(Err(()))),
        waiting => {
            reply.state = waiting;
            return Ok(None);
        }
    };
    let exchange = reply.exchange.take();
    if let Some(exchange) = &exchange {
        exchange.answered(&outcome);
    }
    let answer = match outcome {
        Ok(answer) => answer,
        Err(error) => return Ok(Some(Ok(Err(explain(&error))))),
    };
    let (head, body) = answer.into_parts();
    let headers = FieldMap::new_immutable(http, head.headers);
    // The engine's kinds of errors are not ours: one that carries another carries ours to `code`.
    let body = body.map_err(|error| Error::Connect(io::Error::other(error))).boxed_unsync();
    let body = match exchange {
        Some(exchange) => exchange.response_body(body),
        None => body,
    };
    let body = Some(HostIncomingBody::new(body));
    let answer = HostIncomingResponse { status: head.status.as_u16(), headers, body };
    Ok(Some(Ok(Ok(table.push(answer)?))))
}

/// What is known of the end of a stream.
fn code(mut store: StoreContextMut<'_, HostState>, error: &Resource<IoError>) -> wasmtime::Result<Option<ErrorCode>> {
    let error = store.data_mut().table.get(error)?;
    if let Some(Error::Connect(error)) = error.downcast_ref() {
        return Ok(error.get_ref().and_then(|error| error.downcast_ref()).map(explain));
    }
    Ok(error.downcast_ref::<ErrorCode>().cloned())
}

impl Reply {
    /// Begins, and waits for nothing. What is not on its way by then, or needs the guest to go on, becomes a task.
    fn begin(mut sending: Sending, call: Arc<CallContext>, may_change: bool, needs_nobody: &dyn Fn() -> bool) -> Self {
        let state = match sending.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => State::There(Box::new(outcome)),
            Poll::Pending if needs_nobody() => State::Waiting(sending),
            Poll::Pending => State::Driven(call.begin(sending)),
        };
        Self { state, exchange: None, call, may_change }
    }

    /// Its guest waits no more, or not now: what may change something goes on, and the call's locks are kept for it.
    pub(super) fn go_on(&mut self) {
        if !self.may_change {
            return;
        }
        self.state = match mem::replace(&mut self.state, State::Taken) {
            State::Waiting(sending) => State::Driven(self.call.begin(sending)),
            other => other,
        };
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.go_on();
        if let (State::Driven(task), false) = (&self.state, self.may_change) {
            task.abort();
        }
    }
}

#[async_trait::async_trait]
impl Pollable for Reply {
    async fn ready(&mut self) {
        let outcome = match &mut self.state {
            State::Waiting(sending) => sending.await,
            State::Driven(task) => task.await.unwrap_or(Err(EgressError::Host)),
            State::There(_) | State::Taken => return,
        };
        self.state = State::There(Box::new(outcome));
    }
}

/// What may change something goes on without the guest that has just left.
pub(super) fn leave(table: &mut ResourceTable) {
    table.iter_mut().filter_map(|entry| entry.downcast_mut::<Reply>()).for_each(Reply::go_on);
}
