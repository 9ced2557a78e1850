//! The run for people: one line a rule, and below a failure the exchange that shows it.

use std::fmt::Write as _;

use super::Report;
use crate::catalogue::{Class, Rule};
use crate::runner::{Kind, Verdict};

const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Pass => "pass",
        Kind::Fail => "FAIL",
        Kind::Differs => "differs",
        Kind::Skip => "skip",
        Kind::Blocked => "BLOCKED",
    }
}

/// The line for a rule that just ended.
pub(crate) fn line(done: usize, of: usize, it: &Verdict) -> String {
    let reason = it.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("[{done:>3}/{of}] {:<6} {:<7} {:>5} ms{reason}", it.rule.id, word(it.result), it.millis)
}

/// The whole run.
pub(crate) fn text(report: &Report) -> String {
    let mut out = String::new();
    let layouts: Vec<_> = report.layouts.iter().map(ToString::to_string).collect();
    let _ = writeln!(out, "{} ({})\n", report.driver, layouts.join(", "));
    for it in &report.rules {
        let _ = writeln!(out, "{:<7} {:<6} {}", word(it.result), it.rule.id, it.rule.sentence);
        if let Some(reason) = &it.reason {
            let _ = writeln!(out, "               {reason}");
        }
        if matches!(it.result, Kind::Fail | Kind::Differs | Kind::Blocked) {
            exchange(&mut out, it);
        }
        for left in &it.left_behind {
            let _ = writeln!(out, "               left behind: {left}");
        }
    }
    if let Some(why) = &report.ended_early {
        let _ = writeln!(out, "\nThe run ended early: {why}");
    }
    let s = report.summary;
    let _ = writeln!(
        out,
        "\n{} pass, {} fail, {} differ, {} blocked, {} skipped; {} objects left behind",
        s.pass, s.fail, s.differs, s.blocked, s.skip, s.left_behind
    );
    out
}

fn exchange(out: &mut String, it: &Verdict) {
    let _ = writeln!(out, "               source: {}", it.rule.source);
    let Some(shown) = &it.exchange else { return };
    let _ = writeln!(out, "               {} at {}", shown.rpc, shown.place);
    let _ = writeln!(out, "               request {}", shown.request);
    let _ = writeln!(out, "               answer  {} {}", shown.code, shown.message);
    for reply in &shown.reply {
        let _ = writeln!(out, "               reply   {reply}");
    }
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
