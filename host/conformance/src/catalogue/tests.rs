//! The table of rules: complete, without doubles, each with its code.

use std::collections::BTreeSet;

use super::{Choice, Class, Id, Layout, TABLE, rules, sentence};
use crate::rules::all;
use crate::trial::AMBIENT;

#[test]
fn every_row_can_be_read() {
    assert_eq!(rules().len(), TABLE.lines().count() - 1);
}

#[test]
fn every_observable_rule_has_code_and_every_code_a_rule() {
    let observable: Vec<_> = rules().into_iter().filter(|it| it.unobservable.is_none()).map(|it| it.id).collect();
    let mut coded: Vec<_> = all().map(|code| code.id).chain(AMBIENT).collect();
    let (mut wanted, count) = (observable.clone(), coded.len());
    wanted.sort_unstable();
    coded.sort_unstable();
    assert_eq!(wanted, coded);
    coded.dedup();
    assert_eq!(coded.len(), count, "an id has code twice");
}

#[test]
fn ids_are_ids_and_each_stands_once() {
    let mut seen = BTreeSet::new();
    for rule in rules() {
        let id: Id = rule.id.parse().unwrap();
        assert!(seen.insert(id), "{} stands twice", rule.id);
        assert!(!rule.sentence.is_empty() && !rule.source.is_empty(), "{}", rule.id);
    }
}

#[test]
fn every_rule_but_a_decision_stands_on_a_sentence() {
    for rule in rules() {
        assert_eq!(rule.stands_on.is_none(), rule.class == Class::Decision, "{}", rule.id);
    }
}

#[test]
fn every_sentence_can_be_read_stands_once_and_carries_a_rule() {
    let keys: BTreeSet<_> = sentence::all().map(|(key, _)| key).collect();
    assert_eq!(keys.len(), sentence::rows());
    let used: BTreeSet<_> = TABLE.lines().skip(1).filter_map(|line| line.split('\t').nth(4)).collect();
    let idle: Vec<_> = keys.difference(&used).collect();
    assert!(idle.is_empty(), "no rule stands on {idle:?}");
    for (key, sentence) in sentence::all() {
        assert!(!sentence.section.is_empty() && sentence.text.ends_with(['.', ')']), "{key}");
    }
}

#[test]
fn every_observable_rule_runs_somewhere() {
    for rule in rules().into_iter().filter(|it| it.unobservable.is_none()) {
        let known =
            |word: &str| matches!(word, "all" | "controller") || Layout::ALL.iter().any(|(_, name)| *name == word);
        assert!(!rule.layouts.is_empty() && rule.layouts.iter().all(|word| known(word)), "{}", rule.id);
        let somewhere = Layout::ALL.iter().any(|(layout, _)| rule.runs_in(&[*layout]));
        assert!(somewhere, "{}", rule.id);
    }
}

#[test]
fn layouts_choose_rules() {
    let find = |id: &str| rules().into_iter().find(|it| it.id == id).unwrap();
    assert!(find("R-23").runs_in(&[Layout::Unified]));
    assert!(!find("R-23").runs_in(&[Layout::NodeOnly]));
    assert!(find("E-01").runs_in(&[Layout::NodeOnly]));
    assert!(find("R-21").runs_in(&[Layout::Unified, Layout::TwoSites]));
    assert!(!find("R-21").runs_in(&[Layout::Unified]));
}

#[test]
fn choices_are_ids_and_ranges() {
    let choice: Choice = "R-03..R-06, g-16b,X-120".parse().unwrap();
    for (id, chosen) in [
        ("R-02", false),
        ("R-03", true),
        ("R-06", true),
        ("R-06b", true),
        ("R-07", false),
        ("G-16", false),
        ("G-16b", true),
        ("X-120", true),
        ("X-12", false),
    ] {
        assert_eq!(choice.has(id), chosen, "{id}");
    }
    assert!(Choice::default().has("E-08"), "no choice is everything");
}

#[test]
fn a_single_id_takes_no_letters_in() {
    let choice: Choice = "G-16".parse().unwrap();
    assert!(choice.has("G-16") && !choice.has("G-16b"));
}

#[test]
fn wrong_choices_are_refused_with_words() {
    for (text, word) in [
        ("R", "no rule id"),
        ("R-", "no rule id"),
        ("R-1x2", "no rule id"),
        ("RR-01", "no rule id"),
        ("", "no rule id"),
        ("R-05..G-07", "no range"),
        ("R-05..R-02", "no range"),
        ("R-99", "there is no rule"),
    ] {
        let error = text.parse::<Choice>().unwrap_err();
        assert!(error.contains(word), "{text:?}: {error}");
    }
}
