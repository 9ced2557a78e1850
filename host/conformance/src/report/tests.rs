//! The forms of a report: what people read, what programs read, and what CI servers read.

use serde_json::json;

use super::{Report, html, junit, line, list, text};
use crate::catalogue::{Layout, rules};
use crate::exchange::Shown;
use crate::runner::{Kind, Verdict};

fn verdict(id: &str, result: Kind, reason: Option<&str>) -> Verdict {
    let rule = rules().into_iter().find(|rule| rule.id == id).unwrap();
    let exchange = (result == Kind::Fail).then(|| Shown {
        rpc: "csi.v1.Identity/Probe",
        place: "site A".to_owned(),
        request: json!({ "volume_id": "<v&\"1\">" }),
        code: "INTERNAL".to_owned(),
        message: "it is \u{1}broken".to_owned(),
        reply: Vec::new(),
    });
    Verdict {
        rule,
        result,
        reason: reason.map(str::to_owned),
        exchange,
        alone: None,
        millis: 1_234,
        left_behind: Vec::new(),
    }
}

fn report() -> Report {
    let mut blocked = verdict("R-11", Kind::Blocked, Some("no volume"));
    blocked.left_behind.push("site A: a volume".to_owned());
    let all = vec![
        verdict("R-01", Kind::Pass, None),
        verdict("X-24", Kind::Fail, Some("answered <INTERNAL> & \u{1}worse")),
        verdict("R-13", Kind::Skip, Some("not seen")),
        verdict("R-17", Kind::Differs, Some("decided otherwise")),
        verdict("R-16", Kind::Advice, Some("not repeated")),
        verdict("X-12", Kind::Advice, Some("it is taken")),
        blocked,
    ];
    let report = Report::new("example.driver 1".to_owned(), vec![Layout::Split, Layout::TwoSites], all);
    report.with_command("drivebay conform --csi unix:///c".to_owned())
}

#[test]
fn the_summary_counts_and_judges() {
    let report = report();
    let s = report.summary;
    assert_eq!((s.pass, s.fail, s.differs, s.skip, s.blocked, s.left_behind, s.advice), (1, 1, 1, 1, 1, 1, 2));
    assert!(!report.is_good());
    let alone = |it: Verdict| Report::new(String::new(), Vec::new(), vec![it]).is_good();
    assert!(alone(verdict("R-17", Kind::Differs, None)), "a decision is reported, not failed");
    assert!(alone(verdict("R-16", Kind::Advice, None)), "advice is reported, not failed");
    assert!(alone(verdict("R-13", Kind::Skip, None)));
    assert!(!alone(verdict("R-11", Kind::Blocked, None)), "what could not be judged is not good");
    let mut left = verdict("R-01", Kind::Pass, None);
    left.left_behind.push("a volume".to_owned());
    assert!(!alone(left), "what stays behind is not good");
}

#[test]
fn text_shows_the_exchange_below_a_failure() {
    let text = text(&report());
    for part in [
        "example.driver 1 (split, two-sites)",
        "pass    R-01",
        "FAIL    X-24",
        "should  R-16",
        "may     X-12",
        "expected  ListVolumes with max_entries=1 answers at most one entry a page",
        "stands on CSI, ListVolumes (MUST): A page has no more entries",
        "stands on a decision of this project",
        "run alone drivebay conform --csi unix:///c --only X-24",
        "call      csi.v1.Identity/Probe at site A",
        "answer    INTERNAL",
        "left behind: site A: a volume",
        "1 pass, 1 fail, 2 otherwise than advised or allowed, 1 differ, 1 blocked, 1 skipped; 1 objects left behind",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}

#[test]
fn text_tells_failures_last_and_counts_what_is_skipped() {
    let mut all = report().rules;
    all.extend([verdict("X-33", Kind::Skip, Some("no capacity")), verdict("X-141", Kind::Skip, Some("no capacity"))]);
    let text = text(&Report::new(String::new(), Vec::new(), all));
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part:?} is missing in\n{text}"));
    let places = [
        "pass ",
        "skip    1      not seen: R-13",
        "skip    2      no capacity: X-33 X-141",
        "differs R-17",
        "should  R-16",
    ];
    let places: Vec<_> = places
        .iter()
        .chain(&["may     X-12", "BLOCKED R-11", "FAIL    X-24", "1 pass, 1 fail"])
        .map(|it| place(it))
        .collect();
    assert!(places.is_sorted(), "{places:?} in\n{text}");
    assert_eq!(text.matches("X-141").count(), 1, "{text}");
}

