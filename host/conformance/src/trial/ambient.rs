//! What is looked at in every refusal of the whole run, whatever rule brought it about: messages and
//! details. It keeps the first exchange that breaks each rule and how many did.

use std::collections::BTreeMap;

use crate::exchange::{Exchange, Shown, Words};

/// The rules that are judged at the end of the run.
pub(crate) const RULES: [&str; 6] = ["E-01", "R-47", "E-02", "X-121", "X-122", "E-07"];

/// The first exchange that breaks a rule.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    pub(crate) why: String,
    pub(crate) count: usize,
    pub(crate) exchange: Option<Shown>,
}

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Ambient {
    findings: BTreeMap<&'static str, Finding>,
    /// How many refusals were looked at for each rule.
    looked: BTreeMap<&'static str, usize>,
}

impl Ambient {
    /// Looks at a refusal.
    pub(crate) fn look(&mut self, exchange: &Exchange, words: &Words) {
        let is_csi = exchange.path.starts_with("csi.");
        let message = &exchange.message;
        let named = if is_csi { "E-01" } else { "R-47" };
        self.judge(named, !message.trim().is_empty(), "the message is empty", exchange, words);
        self.judge("E-02", exchange.details.is_empty(), "the status has details", exchange, words);
        self.judge("X-121", !words.tells_a_secret(message), "the message holds a secret's value", exchange, words);
        self.judge("X-122", !is_internal(message), "the message holds a stack trace or an address", exchange, words);
    }

    /// Looks at an ABORTED, which must name the object.
    pub(crate) fn look_aborted(&mut self, names: &[&str], message: &str) {
        *self.looked.entry("E-07").or_default() += 1;
        if !names.iter().any(|name| message.contains(name)) {
            let why = format!("an ABORTED names none of {}: {message:?}", names.join(", "));
            let finding = Finding { why, count: 0, exchange: None };
            self.findings.entry("E-07").or_insert(finding).count += 1;
        }
    }

    fn judge(&mut self, rule: &'static str, holds: bool, why: &str, exchange: &Exchange, words: &Words) {
        *self.looked.entry(rule).or_default() += 1;
        if holds {
            return;
        }
        let new = || Finding { why: why.to_owned(), count: 0, exchange: Some(words.show(exchange)) };
        self.findings.entry(rule).or_insert_with(new).count += 1;
    }

    /// What breaks a rule.
    pub(crate) fn finding(&self, rule: &str) -> Option<&Finding> {
        self.findings.get(rule)
    }

    /// How many refusals were looked at.
    pub(crate) fn looked(&self, rule: &str) -> usize {
        self.looked.get(rule).copied().unwrap_or_default()
    }
}

/// Whether text is for the driver's authors and not for those who read an event.
fn is_internal(message: &str) -> bool {
    const TRACES: [&str; 5] =
        ["panicked at", "goroutine ", "Traceback (most recent call", "stack backtrace", "RUST_BACKTRACE"];
    let address = message.match_indices("0x").any(|(at, _)| {
        let digits = message.get(at + 2..).unwrap_or_default();
        digits.chars().take_while(char::is_ascii_hexdigit).count() >= 8
    });
    address || TRACES.iter().any(|trace| message.contains(trace))
}
