//! What a driver's author needs of one finding: what was expected and on what that stands, what was found, the exchange
//! that shows it, and how to run the rule alone. All forms of the report tell the same.

use crate::runner::{Kind, Verdict};

/// One line of a finding: what it is, and its words.
pub(super) type Line = (&'static str, String);

/// Whether a rule ended in a way that somebody has to look at.
pub(super) const fn is_finding(it: &Verdict) -> bool {
    matches!(it.result, Kind::Fail | Kind::Advice | Kind::Differs | Kind::Blocked)
        || (matches!(it.result, Kind::Unjudged) && it.exchange.is_some())
}

/// The rule in other words than its own.
pub(super) fn about(it: &Verdict) -> Vec<Line> {
    let mut lines = Vec::new();
    let found = if matches!(it.result, Kind::Blocked | Kind::Unjudged) { "missing" } else { "found" };
    lines.extend(it.reason.clone().map(|reason| (found, reason)));
    lines.push(("expected", it.rule.sentence.to_owned()));
    lines.push(("stands on", stands_on(it)));
    lines.extend(it.alone.clone().map(|command| ("run alone", command)));
    lines
}

fn stands_on(it: &Verdict) -> String {
    match it.rule.stands_on {
        Some(on) => format!("{} ({}): {}", on.section, on.strength, on.text),
        None => "a decision of this project, where the specifications are silent".to_owned(),
    }
}

/// The exchange that shows it.
pub(super) fn exchange(it: &Verdict) -> Vec<Line> {
    let Some(shown) = &it.exchange else { return Vec::new() };
    let answer = format!("{} {}", shown.code, shown.message);
    let mut lines = vec![
        ("call", format!("{} at {}", shown.rpc, shown.place)),
        ("request", shown.request.to_string()),
        ("answer", answer.trim_end().to_owned()),
    ];
    lines.extend(shown.reply.iter().map(|reply| ("reply", reply.to_string())));
    lines
}