#[test]
fn json_holds_every_rule_with_its_exchange() {
    let json = serde_json::to_value(report()).unwrap();
    assert_eq!(json["rules"].as_array().unwrap().len(), 7);
    assert_eq!(json["rules"][1]["id"], "X-24");
    assert_eq!(json["rules"][1]["stands_on"]["strength"], "MUST");
    assert_eq!(json["again"], "drivebay conform --csi unix:///c");
    assert_eq!(json["rules"][1]["result"], "fail");
    assert_eq!(json["rules"][1]["run_alone"], "drivebay conform --csi unix:///c --only X-24");
    assert!(json["rules"][0].get("run_alone").is_none(), "it is no finding");
    assert_eq!(json["rules"][1]["class"], "stated");
    assert_eq!(json["rules"][1]["exchange"]["code"], "INTERNAL");
    assert_eq!(json["summary"]["blocked"], 1);
    assert_eq!(json["layouts"], json!(["split", "two-sites"]));
}

#[test]
fn junit_is_sound_xml() {
    let xml = junit(&report());
    assert!(xml.starts_with("<?xml version=\"1.0\""));
    assert!(xml.contains("tests=\"7\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"8.638\""), "{xml}");
    assert_eq!(xml.matches("<testcase ").count(), 7);
    assert_eq!(xml.matches("</testcase>").count(), 7);
    assert!(xml.contains("answered &lt;INTERNAL&gt; &amp; \u{fffd}worse"), "{xml}");
    assert!(!xml.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{xml}");
    assert!(!xml.contains("<v&"), "a request is escaped, too");
    assert!(xml.contains("run alone: drivebay conform --csi unix:///c --only X-24"), "{xml}");
}

#[test]
fn a_page_tells_each_finding_and_needs_nothing_from_elsewhere() {
    let page = html(&report());
    for part in [
        "<h2>Broken (1)</h2>",
        "<h2>Otherwise than advised or allowed (2)</h2>",
        "<article class=\"fail\" id=\"X-24\">",
        "answered &lt;INTERNAL&gt; &amp; \u{fffd}worse",
        "<dt>run alone</dt><dd><code>drivebay conform --csi unix:///c --only X-24</code></dd>",
        "<dt>stands on</dt><dd>CSI, ListVolumes (MUST): A page has no more entries",
        "<li>R-11: <code>site A: a volume</code></li>",
    ] {
        assert!(page.contains(part), "{part:?} is missing in\n{page}");
    }
    assert_eq!(page.matches("<article ").count(), page.matches("</article>").count());
    assert_eq!(page.matches("<article ").count(), 5, "a finding each, but none for what passed or was skipped");
    for foreign in ["<script", "<link", "<img", "src=", "http:", "https:", "@import", "url(", "javascript:"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(!page.contains("<v&"), "a request is escaped, too");
}

#[test]
fn a_list_tells_of_each_rule_why_or_where() {
    let list = list(&rules());
    let standing = rules().iter().filter(|rule| rule.stands_on.is_some()).count();
    assert_eq!(list.lines().count(), 2 * rules().len() + standing);
    assert!(
        list.contains("not observable: ") && list.contains("runs in two-sites") && list.contains("; needs secrets")
    );
}

#[test]
fn progress_is_one_line() {
    let told = line(3, 10, &verdict("R-11", Kind::Blocked, Some("no volume")));
    assert_eq!(told.as_deref(), Some("[  3/10] R-11   BLOCKED  1234 ms: no volume"));
    assert_eq!(line(4, 10, &verdict("R-13", Kind::Skip, Some("not seen"))), None, "the report counts it");
}
