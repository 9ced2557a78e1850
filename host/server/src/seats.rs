//! Places for connections: a door lets in so many at once, so that who opens connections without end takes
//! neither memory nor descriptors from others. Owns the count; accepts nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::workers::Counted;
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
        Some(Seated { stream, place, counted: None })
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
    place: OwnedSemaphorePermit,
    counted: Option<Counted>,
}

impl<S> Seated<S> {
    /// The same place for the connection in another form.
    ///
    /// # Errors
    /// It cannot have that form.
    pub(crate) fn try_map<T>(self, into: impl FnOnce(S) -> io::Result<T>) -> io::Result<Seated<T>> {
        let Self { stream, place, counted } = self;
        Ok(Seated { stream: into(stream)?, place, counted })
    }

    /// The same, counted among those of a thread until it is dropped.
    pub(crate) fn counted(self, counted: Counted) -> Self {
        Self { counted: Some(counted), ..self }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Seated<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, into)
    }
}

passes_writes_on!(Seated);
