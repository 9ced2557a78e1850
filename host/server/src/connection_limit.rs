//! A limit on connections to one socket, so that a client that opens them without end takes neither memory nor descriptors
//! from others. Owns the count; accepts nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::workers::Counted;
use crate::writes::passes_writes_on;

/// How many connections a socket may have at once.
#[derive(Debug, Clone)]
pub struct ConnectionLimit(Arc<Semaphore>);

impl ConnectionLimit {
    /// At most `most`.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most)))
    }

    /// Counts a connection until it is dropped. None: the limit is reached, and the connection is closed.
    pub fn admit<S>(&self, stream: S) -> Option<Admitted<S>> {
        let permit = Arc::clone(&self.0).try_acquire_owned().ok()?;
        Some(Admitted { stream, permit, counted: None })
    }

    /// How many more connections are admitted now.
    pub fn free(&self) -> usize {
        self.0.available_permits()
    }
}

/// A connection that counts against the limit.
#[derive(Debug)]
pub struct Admitted<S> {
    stream: S,
    permit: OwnedSemaphorePermit,
    counted: Option<Counted>,
}

impl<S> Admitted<S> {
    /// The same connection in another form; it goes on to count.
    ///
    /// # Errors
    /// When `into` fails.
    pub(crate) fn try_map<T>(self, into: impl FnOnce(S) -> io::Result<T>) -> io::Result<Admitted<T>> {
        let Self { stream, permit, counted } = self;
        Ok(Admitted { stream: into(stream)?, permit, counted })
    }

    /// The same, also counted among those of a thread until it is dropped.
    pub(crate) fn counted(self, counted: Counted) -> Self {
        Self { counted: Some(counted), ..self }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Admitted<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, into)
    }
}

passes_writes_on!(Admitted);
