//! How much the log holds of what is said for one backend: of what programs say of its images above all, which are its own
//! words. A call can have the same program fail over and over.
//!
//! Owns the budgets and whose work a thread does. It must not know what is said.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Instant;

use crate::process;

/// Bytes a second of one backend, and at once.
const RATE: u64 = 4 * 1024;
const BURST: u64 = 64 * 1024;
/// What a line costs beside its words: time, level and target are written with each.
const OVERHEAD: u64 = 128;

static BUDGETS: LazyLock<Mutex<HashMap<String, Budget>>> = LazyLock::new(Mutex::default);

thread_local! {
    static BACKEND: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From now on this thread works for a backend.
pub(super) fn work_for(backend: &str) {
    BACKEND.with_borrow_mut(|it| backend.clone_into(it));
}

/// A line for the host's log, if there is room for it.
pub(super) fn say(line: &str) {
    let backend = BACKEND.with_borrow(Clone::clone);
    let now = Instant::now();
    let mut budgets = BUDGETS.lock().unwrap_or_else(PoisonError::into_inner);
    let verdict = budgets.entry(backend.clone()).or_insert_with(|| Budget::new(now)).pay(line.len(), now);
    drop(budgets);
    let Some(dropped) = verdict else { return };
    if dropped > 0 {
        process::log(&format!("{dropped} lines about node work of backend {backend} were dropped: too many"));
    }
    process::log(line);
}

/// A token bucket, in bytes.
#[derive(Debug)]
struct Budget {
    tokens: u64,
    filled: Instant,
    dropped: u64,
}

impl Budget {
    const fn new(now: Instant) -> Self {
        Self { tokens: BURST, filled: now, dropped: 0 }
    }

    /// Pays for a line; gives how many were dropped before it. None: it is dropped.
    fn pay(&mut self, length: usize, now: Instant) -> Option<u64> {
        let passed = now.saturating_duration_since(self.filled).as_millis();
        let earned = u64::try_from(passed).unwrap_or(u64::MAX).saturating_mul(RATE) / 1_000;
        if earned > 0 {
            (self.tokens, self.filled) = (self.tokens.saturating_add(earned).min(BURST), now);
        }
        // With the line that tells of those before it.
        let price = u64::try_from(length).unwrap_or(u64::MAX).saturating_add(2 * OVERHEAD);
        let Some(left) = self.tokens.checked_sub(price) else {
            self.dropped = self.dropped.saturating_add(1);
            return None;
        };
        self.tokens = left;
        Some(std::mem::take(&mut self.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_flood_is_bounded_and_counted() {
        let begin = Instant::now();
        let mut budget = Budget::new(begin);
        let written = (0..10_000).filter(|_| budget.pay(2_000, begin).is_some()).count();
        assert!((20..40).contains(&written), "{written}");
        let dropped = u64::try_from(10_000 - written).unwrap();
        assert_eq!(budget.pay(2_000, begin + Duration::from_secs(1)), Some(dropped));
        let later = begin + Duration::from_hours(1);
        let written = (0..10_000).filter(|_| budget.pay(0, later).is_some()).count();
        assert_eq!(u64::try_from(written).unwrap(), BURST / (2 * OVERHEAD), "nobody saves up, and an empty line costs");
    }
}
