//! Words for what the transport answers without any: methods and services that do not exist (every
//! failure says something, E-01).

use axum::extract::Request;
use axum::response::Response;
use http::{HeaderValue, header};

use crate::error::status;

/// The answer to a service that does not exist.
pub(crate) async fn unknown_service(request: Request) -> Response {
    status::unknown_method(request.uri().path()).into_http()
}

/// Adds words to an UNIMPLEMENTED that has none: the answer of a known service to a method that it
/// does not have.
pub(crate) fn speak<B>(mut response: http::Response<B>) -> http::Response<B> {
    let headers = response.headers_mut();
    let unimplemented = headers.get("grpc-status").is_some_and(|code| code == "12");
    if unimplemented && !headers.contains_key("grpc-message") {
        headers.insert("grpc-message", HeaderValue::from_static("this service has no such method"));
        headers.entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static("application/grpc"));
    }
    response
}
