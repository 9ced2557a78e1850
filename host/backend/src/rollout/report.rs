//! What came of calls that were also sent to a staged generation: counted by method, told in words. Plain
//! counting; sending and comparing are the pipeline's. Answers are never shown: they may hold what only their
//! client should see.

use std::collections::BTreeMap;
use std::fmt;

use crate::lifecycle::Tally;

/// How the staged generation answered, beside the one that serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The same.
    Same,
    /// Another answer.
    Differs,
    /// It refused what the other one answered, or the reverse, or with another code.
    OtherCode,
    /// It was ended by a fault, or its answer was malformed.
    Bad,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    calls: u64,
    differs: u64,
    other_code: u64,
    bad: u64,
}

/// What is known so far.
#[derive(Debug, Default)]
pub struct Report(BTreeMap<&'static str, Count>);

impl Report {
    /// A call was compared.
    pub fn note(&mut self, method: &'static str, likeness: Comparison) {
        let count = self.0.entry(method).or_default();
        count.calls += 1;
        match likeness {
            Comparison::Same => {}
            Comparison::Differs => count.differs += 1,
            Comparison::OtherCode => count.other_code += 1,
            Comparison::Bad => count.bad += 1,
        }
    }

    /// All of it as a record of calls.
    pub fn tally(&self) -> Tally {
        Tally {
            calls: self.0.values().map(|count| count.calls).sum(),
            bad: self.0.values().map(|count| count.bad).sum(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls compared", self.tally().calls)?;
        for (method, count) in &self.0 {
            let parts = [
                (count.differs, "answered otherwise"),
                (count.other_code, "ended with another code"),
                (count.bad, "went wrong"),
            ];
            for (number, words) in parts.into_iter().filter(|(number, _)| *number > 0) {
                write!(f, "; {method}: {number} of {} {words}", count.calls)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_has_words() {
        let mut report = Report::default();
        assert_eq!(report.to_string(), "0 calls compared");
        for likeness in [Comparison::Same, Comparison::Differs, Comparison::Bad, Comparison::Bad] {
            report.note("A", likeness);
        }
        report.note("B", Comparison::Same);
        report.note("C", Comparison::OtherCode);
        let words = "6 calls compared; A: 1 of 4 answered otherwise; A: 2 of 4 went wrong; \
                     C: 1 of 1 ended with another code";
        assert_eq!(report.to_string(), words);
        assert_eq!(report.tally(), Tally { calls: 6, bad: 2 });
    }
}
