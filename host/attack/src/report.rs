//! What became of a run: whether all of it was well, and the words and figures for people. Runs nothing.

use serde::Serialize;

use super::EVERY;
use super::judge::Verdict;
use super::lasting::Lasting;
use super::storm::Storm;

/// Why an attack was not tried.
pub(super) const SKIPPED: &str = "it needs root";
/// The most characters of what a client saw, or a host lost, in a table.
const SHORT: usize = 80;

/// What became of a run.
#[derive(Debug, Serialize)]
pub struct Report {
    pub(super) without: Option<String>,
    pub(super) attacks: Vec<Verdict>,
    pub(super) contained: usize,
    /// What the host that went on showed.
    pub(super) lasting: Option<Lasting>,
    /// What the neighbour noticed at the released limits.
    pub(super) storm: Option<Storm>,
}

impl Report {
    /// The heading of [`Self::rows`].
    pub const HEADING: [&str; 6] = ["ATTACK", "TRIED", "CONTAINED BY", "VERDICT", "THE CLIENT SAW", "THE HOST LOST"];

    /// Whether all that was tried is contained (without `every`: nothing), and hosts and neighbours were well.
    /// `times_are_judged`: how long the neighbour waited at the released limits counts, too.
    pub fn is_well(&self, times_are_judged: bool) -> bool {
        let wanted = if self.without.as_deref() == Some(EVERY) { 0 } else { self.tried() };
        self.tried() + self.skipped() == self.attacks.len()
            && self.contained == wanted
            && self.lasting.as_ref().is_none_or(Lasting::is_well)
            && self.storm.as_ref().is_none_or(|storm| storm.is_well(times_are_judged))
    }

    fn tried(&self) -> usize {
        self.attacks.iter().filter(|verdict| verdict.contained.is_some()).count()
    }

    fn skipped(&self) -> usize {
        self.attacks.iter().filter(|verdict| verdict.lost == SKIPPED).count()
    }

    /// A row for each attack.
    pub fn rows(&self) -> Vec<[String; 6]> {
        let short = |text: &str| text.chars().take(SHORT).collect::<String>();
        let row = |it: &Verdict| {
            let word = match it.contained {
                None if it.lost == SKIPPED => "skipped",
                None => "NOT KNOWN",
                Some(true) => "contained",
                Some(false) => "NOT CONTAINED",
            };
            let lost = if it.lost.is_empty() { "nothing" } else { &it.lost };
            [it.id.to_owned(), it.tried.to_owned(), it.by.to_owned(), word.to_owned(), short(&it.client), short(lost)]
        };
        self.attacks.iter().map(row).collect()
    }

    /// The figures below the table; the last line is how many are contained.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.lasting.iter().flat_map(Lasting::lines).collect();
        lines.extend(self.storm.iter().flat_map(Storm::lines));
        if self.skipped() > 0 {
            lines.push(format!("{} skipped: they need root", self.skipped()));
        }
        lines.push(format!("{} of {} contained", self.contained, self.tried()));
        lines
    }
}
