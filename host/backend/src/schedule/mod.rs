//! Which background work runs next. Pure: the runner tells what it learned and what time it is, and
//! is told what to start and when to look again. The order itself is `queue.rs`' business.

mod queue;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub(crate) use queue::Schedule;

/// How often the backend is asked at least.
pub(crate) const ASK_EVERY: Duration = Duration::from_secs(10);
/// The first pause after a failed step; it doubles up to `LONGEST_PAUSE`.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between attempts of a failing step.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// A step that was put off because its objects were in use is tried again after this.
pub(crate) const PUT_OFF: Duration = Duration::from_millis(200);

/// An object that a work uses, as the lock table names it.
pub(crate) type Object = (&'static str, String);

/// One piece of work that the backend named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Work {
    /// The backend's name for it.
    pub id: String,
    /// What it works on.
    pub objects: Vec<Object>,
    /// When it is due, in milliseconds of the runner's clock.
    pub due: u64,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The work is done.
    Done,
    /// There is more to do.
    Again,
    /// Nothing to do now.
    Later,
    /// It failed.
    Failed,
    /// Its objects were in use, so it did not run.
    PutOff,
}

impl Ended {
    /// A fixed word for metrics.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Again => "again",
            Self::Later => "later",
            Self::Failed => "failed",
            Self::PutOff => "put-off",
        }
    }
}

/// When a moment of the wall clock is by the clock of the schedule, while the two show `wall` and `now`: as far from
/// now as it is by the wall. So a wall clock that is set while the host runs delays nothing for longer than until the
/// backend is asked again.
pub(crate) fn translated(moment: Duration, wall: Duration, now: u64) -> u64 {
    match moment.checked_sub(wall) {
        Some(ahead) => now.saturating_add(millis(ahead)),
        None => now.saturating_sub(millis(wall.saturating_sub(moment))),
    }
}

/// A span in the clock of the schedule.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
