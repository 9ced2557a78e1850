//! What the host's log is told of a backend's jobs. A component can put a directory in the place of a job's own file, and
//! have one job after the other fail to remove it: the first failure is told, and then one in ten seconds.
//!
//! Owns the time of the last line. It must not decide what is a failure.

use std::{
    fmt::Display,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How long nothing more is told.
const PAUSE: Duration = Duration::from_secs(10);

/// The lines about one backend's jobs.
#[derive(Debug, Default)]
pub(super) struct Complaints(Mutex<Option<Instant>>);

impl Complaints {
    /// Tells it, unless something was told a moment ago.
    pub(super) fn tell(&self, owner: &str, error: &dyn Display, words: &str) {
        if self.is_due(Instant::now()) {
            tracing::warn!(backend = owner, %error, "{words}");
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.saturating_duration_since(last) >= PAUSE);
        if is_due {
            *last = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_one_line_in_ten_seconds() {
        let (complaints, begin) = (Complaints::default(), Instant::now());
        let told = (0..100_u64).filter(|n| complaints.is_due(begin + Duration::from_secs(*n) / 4)).count();
        assert_eq!(told, 3, "at 0, 10 and 20 s of 25");
    }
}
