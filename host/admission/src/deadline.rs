//! Deadlines of calls: reading the client's, and deciding when the host answers. Pure; time is an
//! argument.
//!
//! The host answers `DEADLINE_EXCEEDED` itself, a little before the client's own deadline: the
//! transport would otherwise drop the handler and answer CANCELLED.

use std::time::Duration;

/// When the client stops waiting, as it said in `grpc-timeout`; none: it waits for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(Option<Duration>);

impl Deadline {
    /// No deadline.
    pub const NONE: Self = Self(None);

    /// Reads the value of the `grpc-timeout` header: up to eight digits and a unit out of
    /// `H M S m u n`. What cannot be read counts as no deadline, as in other servers.
    pub fn from_header(value: &str) -> Self {
        Self(parse(value))
    }

    /// How long the host may still wait before it answers, when `passed` is over: 2 % less than the
    /// client's time, at least 2 ms and at most 200 ms less, so that the answer still arrives.
    pub fn answer_within(self, passed: Duration) -> Option<Duration> {
        let margin = |d: Duration| (d / 50).clamp(Duration::from_millis(2), Duration::from_millis(200));
        self.0.map(|d| d.saturating_sub(margin(d)).saturating_sub(passed))
    }
}

fn parse(value: &str) -> Option<Duration> {
    let (digits, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let amount: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(amount * 3600)),
        "M" => Some(Duration::from_secs(amount * 60)),
        "S" => Some(Duration::from_secs(amount)),
        "m" => Some(Duration::from_millis(amount)),
        "u" => Some(Duration::from_micros(amount)),
        "n" => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_values() {
        let cases = [
            ("1S", Some(Duration::from_secs(1))),
            ("100m", Some(Duration::from_millis(100))),
            ("99999999H", Some(Duration::from_hours(99_999_999))),
            ("5u", Some(Duration::from_micros(5))),
            ("7n", Some(Duration::from_nanos(7))),
            ("2M", Some(Duration::from_mins(2))),
            ("", None),
            ("S", None),
            ("1", None),
            ("-1S", None),
            ("123456789S", None),
            ("1.5S", None),
            ("1é", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Deadline::from_header(text).0, expected, "{text:?}");
        }
    }

    #[test]
    fn the_answer_comes_before_the_client_gives_up() {
        for ms in [3_u64, 10, 100, 1_000, 10_000, 120_000] {
            let client = Duration::from_millis(ms);
            let ours = Deadline(Some(client)).answer_within(Duration::ZERO).unwrap();
            assert!(ours < client && client.abs_diff(ours) <= Duration::from_millis(200), "{ms} ms");
        }
        assert_eq!(Deadline::NONE.answer_within(Duration::ZERO), None);
        assert_eq!(Deadline(Some(Duration::from_millis(1))).answer_within(Duration::ZERO), Some(Duration::ZERO));
    }
}
