//! One HTTP exchange with the array. It owns the question that only the transport can answer: whether a
//! request has left, because then nobody knows whether it was handled.

use std::time::Duration;

use drivebay_sdk::http::{self, ErrorCode, Method};

/// A request to the array.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// `GET`, `POST` and so on.
    pub(crate) method: &'static str,
    /// Absolute.
    pub(crate) url: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<Vec<u8>>,
    /// How long the answer may take.
    pub(crate) wait: Duration,
}

/// An answer of the array.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(crate) enum Silence {
    /// The request did not leave.
    NotSent(String),
    /// It may have been handled.
    Unknown(String),
}

/// What an exchange comes to.
pub(crate) type Exchanged = std::result::Result<Response, Silence>;

/// Sends a request to the array.
pub(crate) fn send(request: &Request) -> Exchanged {
    let mut sent = http::Request::new(method(request.method), &request.url).wait(request.wait);
    for (name, value) in &request.headers {
        sent = sent.header(name, value);
    }
    if let Some(body) = &request.body {
        sent = sent.body(body.clone());
    }
    match sent.send() {
        Ok(answer) => Ok(Response { status: answer.status, body: answer.body }),
        Err(error) if never_left(&error) => Err(Silence::NotSent(error.to_string())),
        Err(error) => Err(Silence::Unknown(error.to_string())),
    }
}

fn method(word: &str) -> Method {
    match word {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        other => Method::Other(other.to_owned()),
    }
}

/// Whether there was not even a connection.
fn never_left(error: &http::Error) -> bool {
    match error {
        http::Error::Request(part) => *part != "answer",
        http::Error::Code(code) => matches!(
            code,
            ErrorCode::DnsTimeout
                | ErrorCode::DnsError(_)
                | ErrorCode::DestinationNotFound
                | ErrorCode::DestinationUnavailable
                | ErrorCode::DestinationIpProhibited
                | ErrorCode::DestinationIpUnroutable
                | ErrorCode::ConnectionRefused
                | ErrorCode::ConnectionTimeout
                | ErrorCode::ConnectionLimitReached
                | ErrorCode::TlsProtocolError
                | ErrorCode::TlsCertificateError
                | ErrorCode::HttpRequestDenied
        ),
    }
}
