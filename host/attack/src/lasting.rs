//! What the host that went on showed, as figures, and whether they are well. Measures nothing itself.

use serde::Serialize;

use super::process::Held;

/// The share of its memory by which a host may have grown from its first round to its last.
const GROWTH: f64 = 0.1;
/// How often its p99 under attack may be the one in peace.
pub(super) const TIMES: f64 = 3.0;

/// What the host that went on showed.
#[derive(Debug, Serialize)]
pub(super) struct Lasting {
    /// Of the neighbour's calls, in microseconds.
    pub(super) p99_in_peace_us: u128,
    pub(super) p99_under_attack_us: u128,
    pub(super) times: f64,
    pub(super) neighbour_calls: usize,
    pub(super) neighbour_failures: usize,
    /// Attacks of each round.
    pub(super) attacks: usize,
    /// What the host held in peace, before anything was tried.
    pub(super) before: Held,
    /// What it held after each round.
    pub(super) rounds: Vec<Held>,
    /// And in peace again, without the backends that attack of their own accord.
    pub(super) after: Held,
    /// `CapEff` of the process that runs guests.
    pub(super) capabilities: String,
    /// What is wrong with how it ended; empty: nothing.
    pub(super) left: String,
}

impl Lasting {
    /// How much larger the last round's memory is than the first one's; 0.1: a tenth.
    fn growth(&self) -> f64 {
        let (Some(first), Some(last)) = (self.rounds.first(), self.rounds.last()) else { return 0.0 };
        ratio(u128::from(last.memory), u128::from(first.memory)) - 1.0
    }

    /// Whether nothing failed, and nothing was left. The times are figures: they depend on who else is at work here.
    pub(super) fn is_well(&self) -> bool {
        self.neighbour_failures == 0 && self.left.is_empty() && self.growth() <= GROWTH && !self.has_grown()
    }

    /// Whether it holds more descriptors or threads than before.
    const fn has_grown(&self) -> bool {
        !self.after.is_within(&self.before)
    }

    /// The figures, for people.
    pub(super) fn lines(&self) -> Vec<String> {
        let ms = |us: u128| ratio(us, 1_000);
        let mut lines = vec![format!(
            "one host, {} attacks a round: the neighbour's p99 {:.1} ms under attack, {:.1} ms in peace: {:.1} times ({TIMES} \
             are asked for at most); {} of its {} calls failed",
            self.attacks,
            ms(self.p99_under_attack_us),
            ms(self.p99_in_peace_us),
            self.times,
            self.neighbour_failures,
            self.neighbour_calls,
        )];
        let rounds = (1..).zip(&self.rounds).map(|(number, held)| (format!("after round {number}"), held));
        let (before, after) =
            (("in peace before".to_owned(), &self.before), ("in peace again".to_owned(), &self.after));
        for (when, held) in std::iter::once(before).chain(rounds).chain([after]) {
            lines.push(format!(
                "{when}: {:.1} MiB of memory, {} descriptors, {} threads",
                ratio(held.memory.into(), 1_024),
                held.descriptors,
                held.threads
            ));
        }
        let left = if self.left.is_empty() { "nothing" } else { &self.left };
        lines.push(format!(
            "memory grew by {:.1} % from the first round to the last; left over: {}; the process that runs guests has \
             the capabilities {}",
            100.0 * self.growth(),
            if self.has_grown() { "descriptors or threads" } else { left },
            self.capabilities
        ));
        lines
    }
}

/// One number as a multiple of another.
#[allow(clippy::cast_precision_loss, reason = "figures for people")]
pub(super) fn ratio(part: u128, whole: u128) -> f64 {
    part as f64 / whole.max(1) as f64
}
