//! Requests to the storage system, and their answers, whole.
//!
//! Needs an `http` grant for the origin. The host makes and keeps the connections, follows no redirects, and bounds
//! time and sizes; a backend that must read an answer in pieces uses `wasi:http` itself.
//!
//! ```no_run
//! use drivebay_sdk::http::{Method, Request};
//!
//! # fn get() -> drivebay_sdk::Result<()> {
//! let answer = Request::new(Method::Get, "https://array.example:8443/api/pools").header("accept", "application/json").send()?;
//! if answer.status == 200 {
//!     let pools = answer.text();
//! }
//! # Ok(()) }
//! ```

use std::fmt;
use std::time::Duration;

#[doc(inline)]
pub use crate::bindings::http::wasi::http::types::{ErrorCode, Method, Scheme};

use crate::bindings::http::wasi::http::outgoing_handler;
use crate::bindings::http::wasi::http::types as raw;
use crate::bindings::http::wasi::io::streams::{InputStream, OutputStream, StreamError};

/// Bytes that are read at once.
const PIECE: u64 = 64 * 1024;

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    method: Method,
    scheme: Scheme,
    authority: String,
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Option<Vec<u8>>,
    wait: Option<Duration>,
}

/// An answer, read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The headers, in order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Clone)]
pub enum Error {
    /// The host or the other side says so.
    Code(ErrorCode),
    /// The request cannot be written down: a header, a method, a path that nobody understands.
    Request(&'static str),
}

impl Request {
    /// To an absolute URL: `http://` or `https://`, a host, perhaps a port, path and query.
    pub fn new(method: Method, url: &str) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
        let path = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(path).unwrap_or((rest, ""));
        let scheme = match scheme {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            other => Scheme::Other(other.to_owned()),
        };
        Self::to(method, scheme, authority, if path.is_empty() { "/" } else { path })
    }

    /// To the parts of a URL.
    pub fn to(method: Method, scheme: Scheme, authority: &str, path: &str) -> Self {
        let (authority, path) = (authority.to_owned(), path.to_owned());
        Self { method, scheme, authority, path, headers: Vec::new(), body: None, wait: None }
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// With a body; its length is said.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Waiting so long for the answer's head, and for each part of its body; never longer than the host allows.
    #[must_use]
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// Sends it and reads the answer.
    ///
    /// # Errors
    /// Why there is none. A status that says no is an answer.
    pub fn send(mut self) -> Result<Response, Error> {
        let (body, wait) = (self.body.take(), self.wait);
        let length = body.as_ref().map(Vec::len);
        let request = self.written(length)?;
        let mut unsent = None;
        if let Some(body) = body {
            let out = request.body().map_err(|()| Error::Request("body"))?;
            let stream = out.write().map_err(|()| Error::Request("body"))?;
            // What the host takes at once goes out together with the head, and needs nobody to wait for it.
            if takes(&stream, body.len()) && stream.write(&body).is_ok() {
                drop(stream);
                raw::OutgoingBody::finish(out, None).map_err(Error::Code)?;
            } else {
                unsent = Some((out, stream, body));
            }
        }
        let answer = outgoing_handler::handle(request, wait.map(options).transpose()?).map_err(Error::Code)?;
        if let Some((out, stream, body)) = unsent {
            // A body that is not taken has its reason in the answer.
            let poured = pour(&stream, &body);
            drop(stream);
            if poured.is_ok() {
                raw::OutgoingBody::finish(out, None).map_err(Error::Code)?;
            }
        }
        answer.subscribe().block();
        match answer.get() {
            Some(Ok(answer)) => read(&answer.map_err(Error::Code)?),
            Some(Err(())) | None => Err(Error::Request("answer")),
        }
    }

    fn written(self, length: Option<usize>) -> Result<raw::OutgoingRequest, Error> {
        let mut headers = self.headers;
        if let Some(length) = length {
            headers.push(("content-length".to_owned(), length.to_string().into_bytes()));
        }
        let headers = raw::Fields::from_list(&headers).map_err(|_| Error::Request("headers"))?;
        let request = raw::OutgoingRequest::new(headers);
        // Unless told otherwise it is a GET.
        if !matches!(self.method, Method::Get) {
            request.set_method(&self.method).map_err(|()| Error::Request("method"))?;
        }
        request.set_scheme(Some(&self.scheme)).map_err(|()| Error::Request("scheme"))?;
        request.set_authority(Some(&self.authority)).map_err(|()| Error::Request("authority"))?;
        request.set_path_with_query(Some(&self.path)).map_err(|()| Error::Request("path"))?;
        Ok(request)
    }
}

impl Response {
    /// The value of the first header of this name, in any case, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// The body as text; what is none is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn options(wait: Duration) -> Result<raw::RequestOptions, Error> {
    let (options, wait) = (raw::RequestOptions::new(), u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX));
    let set = options.set_first_byte_timeout(Some(wait)).and_then(|()| options.set_between_bytes_timeout(Some(wait)));
    set.map(|()| options).map_err(|()| Error::Request("wait"))
}

/// Whether all of a body would be taken without waiting.
fn takes(stream: &OutputStream, bytes: usize) -> bool {
    stream.check_write().is_ok_and(|room| usize::try_from(room).unwrap_or(usize::MAX) >= bytes)
}

/// Writes as much at once as is taken.
fn pour(stream: &OutputStream, mut rest: &[u8]) -> Result<(), StreamError> {
    while !rest.is_empty() {
        let room = usize::try_from(stream.check_write()?).unwrap_or(usize::MAX);
        if room == 0 {
            stream.subscribe().block();
            continue;
        }
        let (piece, left) = rest.split_at(room.min(rest.len()));
        stream.write(piece)?;
        rest = left;
    }
    Ok(())
}

fn read(answer: &raw::IncomingResponse) -> Result<Response, Error> {
    let (status, headers) = (answer.status(), answer.headers().entries());
    let body = answer.consume().map_err(|()| Error::Request("answer"))?;
    let stream = body.stream().map_err(|()| Error::Request("answer"))?;
    let mut answer = Response { status, headers, body: Vec::new() };
    let length = answer.header("content-length").and_then(|length| length.parse().ok());
    answer.body = drain(&stream, length)?;
    Ok(answer)
}

/// Reads to the end, or as many bytes as the head has promised: then nobody need ask whether there are more.
fn drain(stream: &InputStream, length: Option<usize>) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    loop {
        match stream.blocking_read(PIECE) {
            Ok(piece) if body.is_empty() => body = piece,
            Ok(piece) => body.extend(piece),
            Err(StreamError::Closed) => return Ok(body),
            Err(StreamError::LastOperationFailed(error)) => {
                let code = raw::http_error_code(&error);
                return Err(Error::Code(code.unwrap_or(ErrorCode::HttpResponseIncomplete)));
            }
        }
        if length.is_some_and(|length| body.len() >= length) {
            return Ok(body);
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "{code:?}"),
            Self::Request(part) => write!(f, "the {part} of the request cannot be used"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for crate::Error {
    /// Whether something was done is not known in general, so it is `unavailable`.
    fn from(error: Error) -> Self {
        Self::unavailable(format!("the storage system did not answer: {error}"))
    }
}
