//! What the neighbour of an attack notices: a client that calls and calls, timed. Its thread, connection and turns are
//! its own, so that it does not measure what the other clients of this program are busy with. Judges nothing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::clients;
use super::process::client;
use super::times::PATIENCE;
use drivebay_confine as confine;

/// Between two calls.
const BREATH: Duration = Duration::from_millis(4);

/// What became of the calls.
#[derive(Debug, Default)]
pub(super) struct Calls {
    took: Vec<Duration>,
    pub(super) failed: usize,
}

impl Calls {
    /// These and those of another time.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.took.extend(other.took);
        self.failed += other.failed;
        self
    }

    pub(super) const fn len(&self) -> usize {
        self.took.len()
    }

    /// What 99 of 100 took at most, in microseconds; 0: there were none.
    pub(super) fn p99(&self) -> u128 {
        let mut sorted = self.took.clone();
        sorted.sort_unstable();
        let at = sorted.len().saturating_sub(1) * 99 / 100;
        sorted.get(at).map_or(0, Duration::as_micros)
    }
}

/// Does some work, and times the calls of a client of this socket from before its begin to its end.
///
/// # Errors
/// When the client cannot be started, or is never served.
pub(super) async fn beside(socket: PathBuf, work: impl Future<Output = ()>) -> Result<Calls> {
    let (says, connected) = oneshot::channel();
    let over = CancellationToken::new();
    let done = over.clone().drop_guard();
    let client = spawn_blocking(move || -> Result<Calls> {
        // What it waited for is the host's doing, and not that of whoever has a processor. An older kernel takes no note.
        let _ = confine::take_turns(confine::Turns::Shortest);
        Builder::new_current_thread().enable_all().build()?.block_on(calls(&socket, says, &over))
    });
    // Without one, the client has an error to tell.
    if connected.await.is_ok() {
        work.await;
    }
    drop(done);
    client.await.context("the client of the neighbour panicked")?
}

async fn calls(socket: &Path, says: oneshot::Sender<()>, over: &CancellationToken) -> Result<Calls> {
    let channel = client(socket, PATIENCE).await?;
    let mut calls = Calls::default();
    // Nobody waits for it when the work is given up.
    let _ = says.send(());
    while !over.is_cancelled() {
        let begin = Instant::now();
        calls.failed += usize::from(clients::good(&channel).await.is_err());
        calls.took.push(begin.elapsed());
        sleep(BREATH).await;
    }
    Ok(calls)
}
