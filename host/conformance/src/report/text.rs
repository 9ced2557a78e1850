//! The run for people: one line a rule, those that are skipped counted by reason, and below a failure the exchange that
//! shows it.

use std::fmt::Write as _;

use super::{Report, finding};
use crate::catalogue::{Class, Rule, Strength};
use crate::runner::{Kind, Verdict};

/// How a rule ended. What is only advised or allowed is called so.
pub(super) fn word(it: &Verdict) -> &'static str {
    match it.result {
        Kind::Pass => "pass",
        Kind::Fail => "FAIL",
        Kind::Advice => {
            it.rule.stands_on.map_or("should", |on| if on.strength == Strength::May { "may" } else { "should" })
        }
        Kind::Differs => "differs",
        Kind::Skip => "skip",
        Kind::Blocked => "BLOCKED",
        Kind::Unjudged => "OPEN",
    }
}

/// The line for a rule that just ended; none for one that is skipped, because the report counts those.
pub(crate) fn line(done: usize, of: usize, it: &Verdict) -> Option<String> {
    let reason = it.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let line = || format!("[{done:>3}/{of}] {:<6} {:<7} {:>5} ms{reason}", it.rule.id, word(it), it.millis);
    (it.result != Kind::Skip).then(line)
}

/// How the whole run went.
pub(super) fn of_run(report: &Report) -> Vec<String> {
    let s = report.summary;
    let early = report.ended_early.as_ref().map(|why| format!("The run ended early: {why}"));
    let counts = format!(
        "{} pass, {} fail, {} otherwise than advised or allowed, {} differ, {} blocked, {} skipped; {} objects left behind",
        s.pass, s.fail, s.advice, s.differs, s.blocked, s.skip, s.left_behind
    );
    let ended = report.driver_ended.iter().filter(|why| Some(*why) != report.ended_early.as_ref());
    let ended = ended.map(|why| format!("The driver was started again. {why}"));
    let not_judged =
        (s.not_judged > 0).then(|| format!("{} rules were not judged, because the driver ended", s.not_judged));
    ended.chain(early).chain(not_judged).chain([counts]).collect()
}

/// What is told before what: a reader at a terminal sees the last lines first.
const ORDER: [Kind; 6] = [Kind::Pass, Kind::Differs, Kind::Advice, Kind::Unjudged, Kind::Blocked, Kind::Fail];

/// What is broken or could not be judged, and the counts.
pub(super) fn failures(report: &Report) -> String {
    let mut out = String::new();
    for kind in [Kind::Unjudged, Kind::Blocked, Kind::Fail] {
        for it in report.rules.iter().filter(|it| it.result == kind) {
            rule(&mut out, it);
        }
    }
    for line in of_run(report) {
        let _ = writeln!(out, "conform: {line}");
    }
    out
}

/// The whole run, failures last.
pub(crate) fn text(report: &Report) -> String {
    let mut out = String::new();
    let layouts: Vec<_> = report.layouts.iter().map(ToString::to_string).collect();
    let _ = writeln!(out, "{} ({})\n", report.driver, layouts.join(", "));
    for kind in ORDER {
        for it in report.rules.iter().filter(|it| it.result == kind) {
            rule(&mut out, it);
        }
        if kind == Kind::Pass {
            skipped(&mut out, report);
        }
    }
    for line in of_run(report) {
        let _ = writeln!(out, "\n{line}");
    }
    out
}

fn rule(out: &mut String, it: &Verdict) {
    let _ = writeln!(out, "{:<7} {:<6} {}", word(it), it.rule.id, it.rule.sentence);
    if finding::is_finding(it) {
        for (name, words) in finding::about(it).into_iter().chain(finding::exchange(it)) {
            let _ = writeln!(out, "               {name:<9} {words}");
        }
    } else if let Some(reason) = &it.reason {
        let _ = writeln!(out, "               {reason}");
    }
    left_behind(out, it);
}

fn left_behind(out: &mut String, it: &Verdict) {
    for left in &it.left_behind {
        let _ = writeln!(out, "               left behind: {left}");
    }
}

/// Rules that are not for this driver: how many for each reason, and their ids.
fn skipped(out: &mut String, report: &Report) {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for it in report.rules.iter().filter(|it| it.result == Kind::Skip) {
        let reason = it.reason.as_deref().unwrap_or_default();
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, ids)) => ids.push(it.rule.id),
            None => reasons.push((reason, vec![it.rule.id])),
        }
    }
    for (reason, ids) in reasons {
        let _ = writeln!(out, "skip    {:<6} {reason}: {}", ids.len(), ids.join(" "));
    }
    // An interrupted rule is skipped, and may have made something.
    report.rules.iter().filter(|it| it.result == Kind::Skip).for_each(|it| left_behind(out, it));
}

/// The catalogue, one rule a line.
pub(crate) fn list(rules: &[Rule]) -> String {
    let mut out = String::new();
    for rule in rules {
        let class = match rule.class {
            Class::Stated => "stated",
            Class::Implied => "implied",
            Class::Decision => "decision",
        };
        let _ = writeln!(out, "{:<6} {class:<8} {}", rule.id, rule.sentence);
        if let Some(on) = rule.stands_on {
            let _ = writeln!(out, "       {} {}: {}", on.strength, on.section, on.text);
        }
        let _ = write!(out, "       {}", rule.source);
        match rule.unobservable {
            Some(reason) => drop(write!(out, "; not observable: {reason}")),
            None => drop(write!(out, "; runs in {}", rule.layouts.join(", "))),
        }
        if !rule.inputs.is_empty() {
            let _ = write!(out, "; needs {}", rule.inputs);
        }
        out.push('\n');
    }
    out
}
