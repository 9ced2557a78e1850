//! The run as the XML that continuous integration reads: a test case a rule.

use std::fmt::Write as _;

use super::Report;
use crate::runner::{Kind, Verdict};

/// The whole run.
pub(crate) fn junit(report: &Report) -> String {
    let s = report.summary;
    let total: u64 = report.rules.iter().map(|it| it.millis).sum();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuite name=\"drivebay conform: {}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\">",
        escape(&report.driver),
        report.rules.len(),
        s.fail,
        s.blocked,
        s.skip,
        seconds(total)
    );
    for it in &report.rules {
        case(&mut out, it);
    }
    out.push_str("</testsuite>\n");
    out
}

fn case(out: &mut String, it: &Verdict) {
    let family = it.rule.id.split('-').next().unwrap_or_default();
    let name = escape(&format!("{} {}", it.rule.id, it.rule.sentence));
    let _ = write!(out, "  <testcase classname=\"conform.{family}\" name=\"{name}\" time=\"{}\">", seconds(it.millis));
    let reason = escape(it.reason.as_deref().unwrap_or_default());
    let detail = it.exchange.as_ref().and_then(|shown| serde_json::to_string_pretty(shown).ok());
    let detail = escape(&detail.unwrap_or_default());
    match it.result {
        Kind::Pass => {}
        Kind::Fail => drop(write!(out, "<failure message=\"{reason}\">{detail}</failure>")),
        Kind::Blocked => drop(write!(out, "<error message=\"{reason}\">{detail}</error>")),
        Kind::Skip => drop(write!(out, "<skipped message=\"{reason}\"/>")),
        Kind::Differs => drop(write!(out, "<system-out>differs: {reason} {detail}</system-out>")),
    }
    out.push_str("</testcase>\n");
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

/// Text for XML: marks replaced, and what XML 1.0 cannot hold left out.
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
