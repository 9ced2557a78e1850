//! Connections whose `:authority` does not parse. Over a Unix socket it means nothing, and released
//! clients put there what they like: a bare path (older Go), a percent-encoded one (Python). The
//! transport resets such streams, so they are given `localhost` before it sees them (T9, D10).
//!
//! It looks at the first header block of a connection and no further where that one is sound: from then
//! on the connection is read as if nothing stood here. It must not judge anything but the authority.

mod block;
mod filter;
#[cfg(test)]
mod tests;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, ReadBuf};

use crate::writes::passes_writes_on;
use filter::{Filter, Inspection};

/// How much is read at once while a connection is looked at.
const CHUNK: usize = 8 * 1024;

/// A connection that is looked at.
#[derive(Debug)]
pub(super) struct Tolerant<S> {
    stream: S,
    /// None: nothing is looked at any more.
    filter: Option<Box<Filter>>,
    /// What has been looked at and not been read yet.
    seen: BytesMut,
}

impl<S> Tolerant<S> {
    /// A connection that has just been accepted.
    pub(super) fn new(stream: S) -> Self {
        Self { stream, filter: Some(Box::default()), seen: BytesMut::new() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Tolerant<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if !this.seen.is_empty() {
                let most = this.seen.len().min(into.remaining());
                into.put_slice(this.seen.get(..most).unwrap_or_default());
                this.seen.advance(most);
                return Poll::Ready(Ok(()));
            }
            let Some(filter) = &mut this.filter else { return Pin::new(&mut this.stream).poll_read(context, into) };
            let mut chunk = [0; CHUNK];
            let mut read = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut read))?;
            if read.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            match filter.feed(read.filled(), &mut this.seen)? {
                Inspection::Watched => {}
                Inspection::Free => this.filter = None,
            }
        }
    }
}

passes_writes_on!(Tolerant);
