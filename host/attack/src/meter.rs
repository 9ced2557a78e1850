//! What the neighbour of an attack notices: a client that calls and calls, timed. Its thread, connection and turns are
//! its own, so that it does not measure what the other clients of this program are busy with. Judges nothing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde::Serialize;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::transport::Channel;

use super::clients::{self, PublishedAt};
use super::process::client;
use super::times::PATIENCE;

/// Between two calls.
const BREATH: Duration = Duration::from_millis(4);

/// What a call of the neighbour's does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum What {
    /// Nothing but compute, for next to no time.
    Plain,
    /// A commit to the state.
    Commit,
    /// Reads a file of its directory.
    Read,
    /// A publish on this node; it is unpublished untimed.
    Publish,
}

impl What {
    pub(super) const ALL: [Self; 4] = [Self::Plain, Self::Commit, Self::Read, Self::Publish];

    /// For people.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Commit => "commits",
            Self::Read => "reads",
            Self::Publish => "publishes",
        }
    }
}

/// What the neighbour's calls are.
#[derive(Debug, Clone)]
pub(super) enum Mix {
    /// All of them plain.
    Plain,
    /// Commits and reads in turn, and publishes where there is a place for them.
    Work(Option<PublishedAt>),
}

/// What became of the calls.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// What, from when, and for how long.
    took: Vec<(What, Instant, Duration)>,
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
        p99(self.took.iter().map(|(.., took)| *took).collect())
    }

    /// The same of one kind of calls.
    pub(super) fn p99_of(&self, what: What) -> u128 {
        p99(self.took.iter().filter(|(it, ..)| *it == what).map(|(.., took)| *took).collect())
    }

    /// The same of those that were under way in this time.
    pub(super) fn p99_within(&self, from: Instant, to: Instant) -> u128 {
        let is_within = |begin: Instant, took| begin < to && begin + took > from;
        p99(self.took.iter().filter(|(_, begin, took)| is_within(*begin, *took)).map(|(.., took)| *took).collect())
    }
}

fn p99(mut took: Vec<Duration>) -> u128 {
    took.sort_unstable();
    let at = took.len().saturating_sub(1) * 99 / 100;
    took.get(at).map_or(0, Duration::as_micros)
}

/// Does some work, and times the calls of a client of this socket from before its begin to its end.
///
/// # Errors
/// When the client cannot be started, or is never served.
pub(super) async fn beside(socket: PathBuf, mix: Mix, work: impl Future<Output = ()>) -> Result<Calls> {
    let (says, connected) = oneshot::channel();
    let over = CancellationToken::new();
    let done = over.clone().drop_guard();
    let client = spawn_blocking(move || -> Result<Calls> {
        Builder::new_current_thread().enable_all().build()?.block_on(calls(&socket, mix, says, &over))
    });
    // Without one, the client has an error to tell.
    if connected.await.is_ok() {
        work.await;
    }
    drop(done);
    client.await.context("the client of the neighbour panicked")?
}

async fn calls(socket: &Path, mix: Mix, says: oneshot::Sender<()>, over: &CancellationToken) -> Result<Calls> {
    let channel = client(socket, PATIENCE).await?;
    let mut calls = Calls::default();
    // Nobody waits for it when the work is given up.
    let _ = says.send(());
    let kinds: &[What] = match &mix {
        Mix::Plain => &[What::Plain],
        Mix::Work(None) => &[What::Commit, What::Read],
        Mix::Work(Some(_)) => &[What::Commit, What::Read, What::Publish],
    };
    for what in kinds.iter().cycle() {
        if over.is_cancelled() {
            break;
        }
        let begin = Instant::now();
        let answer = call(&channel, *what, &mix).await;
        calls.took.push((*what, begin, begin.elapsed()));
        if let (What::Publish, Mix::Work(Some(at))) = (what, &mix) {
            calls.failed += usize::from(at.unpublish(&channel).await.is_err());
        }
        calls.failed += usize::from(answer.is_err());
        sleep(BREATH).await;
    }
    Ok(calls)
}

async fn call(channel: &Channel, what: What, mix: &Mix) -> Result<(), Status> {
    match (what, mix) {
        (What::Publish, Mix::Work(Some(at))) => at.publish(channel).await,
        (What::Commit, _) => clients::does(channel, "commit").await,
        (What::Read, _) => clients::does(channel, "look").await,
        (What::Plain | What::Publish, _) => clients::good(channel).await,
    }
}
