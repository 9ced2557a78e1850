//! How long the guests of a backend compute in a call, lately. Counts; what follows from it is the lane's.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A backend whose calls compute for so long begins them on its lane: twenty of them on one connection would share one
/// processor, and keep all other connections of its thread waiting. Changing the thread twice costs a call a few percent of it.
const SLOW: u64 = 500_000;
/// Of how many calls the mean is, about.
const CALLS: u64 = 8;

/// The mean of the last calls, in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Pace(AtomicU64);

impl Pace {
    /// A guest has computed for so long in a call. Two at the same time may count as one.
    pub(super) fn note(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).min(SLOW * CALLS);
        let mean = self.0.load(Ordering::Relaxed);
        self.0.store(mean - mean / CALLS + took / CALLS, Ordering::Relaxed);
    }

    /// Whether the next call is likely to be a long one.
    pub(super) fn is_slow(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= SLOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_decide_together_and_the_last_ones_most() {
        let (pace, brief, long) = (Pace::default(), Duration::from_micros(30), Duration::from_millis(1));
        for _ in 0..20 {
            pace.note(brief);
        }
        pace.note(long);
        assert!(!pace.is_slow(), "one long call says little");
        for _ in 0..20 {
            pace.note(long);
        }
        assert!(pace.is_slow());
        pace.note(brief);
        assert!(pace.is_slow(), "so does a brief one");
        pace.note(Duration::MAX);
        for _ in 0..40 {
            pace.note(brief);
        }
        assert!(!pace.is_slow(), "an endless one is forgotten");
    }
}
