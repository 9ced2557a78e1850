//! Bodies on their way up and down: counted, bounded, and never waited for longer than allowed. Owns no connection,
//! but gives one back when its answer was read to the end.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep, sleep_until};

use super::audit::Record;
use super::error::EgressError;
use super::pool::Checkout;

/// The body of a request on its way.
pub type Up = UnsyncBoxBody<Bytes, EgressError>;

/// What one call may still send and receive, all its requests together.
#[derive(Debug)]
pub struct Allowance {
    bytes: AtomicU64,
    requests: AtomicU64,
}

impl Allowance {
    /// So many bytes and requests.
    pub const fn new(bytes: u64, requests: u64) -> Self {
        Self { bytes: AtomicU64::new(bytes), requests: AtomicU64::new(requests) }
    }

    /// Takes so many bytes; whether they were left.
    fn take(&self, bytes: u64) -> bool {
        let left = |left: u64| left.checked_sub(bytes);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok()
    }

    /// Takes a request; how many were left before it.
    pub(super) fn request(&self) -> u64 {
        let less = |left: u64| left.checked_sub(1);
        self.requests.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).unwrap_or(0)
    }
}

/// Whether the guest whose requests they are is still there. A body whose guest is gone looks finished, and would be
/// taken for a whole one.
#[derive(Debug)]
pub struct Presence(Arc<()>);

/// What remembers a presence and does not prolong it.
#[derive(Debug, Clone)]
pub struct Witness(Weak<()>);

impl Presence {
    /// It is there until this is dropped.
    pub fn new() -> Self {
        Self(Arc::new(()))
    }

    /// For a body.
    pub fn witness(&self) -> Witness {
        Witness(Arc::downgrade(&self.0))
    }
}

impl Default for Presence {
    fn default() -> Self {
        Self::new()
    }
}

impl Witness {
    fn is_there(&self) -> bool {
        self.0.strong_count() > 0
    }
}

/// How much of a body there may be, and how much its header says there is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub limit: u64,
    pub said: Option<u64>,
}

/// Bounds a body from the guest. The flag tells when all of it went out.
pub(super) fn up<B>(body: B, size: Size, bounds: Bounds, guest: Witness) -> (Up, Arc<AtomicBool>)
where
    B: Body<Data = Bytes> + Send + 'static,
{
    let sent = Arc::new(AtomicBool::new(body.is_end_stream()));
    let (left, missing) = (size.limit, size.said);
    let body = Sending { body: Box::pin(body), left, missing, bounds, guest, sent: Arc::clone(&sent) };
    (body.boxed_unsync(), sent)
}

/// What every part of a body is held against.
#[derive(Debug)]
pub(super) struct Bounds {
    pub allowance: Arc<Allowance>,
    pub record: Arc<Record>,
}

struct Sending<B> {
    body: Pin<Box<B>>,
    left: u64,
    /// Bytes that the header promises and that are still to come: after the last one nobody asks for the end.
    missing: Option<u64>,
    bounds: Bounds,
    guest: Witness,
    sent: Arc<AtomicBool>,
}

/// What is left of a limit after so many bytes; none: it is passed.
fn after(left: u64, bytes: usize, allowance: &Allowance) -> Option<u64> {
    let bytes = u64::try_from(bytes).ok()?;
    left.checked_sub(bytes).filter(|_| allowance.take(bytes))
}

impl<B: Body<Data = Bytes>> Body for Sending<B> {
    type Data = Bytes;
    type Error = EgressError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        let Some(frame) = ready!(self.body.as_mut().poll_frame(context)) else {
            if !self.guest.is_there() {
                return Poll::Ready(Some(Err(EgressError::Unfinished)));
            }
            self.sent.store(true, Ordering::Relaxed);
            return Poll::Ready(None);
        };
        let Ok(frame) = frame else { return Poll::Ready(Some(Err(EgressError::Unfinished))) };
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        let Some(left) = after(self.left, bytes, &self.bounds.allowance) else {
            return Poll::Ready(Some(Err(EgressError::RequestSize)));
        };
        self.missing = self.missing.map(|missing| missing.saturating_sub(self.left - left));
        self.left = left;
        if self.missing == Some(0) || self.body.is_end_stream() {
            self.sent.store(true, Ordering::Relaxed);
        }
        self.bounds.record.sent(bytes);
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer.
#[derive(Debug)]
pub struct Down {
    body: Incoming,
    left: u64,
    bounds: Bounds,
    pause: Duration,
    ends: Instant,
    waiting: Option<Pin<Box<Sleep>>>,
    checkout: Option<Checkout>,
}

/// How long an answer's body is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Between two parts.
    pub pause: Duration,
    /// For all of it.
    pub ends: Instant,
}

impl Down {
    pub(super) fn new(body: Incoming, limit: u64, bounds: Bounds, times: Times, checkout: Checkout) -> Self {
        let Times { pause, ends } = times;
        let mut down = Self { body, left: limit, bounds, pause, ends, waiting: None, checkout: Some(checkout) };
        if down.body.is_end_stream() {
            down.finish();
        }
        down
    }

    /// All of it was read: the connection can serve again.
    fn finish(&mut self) {
        if let Some(checkout) = self.checkout.take() {
            checkout.give_back();
        }
    }

    /// It ends here: the connection is closed with what is still to come.
    fn fail(&mut self, error: EgressError) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        self.checkout = None;
        self.bounds.record.failed(&error);
        Poll::Ready(Some(Err(error)))
    }

    fn wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let until = (Instant::now() + self.pause).min(self.ends);
        self.waiting.get_or_insert_with(|| Box::pin(sleep_until(until))).as_mut().poll(context)
    }
}

impl Body for Down {
    type Data = Bytes;
    type Error = EgressError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
            ready!(self.wait(context));
            return self.fail(EgressError::Time);
        };
        self.waiting = None;
        match frame {
            None => {
                self.finish();
                Poll::Ready(None)
            }
            Some(Err(error)) => {
                let error = super::exchange::broken(&error);
                self.fail(error)
            }
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                let Some(left) = after(self.left, bytes, &self.bounds.allowance) else {
                    return self.fail(EgressError::ResponseSize);
                };
                self.left = left;
                self.bounds.record.received(bytes);
                if self.body.is_end_stream() {
                    self.finish();
                }
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
