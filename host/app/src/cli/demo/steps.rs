//! One step of a walk: make a call, say in a sentence what came back and how long it took. Knows
//! nothing of the order of steps.

use std::fmt::Display;
use std::future::Future;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tonic::{Code, Response, Status};

use crate::cli::{call, print};

/// A step that takes longer has failed: none of them does more than a few MiB of work.
const LONGEST: Duration = Duration::from_mins(1);

/// Why a walk does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// A step failed; it has been said which.
    Failed,
    /// Somebody wants it to end.
    Stopped,
}

/// Counts steps and remembers which failed.
#[derive(Debug)]
pub(super) struct Steps {
    stop: CancellationToken,
    number: usize,
    acts: usize,
    failed: Vec<String>,
}

impl Steps {
    /// None yet; none begins once `stop` is cancelled, apart from those of tidying up.
    pub(super) const fn new(stop: CancellationToken) -> Self {
        Self { stop, number: 0, acts: 0, failed: Vec::new() }
    }

    /// Makes a call that the walk cannot go on without.
    ///
    /// # Errors
    /// When it failed, or when the walk shall stop.
    pub(super) async fn call<T>(
        &mut self,
        rpc: &str,
        answer: impl Future<Output = Result<Response<T>, Status>>,
        tell: impl FnOnce(&T) -> String,
    ) -> Result<T, Halt> {
        if self.stop.is_cancelled() {
            return Err(Halt::Stopped);
        }
        self.tidy(rpc, answer, tell).await
    }

    /// Makes a call even when the walk shall stop.
    ///
    /// # Errors
    /// When it failed.
    pub(super) async fn tidy<T>(
        &mut self,
        rpc: &str,
        answer: impl Future<Output = Result<Response<T>, Status>>,
        tell: impl FnOnce(&T) -> String,
    ) -> Result<T, Halt> {
        let began = Instant::now();
        let answer = match tokio::time::timeout(LONGEST, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(Status::deadline_exceeded("no answer within a minute")),
        };
        let took = began.elapsed().as_secs_f64() * 1000.0;
        match answer {
            Ok(answer) => {
                let answer = answer.into_inner();
                self.say(&format!("{rpc}: {} ({took:.1} ms)", tell(&answer)));
                Ok(answer)
            }
            Err(status) => Err(self.fail(rpc, &format!("{} ({took:.1} ms)", call::status_line(&status)))),
        }
    }

    /// Makes a call that the driver may refuse as things stand, with `FAILED_PRECONDITION`; none then.
    ///
    /// # Errors
    /// When it failed in another way, or when the walk shall stop.
    pub(super) async fn attempt<T>(
        &mut self,
        rpc: &str,
        answer: impl Future<Output = Result<Response<T>, Status>>,
        tell: impl FnOnce(&T) -> String,
    ) -> Result<Option<T>, Halt> {
        let answer = async {
            match answer.await {
                Ok(answer) => Ok(Response::new(Ok(answer.into_inner()))),
                Err(status) if status.code() == Code::FailedPrecondition => Ok(Response::new(Err(status))),
                Err(status) => Err(status),
            }
        };
        let tell = |answer: &Result<T, Status>| match answer {
            Ok(answer) => tell(answer),
            Err(status) => format!("not as things stand: {}", call::status_line(status)),
        };
        Ok(self.call(rpc, answer, tell).await?.ok())
    }

    /// Takes the result of work that is no call.
    ///
    /// # Errors
    /// When it failed.
    pub(super) fn work<T, E: Display>(&mut self, what: &str, result: Result<T, E>) -> Result<T, Halt> {
        match result {
            Ok(value) => {
                self.say(&format!("{what}."));
                Ok(value)
            }
            Err(error) => Err(self.fail(what, &error.to_string())),
        }
    }

    /// Notes what went wrong.
    pub(super) fn fail(&mut self, step: &str, why: &str) -> Halt {
        self.say(&format!("{step}: FAILED: {why}"));
        self.failed.push(step.to_owned());
        Halt::Failed
    }

    /// Begins an act; the steps go on being counted.
    pub(super) fn act(&mut self, title: &str) {
        self.acts += 1;
        print(&format!("\nAct {}: {title}", self.acts));
    }

    /// The sentence at the end.
    pub(super) fn verdict(&self, ended: Result<(), Halt>) -> Result<(), Halt> {
        if !self.failed.is_empty() {
            print(&format!("Not all steps went well. Failed: {}.", self.failed.join(", ")));
            return Err(Halt::Failed);
        }
        match ended {
            Ok(()) => print("\nAll steps went well."),
            Err(_) => print("Stopped before the end; what the walk had made was taken away."),
        }
        ended
    }

    fn say(&mut self, sentence: &str) {
        self.number += 1;
        print(&format!("{:>3}. {sentence}", self.number));
    }
}
