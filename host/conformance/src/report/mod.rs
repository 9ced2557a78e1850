//! The run in words: for people as text and as a page, as JSON, as `JUnit`'s XML. It decides nothing.

mod finding;
mod html;
mod junit;
mod text;

pub(crate) use html::html;
pub(crate) use junit::junit;
pub(crate) use text::{line, list, text};

use serde::Serialize;

use crate::catalogue::Layout;
use crate::runner::{Kind, Verdict};

/// A whole run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The driver's name and version, as it tells them.
    pub driver: String,
    /// What was found of how it is deployed.
    pub layouts: Vec<Layout>,
    /// The command that judges the driver again; `--only` and an id make it that rule alone.
    pub again: String,
    /// Every chosen rule.
    pub rules: Vec<Verdict>,
    /// How many ended how.
    pub summary: Summary,
    /// How the driver ended, each time that it did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub driver_ended: Vec<String>,
    /// Why the run ended before its rules were judged, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_early: Option<String>,
}

/// How many rules ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Kept.
    pub pass: usize,
    /// Broken.
    pub fail: usize,
    /// Done otherwise than is advised or allowed.
    pub advice: usize,
    /// Decided otherwise.
    pub differs: usize,
    /// Not for this driver.
    pub skip: usize,
    /// Could not be judged.
    pub blocked: usize,
    /// Not judged, because the driver had ended.
    pub not_judged: usize,
    /// Objects that could not be removed.
    pub left_behind: usize,
}

impl Report {
    /// Counts the verdicts.
    pub(crate) fn new(driver: String, layouts: Vec<Layout>, rules: Vec<Verdict>) -> Self {
        let count = |kind| rules.iter().filter(|it| it.result == kind).count();
        let summary = Summary {
            pass: count(Kind::Pass),
            fail: count(Kind::Fail),
            advice: count(Kind::Advice),
            differs: count(Kind::Differs),
            skip: count(Kind::Skip),
            blocked: count(Kind::Blocked),
            not_judged: count(Kind::Unjudged),
            left_behind: rules.iter().map(|it| it.left_behind.len()).sum(),
        };
        Self { driver, layouts, again: String::new(), rules, summary, driver_ended: Vec::new(), ended_early: None }
    }

    /// With the command that judges the driver again, and for each finding the one that runs its rule alone.
    pub(crate) fn with_command(mut self, again: String) -> Self {
        for it in self.rules.iter_mut().filter(|it| finding::is_finding(it)) {
            it.alone = Some(format!("{again} --only {}", it.rule.id));
        }
        self.again = again;
        self
    }

    /// The rules that are broken or could not be judged, in words, and how many ended how; skipped rules are only counted.
    pub fn failures(&self) -> String {
        text::failures(self)
    }

    /// Whether nothing is broken, nothing was left unjudged for want of what it needs or of time, and
    /// nothing was left behind.
    pub const fn is_good(&self) -> bool {
        self.ended_early.is_none()
            && self.driver_ended.is_empty()
            && self.summary.not_judged == 0
            && self.summary.fail == 0
            && self.summary.blocked == 0
            && self.summary.left_behind == 0
    }
}

/// Text for XML and HTML: marks replaced, and what XML 1.0 cannot hold left out.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
