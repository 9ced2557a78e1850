//! The streams of a file.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::Waiting;
use super::{CHUNK, FILE_SYSTEM};
use crate::lane;
use crate::meter::Meter;
use drivebay_files::descriptors::{Errno, File, OpError, OpResult, Patience, in_time};

/// Reads a file from an offset on.
#[derive(Debug)]
pub(super) struct Reader {
    file: Arc<File>,
    offset: u64,
    waiting: Waiting,
    /// What comes next is not in memory.
    waits: bool,
    /// The end, or an error, was seen.
    closed: bool,
}

impl Reader {
    pub(super) const fn new(file: Arc<File>, offset: u64, waiting: Waiting) -> Self {
        Self { file, offset, waiting, waits: false, closed: false }
    }

    fn read_now(&mut self, size: usize, patience: Patience) -> StreamResult<Bytes> {
        if self.closed {
            return Err(StreamError::Closed);
        }
        if size == 0 {
            return Ok(Bytes::new());
        }
        let guard = self.file.guard().filter(|_| patience == Patience::Any);
        let (file, offset) = (Arc::clone(&self.file), self.offset);
        match in_time(guard, move || take(&file, size.min(CHUNK), offset, patience)) {
            Err(OpError::Waits) => {
                self.waits = true;
                Ok(Bytes::new())
            }
            Ok(bytes) if bytes.is_empty() => {
                self.closed = true;
                Err(StreamError::Closed)
            }
            Ok(bytes) => {
                self.offset = self.offset.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
                Ok(bytes.into())
            }
            Err(trouble) => {
                self.closed = true;
                Err(failed(&trouble))
            }
        }
    }

    fn patience() -> Patience {
        if lane::is_here() { Patience::Any } else { Patience::Cached }
    }
}

#[async_trait::async_trait]
impl Pollable for Reader {
    /// What could not be read at once can be on the lane.
    async fn ready(&mut self) {
        if self.waits && self.waiting.ready().await.is_ok() {
            self.waits = false;
        }
    }
}

#[async_trait::async_trait]
impl InputStream for Reader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let patience = Self::patience();
        if patience == Patience::Any {
            // A server may hang: nobody waits for this call's turn to compute meanwhile.
            self.waiting.meter.place().leave();
        }
        Meter::apart(|| self.read_now(size, patience))
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        if !lane::is_here() {
            let read = self.read_now(size, Patience::Cached)?;
            if size == 0 || !read.is_empty() {
                return Ok(read);
            }
        }
        self.waiting.ready().await.map_err(StreamError::Trap)?;
        self.waits = false;
        self.read(size)
    }
}

/// Reads bytes of a file, as many as there are at once; none: it ends there.
pub(super) fn take(file: &File, length: usize, offset: u64, patience: Patience) -> OpResult<Vec<u8>> {
    let mut bytes = vec![0; length];
    let count = file.read(&mut bytes, offset, patience)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// Where a writer begins.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start {
    /// At this offset, from which it goes on.
    At(u64),
    /// At the end, wherever that is each time.
    End,
}

/// What is said of a write that is longer than `check-write` allowed.
pub(in crate::imports) const TOO_MUCH: &str = "more was written than check-write allowed";

/// Writes a file, on a lane alone: what a guest hands over is written before the guest goes on, so that the host keeps
/// none of it, however many streams there are.
#[derive(Debug)]
pub(super) struct Writer {
    file: Arc<File>,
    start: Start,
    waiting: Waiting,
    state: State,
}

#[derive(Debug)]
enum State {
    Open,
    Failed(OpError),
    Closed,
}

impl Writer {
    pub(super) const fn new(file: Arc<File>, start: Start, waiting: Waiting) -> Self {
        Self { file, start, waiting, state: State::Open }
    }

    /// How much may be written at once. Nothing where nobody may wait: the stream is ready on the lane.
    fn room() -> usize {
        if lane::is_here() { CHUNK } else { 0 }
    }

    fn write_all(&mut self, mut bytes: Bytes) -> OpResult<()> {
        loop {
            let (file, own, start) = (Arc::clone(&self.file), bytes.clone(), self.start);
            let write = move || match start {
                Start::End => file.append(&own),
                Start::At(offset) => file.write(&own, offset),
            };
            let count = in_time(self.file.guard(), write)?;
            if let Start::At(offset) = &mut self.start {
                *offset = offset.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
            }
            if count == 0 && !bytes.is_empty() {
                return Err(Errno::IO.into());
            }
            bytes = bytes.slice(count.min(bytes.len())..);
            if bytes.is_empty() {
                return Ok(());
            }
        }
    }

    /// Whether it can be written to; an error is told once.
    fn check(&mut self) -> StreamResult<()> {
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Open => {
                self.state = State::Open;
                Ok(())
            }
            State::Failed(trouble) => Err(failed(&trouble)),
            State::Closed => Err(StreamError::Closed),
        }
    }
}

#[async_trait::async_trait]
impl Pollable for Writer {
    async fn ready(&mut self) {
        if !lane::is_here() && self.waiting.ready().await.is_err() {
            self.state = State::Closed;
        }
    }
}

#[async_trait::async_trait]
impl OutputStream for Writer {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.check()?;
        if bytes.len() > Self::room() {
            return Err(StreamError::Trap(wasmtime::Error::msg(TOO_MUCH)));
        }
        self.waiting.gate.pass_at_once(FILE_SYSTEM).map_err(StreamError::Trap)?;
        if !bytes.is_empty()
            && let Err(trouble) = Meter::apart(|| self.write_all(bytes))
        {
            self.state = State::Failed(trouble);
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.check()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.check()?;
        Ok(Self::room())
    }
}

fn failed(trouble: &OpError) -> StreamError {
    let error = match trouble {
        OpError::Refused(errno) => io::Error::from(*errno),
        OpError::Waits | OpError::Absent(_) => io::Error::other(trouble.to_string()),
    };
    StreamError::LastOperationFailed(error.into())
}
