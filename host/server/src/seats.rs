//! Places for connections: a door lets in so many at once, so that who opens connections without end takes
//! neither memory nor descriptors from others. Owns the count; accepts nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::writes::passes_writes_on;

/// The places behind one door.
#[derive(Debug, Clone)]
pub struct Seats(Arc<Semaphore>);

impl Seats {
    /// So many.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most)))
    }

    /// Gives the connection a place until it is dropped. None: all are taken, and it is closed.
    pub fn seat<S>(&self, stream: S) -> Option<Seated<S>> {
        let place = Arc::clone(&self.0).try_acquire_owned().ok()?;
        Some(Seated { stream, _place: place })
    }

    /// Places that are free.
    pub fn free(&self) -> usize {
        self.0.available_permits()
    }
}

/// A connection that has a place.
#[derive(Debug)]
pub struct Seated<S> {
    stream: S,
    _place: OwnedSemaphorePermit,
}

impl<S: AsyncRead + Unpin> AsyncRead for Seated<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, into)
    }
}

passes_writes_on!(Seated);
