//! What was found, for people and for programs.

use std::fmt::Write as _;

use serde::Serialize;

use super::play::Played;
use super::rule::Rule;

/// A run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// What decided it.
    pub seed: u64,
    /// How many scenarios were played.
    pub scenarios: usize,
    /// The rules that are broken, each with the first scenario that shows it.
    pub findings: Vec<Finding>,
}

/// A rule that is broken.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// Which.
    pub rule: Rule,
    /// How.
    pub says: String,
    /// The scenario that shows it.
    pub scenario: String,
    /// Its calls, with what struck them.
    pub story: Vec<String>,
    /// What passed between the host and the component meanwhile.
    #[serde(skip)]
    pub recording: String,
    /// Others that break it, too.
    pub also: Vec<String>,
}

impl Report {
    pub(super) const fn new(seed: u64) -> Self {
        Self { seed, scenarios: 0, findings: Vec::new() }
    }

    /// Takes the end of a scenario.
    pub(super) fn took(&mut self, scenario: String, played: Played, (story, recording): (Vec<String>, String)) {
        self.scenarios += 1;
        let Err(broken) = played else { return };
        if let Some(found) = self.findings.iter_mut().find(|found| found.rule == broken.rule) {
            found.also.push(scenario);
            return;
        }
        let (rule, says) = (broken.rule, broken.says);
        self.findings.push(Finding { rule, says, scenario, story, recording, also: Vec::new() });
    }

    /// How many scenarios broke a rule.
    pub(super) fn broken(&self) -> usize {
        self.findings.iter().map(|found| 1 + found.also.len()).sum()
    }

    /// Whether no rule is broken.
    pub const fn is_good(&self) -> bool {
        self.findings.is_empty()
    }

    /// In words; `again` is the command that plays all of it.
    pub fn text(&self, again: &str) -> String {
        let mut out = String::new();
        for found in &self.findings {
            let Finding { rule, says, scenario, story, also, .. } = found;
            let _ = writeln!(out, "FAIL {}: {says}", rule.id());
            for (number, line) in (1..).zip(story) {
                let _ = writeln!(out, "  {number:>2}. {line}");
            }
            let _ = writeln!(out, "  {}", rule.words());
            if !also.is_empty() {
                let _ = writeln!(out, "  also broken in: {}", also.join(", "));
            }
            let _ = writeln!(out, "  again: {again} --only {scenario}\n");
        }
        let counted = match self.findings.len() {
            0 => "nothing found".to_owned(),
            1 => "1 rule broken".to_owned(),
            count => format!("{count} rules broken"),
        };
        let _ = writeln!(out, "deep: {} scenarios with seed {}, {counted}", self.scenarios, self.seed);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Report;
    use crate::play::broken;
    use crate::rule::Rule;

    #[test]
    fn a_rule_is_told_once_with_the_first_scenario_that_shows_it() {
        let mut report = Report::new(7);
        let story = vec!["CreateVolume".to_owned()];
        report.took("life".to_owned(), Ok(()), Default::default());
        report.took("create/kill-1".to_owned(), Err(broken(Rule::Leak, "1 key")), (story.clone(), String::new()));
        report.took("create/kill-2".to_owned(), Err(broken(Rule::Leak, "2 keys")), (story, String::new()));
        assert!(report.scenarios == 3 && !report.is_good());
        let text = report.text("drivebay test a.wasm --deep --seed 7");
        assert!(text.starts_with("FAIL leak: 1 key\n   1. CreateVolume\n"), "{text}");
        assert!(
            text.contains("--seed 7 --only create/kill-1\n") && text.contains("also broken in: create/kill-2"),
            "{text}"
        );
        assert!(text.ends_with("deep: 3 scenarios with seed 7, 1 rule broken\n"), "{text}");
    }
}
