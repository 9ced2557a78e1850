//! Standard output and error of a component as log lines. A full log drops lines and never closes
//! or blocks the stream: guests panic on a closed standard output.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use super::filesystem::streams;
use crate::context::CallContext;
use crate::surroundings::Surroundings;
use crate::unfinished_line::UnfinishedLine;
use drivebay_observe::Level;
use drivebay_observe::guest_log::Origin;
use drivebay_recording::Tape;

/// Bytes that a guest may write at once, in as many lines as it likes: between two writes it can be interrupted. More is
/// a trap, as WASI has it.
const ONE_WRITE: usize = 4096;

/// The call that an instance works for now; it changes when the instance is reused.
#[derive(Debug)]
pub struct CurrentCall(Mutex<Arc<CallContext>>);

impl CurrentCall {
    /// Starts with this call.
    pub fn new(call: Arc<CallContext>) -> Self {
        Self(Mutex::new(call))
    }

    /// Goes on with this call.
    pub fn set(&self, call: Arc<CallContext>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = call;
    }

    fn get(&self) -> Arc<CallContext> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One of the two streams. Its copies share the unfinished line.
#[derive(Debug, Clone)]
pub struct LogStream {
    around: Arc<Surroundings>,
    current: Arc<CurrentCall>,
    level: Level,
    tape: Option<Tape>,
    line: UnfinishedLine,
}

impl LogStream {
    /// A stream that logs at this level.
    pub fn new(around: Arc<Surroundings>, current: Arc<CurrentCall>, level: Level, tape: Option<Tape>) -> Self {
        Self { around, current, level, tape, line: UnfinishedLine::default() }
    }

    fn take(&self, bytes: &[u8]) {
        self.line.take(bytes, |text| self.log(text));
    }

    /// Logs what there is of an unfinished line: the call ends, and its secrets are masked with it.
    pub(crate) fn end(&self) {
        self.line.end(|text| self.log(text));
    }

    fn log(&self, text: &str) {
        if let Some(tape) = &self.tape {
            tape.said(text);
        }
        let call = self.current.get();
        let origin = Origin { call: &call.id, secrets: &call.secrets };
        self.around.log.line(self.level, "stdio", text, origin);
    }
}

impl Drop for LogStream {
    fn drop(&mut self) {
        if self.line.is_last() {
            self.end();
        }
    }
}

impl IsTerminal for LogStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LogStream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    // Written through at once: the engine's own adapter writes from a task, and what a guest said
    // last would be lost when its instance is dropped.
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Pollable for LogStream {
    async fn ready(&mut self) {}
}

impl OutputStream for LogStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > ONE_WRITE {
            // Millions of lines would be looked at while nobody else of this thread is served.
            return Err(StreamError::Trap(wasmtime::Error::msg(streams::TOO_MUCH)));
        }
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(ONE_WRITE)
    }
}

impl AsyncWrite for LogStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.take(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
