//! What is recorded of a request: its head when it begins, the head of its answer when the guest takes it, and each body when
//! it has ended or nobody wants more of it. Changes nothing on its way.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use wasmtime_wasi_http::{Error, WasiBody};

use super::errors::word;
use drivebay_egress::EgressError;
use drivebay_recording::Tape;
use drivebay_recording::line::Side;

/// Bytes of one body that are recorded: what an array says of a page of volumes, several times.
const LONGEST: usize = 4 << 20;

/// A request that is recorded.
#[derive(Debug)]
pub(super) struct Exchange {
    tape: Tape,
    number: u64,
}

impl Exchange {
    /// It begins.
    pub(super) fn begin(tape: &Tape, request: &mut Request<WasiBody>) -> Self {
        let (method, url) = (request.method().as_str(), request.uri().to_string());
        let number = tape.request(method, &url, headers(request.headers()));
        let body = std::mem::take(request.body_mut());
        *request.body_mut() = Recorded::new(body, tape, (number, Side::Request)).boxed_unsync();
        Self { tape: tape.clone(), number }
    }

    /// Its guest takes the answer.
    pub(super) fn answered<B>(&self, outcome: &Result<Response<B>, EgressError>) {
        let response = match outcome {
            Ok(response) => Ok((response.status().as_u16(), headers(response.headers()))),
            Err(error) => Err(word(error).to_owned()),
        };
        self.tape.response(self.number, response);
    }

    /// The body of the answer.
    pub(super) fn response_body(self, body: WasiBody) -> WasiBody {
        Recorded::new(body, &self.tape, (self.number, Side::Response)).boxed_unsync()
    }
}

fn headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

/// A body of which a copy is kept until it ends.
struct Recorded {
    body: WasiBody,
    tape: Tape,
    of: (u64, Side),
    seen: Vec<u8>,
    /// It was longer than what is recorded.
    is_longer: bool,
    is_told: bool,
}

impl Recorded {
    fn new(body: WasiBody, tape: &Tape, of: (u64, Side)) -> Self {
        Self { body, tape: tape.clone(), of, seen: Vec::new(), is_longer: false, is_told: false }
    }

    fn tell(&mut self, is_whole: bool) {
        if !std::mem::replace(&mut self.is_told, true) {
            let (number, side) = self.of;
            self.tape.body(number, side, &self.seen, is_whole && !self.is_longer);
        }
    }
}

impl Body for Recorded {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        match frame.as_ref() {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    let room = LONGEST.saturating_sub(self.seen.len());
                    self.is_longer |= data.len() > room;
                    self.seen.extend(data.iter().take(room));
                }
            }
            Some(Err(_)) => self.tell(false),
            None => self.tell(true),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let is_whole = self.body.is_end_stream();
        self.tell(is_whole);
    }
}
