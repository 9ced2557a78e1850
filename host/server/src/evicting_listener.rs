//! Connections to a page that is open to all: a few at a time, none for longer than it is used. A connection that arrives when
//! all places are taken has the place of the one that came first, so that idle connections shut nobody out.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::accept;

/// A listener with so many places.
#[derive(Debug)]
pub struct EvictingListener {
    listener: TcpListener,
    places: Arc<Semaphore>,
    idle: Duration,
    /// Who is here, in the order of their coming, and how each is told to go.
    here: VecDeque<(Weak<()>, CancellationToken)>,
}

impl EvictingListener {
    /// At most `most` connections, each closed once nothing was read or written for `idle`.
    pub fn new(listener: TcpListener, most: usize, idle: Duration) -> Self {
        Self { listener, places: Arc::new(Semaphore::new(most)), idle, here: VecDeque::new() }
    }

    async fn connection(&self) -> (TcpStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok(accepted) => return accepted,
                Err(error) if accept::is_of_client(&error) => {}
                Err(_) => accept::pause().await,
            }
        }
    }

    /// A place; that of the one that came first, where none is free.
    async fn place(&mut self) -> Option<OwnedSemaphorePermit> {
        self.here.retain(|(visit, _)| visit.strong_count() > 0);
        let place = Arc::clone(&self.places).try_acquire_owned();
        if let Ok(place) = place {
            return Some(place);
        }
        if let Some((_, leave)) = self.here.pop_front() {
            leave.cancel();
        }
        Arc::clone(&self.places).acquire_owned().await.ok()
    }
}

impl axum::serve::Listener for EvictingListener {
    type Io = EvictableStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (EvictableStream, SocketAddr) {
        let (stream, address) = self.connection().await;
        let place = self.place().await;
        let (presence, leave) = (Arc::new(()), CancellationToken::new());
        self.here.push_back((Arc::downgrade(&presence), leave.clone()));
        let visit = EvictableStream {
            stream,
            leave: Box::pin(leave.cancelled_owned()),
            clock: Box::pin(sleep(self.idle)),
            idle: self.idle,
            _presence: presence,
            _place: place,
        };
        (visit, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that has a place for as long as it uses it.
#[derive(Debug)]
pub struct EvictableStream {
    stream: TcpStream,
    leave: Pin<Box<WaitForCancellationFutureOwned>>,
    clock: Pin<Box<Sleep>>,
    idle: Duration,
    _presence: Arc<()>,
    _place: Option<OwnedSemaphorePermit>,
}

impl EvictableStream {
    /// Goes on with what the stream did; ends when it is told to go, or did nothing for too long.
    fn watch<T>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if self.leave.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        if done.is_ready() {
            self.clock.as_mut().reset(Instant::now() + self.idle);
            return done;
        }
        self.clock.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for EvictableStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let done = Pin::new(&mut this.stream).poll_read(context, into);
        this.watch(context, done)
    }
}

impl AsyncWrite for EvictableStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let done = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.watch(context, done)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::timeout;
    use tokio_util::task::TaskTracker;

    use super::*;

    const LONG: Duration = Duration::from_hours(1);
    /// A listener that shuts clients out leaves them waiting for ever.
    const PATIENCE: Duration = Duration::from_secs(20);

    async fn page(most: usize, idle: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let page = Router::new().route("/metrics", get(async || "well"));
        let serving = axum::serve(EvictingListener::new(listener, most, idle), page);
        TaskTracker::new().spawn(async move { serving.await });
        address
    }

    /// What a client is answered that closes its connection, or nothing if it was shut out.
    async fn asked(stream: &mut TcpStream) -> String {
        let mut answer = String::new();
        let request = b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        if stream.write_all(request).await.is_ok() {
            let _ = timeout(PATIENCE, stream.read_to_string(&mut answer)).await;
        }
        answer
    }

    async fn is_closed(stream: &mut TcpStream) -> bool {
        matches!(timeout(PATIENCE, stream.read(&mut [0])).await, Ok(Ok(0) | Err(_)))
    }

    #[tokio::test]
    async fn idle_connections_shut_nobody_out() {
        let address = page(4, LONG).await;
        let mut idle = Vec::new();
        for _ in 0..40 {
            idle.push(TcpStream::connect(address).await.unwrap());
        }
        let answer = asked(&mut TcpStream::connect(address).await.unwrap()).await;
        assert!(answer.ends_with("well"), "{answer:?}");
        // Those that came first had to go: all but three, whose places nobody needed.
        for stream in idle.iter_mut().take(37) {
            assert!(is_closed(stream).await);
        }
        for stream in idle.iter_mut().skip(37) {
            assert!(asked(stream).await.ends_with("well"));
        }
    }

    #[tokio::test]
    async fn a_connection_that_nobody_uses_is_closed() {
        let address = page(4, Duration::from_millis(1)).await;
        let mut idle = TcpStream::connect(address).await.unwrap();
        assert!(is_closed(&mut idle).await);
    }
}
