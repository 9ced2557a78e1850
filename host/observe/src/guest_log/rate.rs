//! How much of one kind of line a backend may cause: a token bucket in bytes, of which every line costs something,
//! however short it is. Pure: the caller passes the time.

use std::time::Duration;

use tokio::time::Instant;

/// What a line costs beside its words, in bytes: time, level, names and ids are written with every one.
pub(super) const OVERHEAD: u64 = 128;
/// What it costs to say that lines were dropped, in bytes.
const NOTICE: u64 = 2 * OVERHEAD;
/// How often that is said at most.
const NOTICES: Duration = Duration::from_secs(1);

/// The budget of one kind of line.
#[derive(Debug)]
pub(super) struct Budget {
    rate: u64,
    burst: u64,
    tokens: u64,
    /// What was written beyond the tokens, because a line became longer than it was when it was let through.
    debt: u64,
    filled: Instant,
    dropped: u64,
    told: Option<Instant>,
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is written; so many were dropped before it, which is to be said first.
    Write(u64),
    /// It is dropped, and counted.
    Drop,
}

impl Budget {
    /// `rate` bytes a second, `burst` at once.
    pub(super) const fn new(rate: u64, burst: u64, now: Instant) -> Self {
        Self { rate, burst, tokens: burst, debt: 0, filled: now, dropped: 0, told: None }
    }

    /// Other numbers from now on.
    pub(super) fn allow(&mut self, rate: u64, burst: u64, now: Instant) {
        self.fill(now);
        // What was not used of a larger one is used no more; of a smaller one nothing is missing that was not used.
        let used = self.burst.saturating_sub(self.tokens);
        (self.rate, self.burst, self.tokens) = (rate, burst, burst.saturating_sub(used));
    }

    /// Pays for a line with so many bytes of words.
    pub(super) fn line(&mut self, bytes: u64, now: Instant) -> Verdict {
        self.fill(now);
        let is_notice_due = self.is_notice_due(now);
        let price = bytes.saturating_add(OVERHEAD).saturating_add(if is_notice_due { NOTICE } else { 0 });
        let Some(left) = self.tokens.checked_sub(price) else {
            self.drop_one();
            return Verdict::Drop;
        };
        self.tokens = left;
        Verdict::Write(if is_notice_due { self.told(now) } else { 0 })
    }

    /// Counts a line that is not written for another reason.
    pub(super) const fn drop_one(&mut self) {
        self.dropped = self.dropped.saturating_add(1);
    }

    /// Pays for what a line that was let through has become longer by.
    pub(super) const fn owe(&mut self, bytes: u64) {
        let paid = if bytes < self.tokens { bytes } else { self.tokens };
        self.tokens -= paid;
        self.debt = self.debt.saturating_add(bytes - paid);
    }

    /// How many lines were dropped since it was last said, if it is to be said now.
    pub(super) fn notice(&mut self, now: Instant) -> Option<u64> {
        self.fill(now);
        if !self.is_notice_due(now) {
            return None;
        }
        self.tokens = self.tokens.checked_sub(NOTICE)?;
        Some(self.told(now))
    }

    fn is_notice_due(&self, now: Instant) -> bool {
        self.dropped > 0 && self.told.is_none_or(|told| now.saturating_duration_since(told) >= NOTICES)
    }

    const fn told(&mut self, now: Instant) -> u64 {
        self.told = Some(now);
        std::mem::replace(&mut self.dropped, 0)
    }

    fn fill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.filled);
        let earned = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX).saturating_mul(self.rate) / 1000;
        // Less than a byte is earned later.
        if earned > 0 {
            let paid = earned.min(self.debt);
            self.debt -= paid;
            self.tokens = self.tokens.saturating_add(earned - paid).min(self.burst);
            self.filled = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of so many bytes, one each 10 microseconds for 4 s: how many were written, with how many notices.
    fn flood(bytes: u64, (rate, burst): (u64, u64)) -> (u64, u64) {
        let begin = Instant::now();
        let mut budget = Budget::new(rate, burst, begin);
        let (mut lines, mut notices, mut missing) = (0, 0, 0);
        for turn in 0..400_000 {
            match budget.line(bytes, begin + Duration::from_micros(10) * turn) {
                Verdict::Write(0) => lines += 1,
                Verdict::Write(dropped) => (lines, notices, missing) = (lines + 1, notices + 1, missing + dropped),
                Verdict::Drop => {}
            }
        }
        assert_eq!(lines + missing + budget.dropped, 400_000, "each is written or counted");
        (lines, notices)
    }

    #[test]
    fn no_line_is_free() {
        for bytes in [0, 1, 100, 4096] {
            let (lines, notices) = flood(bytes, (64 << 10, 256 << 10));
            let written = lines * (bytes + OVERHEAD) + notices * NOTICE;
            assert!(written <= 4 * (64 << 10) + (256 << 10), "{lines} lines of {bytes} bytes, {notices} notices");
            assert!((2..=4).contains(&notices), "once a second: {notices}");
        }
        assert_eq!(flood(0, (u64::MAX, u64::MAX)), (400_000, 0), "without a limit");
    }

    #[test]
    fn it_fills_with_time_and_never_beyond_the_burst() {
        let now = Instant::now();
        let mut budget = Budget::new(1000, 200, now);
        assert_eq!(budget.line(72, now), Verdict::Write(0));
        assert_eq!(budget.line(0, now), Verdict::Drop);
        assert_eq!(budget.notice(now), None, "it costs more than is there, and is said later");
        assert_eq!(
            budget.line(72, now + Duration::from_secs(9)),
            Verdict::Drop,
            "with the notice it is more than the burst"
        );
        let mut budget = Budget::new(1000, 600, now);
        assert_eq!(budget.line(473, now), Verdict::Drop, "never more than the burst");
        let later = now + Duration::from_secs(9);
        assert_eq!(budget.line(100, later), Verdict::Write(1));
        assert_eq!(budget.line(0, later), Verdict::Drop);
        assert_eq!(budget.line(0, later + Duration::from_millis(500)), Verdict::Write(0), "the next notice is not due");
        assert_eq!(budget.notice(later + Duration::from_millis(999)), None);
        assert_eq!(budget.notice(later + Duration::from_secs(1)), Some(1));
        assert_eq!(budget.notice(later + Duration::from_secs(9)), None, "said once");
    }

    #[test]
    fn a_line_that_became_longer_is_paid_by_the_next() {
        let now = Instant::now();
        let mut budget = Budget::new(1000, 200, now);
        assert_eq!(budget.line(0, now), Verdict::Write(0));
        budget.owe(1072);
        assert_eq!(budget.line(0, now + Duration::from_secs(1)), Verdict::Drop);
        assert_eq!(budget.line(0, now + Duration::from_millis(1127)), Verdict::Drop);
        let mut quiet = Budget::new(1000, 200, now);
        quiet.owe(1200);
        assert_eq!(quiet.line(0, now + Duration::from_millis(1128)), Verdict::Write(0));
    }

    #[test]
    fn other_numbers_hold_at_once() {
        let now = Instant::now();
        let mut budget = Budget::new(1000, 1000, now);
        assert_eq!(budget.line(372, now), Verdict::Write(0));
        budget.allow(1000, 600, now);
        assert_eq!(budget.line(0, now), Verdict::Drop, "500 of them are used");
        budget.allow(1000, 2000, now);
        assert_eq!(budget.notice(now), Some(1));
    }
}
