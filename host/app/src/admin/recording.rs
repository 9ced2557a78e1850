//! A recording of a running backend, as pieces for an operator. What is recorded, and how, is `drivebay-recording`'s; this
//! begins it, hands its bytes on, and ends it with its time, its client or the host.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::Stream;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::{Status, Streaming};

use drivebay_backend::{Backend, Generation};
use drivebay_error::status;
use drivebay_proto::admin::{RecordRequest, RecordResponse};
use drivebay_recording::line::{FORMAT, Header};
use drivebay_recording::{Bounds, Lines, Recorder};

/// Bytes of one message: a quarter of what a client takes.
const PIECE: usize = 1 << 20;
/// As long as nobody would wait: thirty years.
const FOREVER: Duration = Duration::from_hours(24 * 365 * 30);

/// What a client receives.
pub(super) type Pieces = Pin<Box<dyn Stream<Item = Result<RecordResponse, Status>> + Send>>;

/// Begins.
///
/// # Errors
/// Nothing serves, or it is being recorded already.
pub(super) fn begin(
    backend: &Arc<Backend>,
    asked: &RecordRequest,
    (client, end): (Streaming<RecordRequest>, CancellationToken),
) -> Result<Pieces, Status> {
    let name = backend.name.as_str();
    let generation = backend.generation();
    let generation = generation.ok_or_else(|| status::not_now(format!("backend \"{name}\" does not serve")))?;
    let usual = Bounds::default();
    let bounds = Bounds { bytes: if asked.bytes == 0 { usual.bytes } else { asked.bytes }, ..usual };
    let (recorder, lines) = Recorder::begin(header(name, &generation), bounds);
    if !backend.recording.set(&recorder) {
        return Err(status::not_now(format!("backend \"{name}\" is being recorded already")));
    }
    tracing::info!(backend = name, "a recording begins");
    let time = if asked.time == 0 { FOREVER } else { Duration::from_millis(asked.time).min(FOREVER) };
    let (backend, until) = (Arc::clone(backend), Instant::now() + time);
    let taking = Taking { backend, recorder, lines, until, client, end, rest: Vec::new() };
    Ok(Box::pin(futures_util::stream::unfold(taking, async |mut taking| {
        let piece = taking.piece().await?;
        Some((Ok(RecordResponse { piece }), taking))
    })))
}

/// What a recording of a backend begins with.
pub fn header(backend: &str, generation: &Generation) -> Header {
    let facts = &generation.facts;
    Header {
        format: FORMAT,
        host: env!("CARGO_PKG_VERSION").to_owned(),
        contract: "drivebay:backend@0.1.0".to_owned(),
        backend: backend.to_owned(),
        component: format!("{} {}", facts.name, facts.version),
        digest: format!("sha256:{}", generation.digest),
        began: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        directories: generation.config.grants.directories.iter().map(|grant| grant.guest.clone()).collect(),
    }
}

/// A recording that a client takes. When it is dropped, nothing is recorded any more.
struct Taking {
    backend: Arc<Backend>,
    recorder: Arc<Recorder>,
    lines: Lines,
    until: Instant,
    /// Closed by a client that wants no more.
    client: Streaming<RecordRequest>,
    end: CancellationToken,
    /// What of a line did not fit in the last piece.
    rest: Vec<u8>,
}

impl Taking {
    /// The next piece; none: that was all.
    async fn piece(&mut self) -> Option<Vec<u8>> {
        if self.rest.is_empty() {
            self.rest = self.line().await?.into_bytes();
        }
        while self.rest.len() < PIECE
            && let Some(line) = self.lines.next_ready()
        {
            self.rest.extend(line.into_bytes());
        }
        let after = self.rest.split_off(self.rest.len().min(PIECE));
        Some(std::mem::replace(&mut self.rest, after))
    }

    async fn line(&mut self) -> Option<String> {
        tokio::select! {
            line = self.lines.next() => return line,
            () = tokio::time::sleep_until(self.until) => self.recorder.end("its time was over"),
            () = self.end.cancelled() => self.recorder.end("the host was told to end"),
            _ = self.client.message() => self.recorder.end("it was interrupted"),
        }
        self.lines.next().await
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        self.recorder.end("nobody took it any more");
        self.backend.recording.clear();
        tracing::info!(backend = self.backend.name, "a recording has ended");
    }
}
