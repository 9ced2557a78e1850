//! Messages for what the transport refuses without one, or does not notice: methods and services that do not exist, and
//! requests that are no gRPC (every failure has a message, E-01).

use std::future::{Ready, ready};
use std::task::{Context, Poll};

use axum::extract::Request;
use axum::response::Response;
use futures_util::future::{Either, MapOk, TryFutureExt};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use tower::{Layer, Service};

use drivebay_error::status;

/// The answer to a service that does not exist.
pub(crate) async fn unknown_service(request: Request) -> Response {
    status::unknown_method(request.uri().path()).into_http()
}

/// Puts a [`GrpcOnly`] before a service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GrpcOnlyLayer;

impl<S> Layer<S> for GrpcOnlyLayer {
    type Service = GrpcOnly<S>;

    fn layer(&self, inner: S) -> GrpcOnly<S> {
        GrpcOnly(inner)
    }
}

/// Refuses what is no gRPC, and lets no failure out without a message. A plain service and not a function of the router's:
/// those box every call once more.
#[derive(Debug, Clone)]
pub(crate) struct GrpcOnly<S>(S);

impl<S, In, Out> Service<http::Request<In>> for GrpcOnly<S>
where
    S: Service<http::Request<In>, Response = http::Response<Out>>,
    Out: Default,
{
    type Response = http::Response<Out>;
    type Error = S::Error;
    type Future = Either<Ready<Result<Self::Response, S::Error>>, WithMessage<S::Future, Out>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<In>) -> Self::Future {
        if request.method() != Method::POST {
            let mut refusal = not_grpc(StatusCode::METHOD_NOT_ALLOWED, "gRPC calls are sent with POST");
            refusal.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
            return Either::Left(ready(Ok(refusal)));
        }
        if !is_grpc(request.headers()) {
            let grpc_only = "the content type of a gRPC call is application/grpc";
            return Either::Left(ready(Ok(not_grpc(StatusCode::UNSUPPORTED_MEDIA_TYPE, grpc_only))));
        }
        Either::Right(self.0.call(request).map_ok(add_message as AddMessage<Out>))
    }
}

/// An answer that gets a message where it has none.
type WithMessage<F, Out> = MapOk<F, AddMessage<Out>>;
/// Adds a message to an answer.
type AddMessage<Out> = fn(http::Response<Out>) -> http::Response<Out>;

/// `application/grpc`, alone or with what says that the messages are protobuf, the only kind served.
fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let rest = kind.and_then(|kind| kind.strip_prefix("application/grpc"));
    rest.is_some_and(|rest| matches!(rest.split(';').next(), Some("" | "+proto")))
}

/// HTTP's own answer, with a gRPC status for clients that do speak gRPC.
fn not_grpc<B: Default>(code: StatusCode, grpc_only: &'static str) -> http::Response<B> {
    let mut response = status::not_grpc(grpc_only).into_http();
    *response.status_mut() = code;
    response
}

/// Adds a message to an UNIMPLEMENTED that has none: the answer of a known service to a method that it
/// does not have.
fn add_message<B>(mut response: http::Response<B>) -> http::Response<B> {
    let headers = response.headers_mut();
    let unimplemented = headers.get("grpc-status").is_some_and(|code| code == "12");
    if unimplemented && !headers.contains_key("grpc-message") {
        headers.insert("grpc-message", HeaderValue::from_static("this service has no such method"));
        headers.entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static("application/grpc"));
    }
    response
}
