//! How a running job is told to stop, and how it tells how far it is.
//!
//! Owns the reasons and the time limit. A job asks between its steps; one that waits for a program
//! also gets a descriptor that becomes readable, so that nobody has to poll.

use crate::error::{FileError, FileErrorCode};
use rustix::event::{EventfdFlags, eventfd};
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Why a job stops before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// It is not wanted any more; what it made goes.
    Cancelled,
    /// The host shuts down; what it made stays, to go on there.
    Draining,
    /// Its time is over; what it made stays, to go on there.
    TimeLimit,
}

/// Told once, heard by the job.
#[derive(Debug)]
pub(super) struct Stop {
    why: OnceLock<Why>,
    deadline: OnceLock<Instant>,
    event: OwnedFd,
}

impl Stop {
    /// Not stopped, without a limit yet.
    pub(super) fn new() -> Result<Self, FileError> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| FileError::system(e, "prepare", "job"))?;
        Ok(Self { why: OnceLock::new(), deadline: OnceLock::new(), event })
    }

    /// Starts the clock: from now on the job has `limit`.
    pub(super) fn start(&self, limit: Duration) {
        if let Some(deadline) = Instant::now().checked_add(limit) {
            let _first_wins = self.deadline.set(deadline);
        }
    }

    /// Tells the job to stop. The first reason stays.
    pub(super) fn request(&self, why: Why) {
        let _first_wins = self.why.set(why);
        // It fails only if the counter is full, and then it is readable already.
        let _readable = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// Why the job has to stop, if it has to.
    pub(super) fn why(&self) -> Option<Why> {
        self.why.get().copied().or_else(|| self.left()?.is_zero().then_some(Why::TimeLimit))
    }

    /// The time left; none: no limit.
    pub(super) fn left(&self) -> Option<Duration> {
        self.deadline.get().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// An error when the job has to stop.
    pub(super) fn check(&self) -> Result<(), FileError> {
        self.why().map_or(Ok(()), |why| Err(why.into()))
    }

    /// Readable once a stop was requested.
    pub(super) fn event(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

impl From<Why> for FileError {
    fn from(why: Why) -> Self {
        match why {
            Why::Cancelled => Self::new(FileErrorCode::Failed, "the job was cancelled"),
            Why::Draining => Self::new(FileErrorCode::Busy, "the host is shutting down; run the job again to go on"),
            Why::TimeLimit => Self::new(FileErrorCode::Limit, "the job passed its time limit; run it again to go on"),
        }
    }
}

/// How far a job is, in bytes.
#[derive(Debug, Default)]
pub(super) struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// How much there is to do, and how much of it an earlier run did.
    pub(super) fn begin(&self, done: u64, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
    }

    /// So much more is done.
    pub(super) fn add(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Done, and all.
    pub(super) fn read(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
