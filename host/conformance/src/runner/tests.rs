//! The plan of a run: which rules run beside each other, and which alone.

use super::{Kind, Step, plan, verdict};
use crate::catalogue::{Choice, Layout, rules};
use crate::trial::Stop;
use crate::with::WithFile;

fn step(id: &str, layouts: &[Layout], with: &str) -> Step {
    let choice: Choice = id.parse().unwrap();
    let all = plan(rules(), &choice, layouts, &WithFile::parse(with).unwrap());
    assert_eq!(all.len(), 1, "{id}");
    all[0].1
}

#[test]
fn a_plan_says_of_each_rule_what_is_done() {
    let unified = [Layout::Unified];
    assert!(matches!(step("R-23", &unified, ""), Step::Run(code) if code.id == "R-23"));
    assert!(matches!(step("E-01", &unified, ""), Step::Ambient));
    assert!(matches!(step("R-13", &unified, ""), Step::Skip(why) if why.contains("no request makes")));
    assert!(matches!(step("R-21", &unified, ""), Step::Skip(why) if why.contains("other layouts")));
    assert!(matches!(step("R-21", &[Layout::TwoSites], ""), Step::Run(_)));
    assert!(matches!(step("R-23", &unified, "cannot = [\"R-23\"]"), Step::Skip(why) if why.contains("cannot")));
}

#[test]
fn a_plan_has_every_chosen_rule_once_and_in_order() {
    let all = plan(rules(), &Choice::default(), &[Layout::Unified], &WithFile::default());
    let ids: Vec<_> = all.iter().map(|(rule, _)| rule.id).collect();
    assert_eq!(ids, rules().iter().map(|rule| rule.id).collect::<Vec<_>>());
}

#[test]
fn what_is_demanded_fails_what_is_advised_is_told_and_a_decision_differs() {
    let rule = |id: &str| rules().into_iter().find(|rule| rule.id == id).unwrap();
    let ends = |id: &str, stop: Stop, is_strict| verdict(rule(id), Err(stop), is_strict).result;
    let broken = || Stop::Fail("why".to_owned(), None);
    for (id, result, strictly) in [
        ("X-24", Kind::Fail, Kind::Fail),
        ("R-16", Kind::Advice, Kind::Fail),
        ("X-12", Kind::Advice, Kind::Fail),
        ("R-17", Kind::Differs, Kind::Differs),
    ] {
        assert_eq!((ends(id, broken(), false), ends(id, broken(), true)), (result, strictly), "{id}");
    }
    assert_eq!(ends("X-24", Stop::Differs(String::new(), None), true), Kind::Differs);
    assert_eq!(ends("X-24", Stop::Blocked(String::new(), None), true), Kind::Blocked);
    assert_eq!(verdict(rule("X-24"), Ok(()), true).result, Kind::Pass);
}
