//! The body of a request on its way up: counted, bounded, and never taken for whole when its guest is gone.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;

use super::allowance::{Bounds, after};
use super::error::EgressError;

/// The body of a request on its way.
pub type RequestBody = UnsyncBoxBody<Bytes, EgressError>;

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
pub(super) fn up<B>(body: B, size: Size, bounds: Bounds, guest: Witness) -> (RequestBody, Arc<AtomicBool>)
where
    B: Body<Data = Bytes> + Send + 'static,
{
    let sent = Arc::new(AtomicBool::new(body.is_end_stream()));
    let (left, missing) = (size.limit, size.said);
    let body = Sending { body: Box::pin(body), left, missing, bounds, guest, sent: Arc::clone(&sent) };
    (body.boxed_unsync(), sent)
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
