//! Whether a generation on trial goes wrong. Compares numbers; who counts them, and what follows, is
//! others' to know. Why compared: calls also fail because an array is down, and then the old code failed
//! as well.

/// How calls have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls that ended: those that were admitted, and those that an open breaker refused.
    pub calls: u64,
    /// Those that ended in a trap, a limit, a timeout or a malformed answer, or at the breaker.
    pub bad: u64,
}

/// So many bad calls are needed at least: one or two may be an accident.
const ENOUGH: u64 = 3;
/// So many calls of a hundred more than with the old generation are too many.
const MARGIN: u64 = 10;

/// Whether the new generation is to go back: enough bad calls, and their share of all is at least
/// `MARGIN` percentage points above the old one's.
pub(super) const fn is_worse(new: Tally, old: Tally) -> bool {
    new.bad >= ENOUGH && share(new) >= share(old).saturating_add(MARGIN)
}

/// Bad calls of a hundred.
const fn share(tally: Tally) -> u64 {
    match tally.bad.saturating_mul(100).checked_div(tally.calls) {
        Some(share) => share,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn tally(calls: u64, bad: u64) -> Tally {
        Tally { calls, bad }
    }

    #[test]
    fn one_call_in_three_is_too_many_and_one_accident_is_not() {
        for (new, old, worse) in [
            (tally(9, 3), tally(1_000, 0), true),
            (tally(3, 3), tally(0, 0), true),
            (tally(2, 2), tally(1_000, 0), false),
            (tally(1_000, 3), tally(1_000, 0), false),
            (tally(100, 10), tally(1_000, 0), true),
            (tally(100, 40), tally(100, 35), false),
            (tally(100, 50), tally(100, 35), true),
            (tally(0, 0), tally(0, 0), false),
        ] {
            assert_eq!(is_worse(new, old), worse, "{new:?} {old:?}");
        }
    }
}
