//! The body of an answer on its way down: counted, bounded, and never waited for longer than allowed. Owns no
//! connection, but gives one back when its answer was read to the end.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep, sleep_until};

use super::allowance::{Bounds, after};
use super::error::{EgressError, broken};
use super::pool::Checkout;

/// The body of an answer.
#[derive(Debug)]
pub struct ResponseBody {
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

impl ResponseBody {
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

impl Body for ResponseBody {
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
                let error = broken(&error);
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
