//! The run as a page for browsers: one file that needs nothing from elsewhere and runs nothing.

use std::fmt::Write as _;

use super::finding::{self, Line};
use super::text::{of_run, word};
use super::{Report, escape};
use crate::runner::{Kind, Verdict};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:72em;margin:2em auto;padding:0 1em;color:#222}\
h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}table{border-collapse:collapse;width:100%}\
td{padding:.2em .6em;vertical-align:top;border-top:1px solid #ddd}article{border-left:4px solid #999;padding:.1em 1em;margin:1em 0}\
article.fail{border-color:#b00020}article.advice{border-color:#c77700}\
h3{font-size:1em;margin:.4em 0}dl{display:grid;grid-template-columns:7em 1fr;gap:.2em 1em;margin:.4em 0}dt{color:#666}dd{margin:0}\
code{font:13px/1.4 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}";

/// The whole run.
pub(crate) fn html(report: &Report) -> String {
    let driver = escape(&report.driver);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>drivebay conform: {driver}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>drivebay conform: {driver}</h1>\n"
    );
    for line in of_run(report) {
        let _ = writeln!(out, "<p>{}</p>", escape(&line));
    }
    let _ = writeln!(out, "<p><code>{}</code></p>", escape(&report.again));
    for (title, kind) in [
        ("Broken", Kind::Fail),
        ("Not judged, because the driver ended", Kind::Unjudged),
        ("Not judged for want of what they need", Kind::Blocked),
        ("Otherwise than advised or allowed", Kind::Advice),
        ("Decided otherwise", Kind::Differs),
    ] {
        let found: Vec<_> = report.rules.iter().filter(|it| it.result == kind && finding::is_finding(it)).collect();
        if !found.is_empty() {
            let _ = writeln!(out, "<h2>{title} ({})</h2>", found.len());
            for it in found {
                article(&mut out, it);
            }
        }
    }
    left_behind(&mut out, report);
    table(&mut out, report);
    out.push_str("</body>\n</html>\n");
    out
}

fn article(out: &mut String, it: &Verdict) {
    let class = match it.result {
        Kind::Fail => "fail",
        Kind::Advice => "advice",
        _ => "other",
    };
    let _ =
        writeln!(out, "<article class=\"{class}\" id=\"{0}\">\n<h3>{0} {1}</h3>", it.rule.id, escape(it.rule.sentence));
    list(out, &finding::about(it));
    list(out, &finding::exchange(it));
    out.push_str("</article>\n");
}

fn list(out: &mut String, lines: &[Line]) {
    if lines.is_empty() {
        return;
    }
    out.push_str("<dl>\n");
    for (name, words) in lines {
        let words = escape(words);
        let is_code = matches!(*name, "run alone" | "call" | "request" | "answer" | "reply");
        let words = if is_code { format!("<code>{words}</code>") } else { words };
        let _ = writeln!(out, "<dt>{name}</dt><dd>{words}</dd>");
    }
    out.push_str("</dl>\n");
}

fn left_behind(out: &mut String, report: &Report) {
    let mut left =
        report.rules.iter().flat_map(|it| it.left_behind.iter().map(move |left| (it.rule.id, left))).peekable();
    if left.peek().is_some() {
        out.push_str("<h2>Left behind</h2>\n<ul>\n");
        for (id, left) in left {
            let _ = writeln!(out, "<li>{id}: <code>{}</code></li>", escape(left));
        }
        out.push_str("</ul>\n");
    }
}

fn table(out: &mut String, report: &Report) {
    out.push_str("<h2>All rules</h2>\n<table>\n");
    for it in &report.rules {
        let id = it.rule.id;
        let link = if finding::is_finding(it) { format!("<a href=\"#{id}\">{id}</a>") } else { id.to_owned() };
        let _ = writeln!(out, "<tr><td>{link}</td><td>{}</td><td>{}</td></tr>", word(it), escape(it.rule.sentence));
    }
    out.push_str("</table>\n");
}
