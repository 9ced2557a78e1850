//! The run as the XML that continuous integration reads: a test case a rule.

use std::fmt::Write as _;

use super::{Report, escape, finding, text};
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
        s.blocked + s.not_judged,
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
    let lines = finding::about(it).into_iter().chain(finding::exchange(it));
    let detail: Vec<_> = lines.map(|(name, words)| format!("{name}: {words}")).collect();
    let detail = escape(&detail.join("\n"));
    match it.result {
        Kind::Pass => {}
        Kind::Fail => drop(write!(out, "<failure message=\"{reason}\">{detail}</failure>")),
        Kind::Blocked | Kind::Unjudged => drop(write!(out, "<error message=\"{reason}\">{detail}</error>")),
        Kind::Skip => drop(write!(out, "<skipped message=\"{reason}\"/>")),
        Kind::Advice | Kind::Differs => drop(write!(out, "<system-out>{}: {detail}</system-out>", text::word(it))),
    }
    out.push_str("</testcase>\n");
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}
