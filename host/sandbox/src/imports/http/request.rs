//! A guest's request as a message: what it has set, and the body as far as it has written it. Judges only whether it can
//! be written down at all; where it may go is egress's to say.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http::uri::{Scheme, Uri};
use http::{HeaderMap, Method, Request};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Empty, Full};
use wasmtime_wasi_http::p2::bindings::http::types::{self, ErrorCode};
use wasmtime_wasi_http::p2::http_request_error;
use wasmtime_wasi_http::p2::types::HostOutgoingRequest;
use wasmtime_wasi_http::{Error, WasiBody};

use drivebay_egress::form;

/// The request, and whether all of it was written: then it needs its guest no more.
pub(super) fn written(request: HostOutgoingRequest) -> Result<(Request<WasiBody>, bool), ErrorCode> {
    let headers = HeaderMap::from(request.headers);
    let length = form::content_length(&headers).ok_or(ErrorCode::HttpProtocolError)?;
    if request.body.is_none() && length.is_some_and(|length| length > 0) {
        return Err(ErrorCode::HttpRequestBodySize(Some(0)));
    }
    let scheme = match request.scheme {
        Some(types::Scheme::Http) => Scheme::HTTP,
        Some(types::Scheme::Https) | None => Scheme::HTTPS,
        Some(types::Scheme::Other(name)) => name.parse().map_err(|_| ErrorCode::HttpProtocolError)?,
    };
    let mut uri = Uri::builder().scheme(scheme).authority(request.authority.unwrap_or_default());
    if let Some(path) = request.path_with_query {
        uri = uri.path_and_query(path);
    }
    let (body, is_whole) = request.body.map_or_else(|| (nothing(), true), gather);
    let mut written = Request::new(body);
    *written.method_mut() = method(request.method)?;
    *written.uri_mut() = uri.build().map_err(http_request_error)?;
    *written.headers_mut() = headers;
    Ok((written, is_whole))
}

fn method(method: types::Method) -> Result<Method, ErrorCode> {
    Ok(match method {
        types::Method::Get => Method::GET,
        types::Method::Head => Method::HEAD,
        types::Method::Post => Method::POST,
        types::Method::Put => Method::PUT,
        types::Method::Delete => Method::DELETE,
        types::Method::Connect => Method::CONNECT,
        types::Method::Options => Method::OPTIONS,
        types::Method::Trace => Method::TRACE,
        types::Method::Patch => Method::PATCH,
        types::Method::Other(name) => name.parse().map_err(|_| ErrorCode::HttpRequestMethodInvalid)?,
    })
}

fn nothing() -> WasiBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// What there is of a body already, without waiting; whether that is all of it.
fn gather(mut body: WasiBody) -> (WasiBody, bool) {
    let mut begun = VecDeque::new();
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match Pin::new(&mut body).poll_frame(&mut context) {
            Poll::Ready(Some(frame)) => begun.push_back(frame),
            Poll::Pending => return (Begun { begun, rest: Some(body) }.boxed_unsync(), false),
            Poll::Ready(None) => break,
        }
    }
    let mut pieces = begun.iter().map(|frame| frame.as_ref().ok().and_then(Frame::data_ref));
    match (pieces.next(), pieces.next()) {
        (None, _) => (nothing(), true),
        (Some(Some(only)), None) => (Full::new(only.clone()).map_err(|never| match never {}).boxed_unsync(), true),
        // Several pieces, trailers, or an error: as they came.
        _ => (Begun { begun, rest: None }.boxed_unsync(), true),
    }
}

/// A body of which some was written before it was sent.
struct Begun {
    begun: VecDeque<Result<Frame<Bytes>, Error>>,
    rest: Option<WasiBody>,
}

impl Body for Begun {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Some(frame) = self.begun.pop_front() {
            return Poll::Ready(Some(frame));
        }
        match &mut self.rest {
            Some(rest) => Poll::Ready(ready!(Pin::new(rest).poll_frame(context))),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.begun.is_empty() && self.rest.is_none()
    }
}
