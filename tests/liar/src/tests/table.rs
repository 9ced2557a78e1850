//! The table of lies against the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::layout::CAPABILITIES;
use crate::lies::{LIES, known};

/// All quoted texts of the sources besides the table and the tests.
fn quoted(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            quoted(&path, found);
        } else if path.is_file() && !path.ends_with("lies.rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.extend(text.split('"').skip(1).step_by(2).map(str::to_owned));
            found.extend(text.split('"').skip(2).step_by(2).map(str::to_owned));
        }
    }
}

fn sources() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    quoted(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    found
}

fn is_id(text: &str) -> bool {
    let (family, number) = text.split_once('-').unwrap_or_default();
    ["R", "G", "C", "E", "X"].contains(&family) && number.starts_with(|digit: char| digit.is_ascii_digit())
}

#[test]
fn each_lie_is_asked_for_and_each_that_is_asked_for_is_known() {
    let asked: BTreeSet<String> = sources().into_iter().filter(|text| is_id(text)).collect();
    let listed: BTreeSet<String> = LIES.iter().map(|(id, _)| (*id).to_owned()).collect();
    assert_eq!(asked, listed);
    assert_eq!(listed.len(), LIES.len(), "a rule stands twice in the table");
}

#[test]
fn only_known_rules_can_be_broken() {
    assert_eq!(known("R-23"), Ok("R-23"));
    assert!(known("R-2").is_err());
}

#[test]
fn gates_are_capabilities() {
    let all: BTreeSet<String> = CAPABILITIES
        .iter()
        .flat_map(|(area, names)| names.iter().map(move |(name, _)| format!("{area}.{name}")))
        .collect();
    let areas: BTreeSet<&str> = CAPABILITIES.iter().map(|(area, _)| *area).collect();
    let gates = sources().into_iter().filter(|text| {
        text.split_once('.').is_some_and(|(area, name)| areas.contains(area) && !name.is_empty() && !name.contains(' '))
    });
    for gate in gates {
        assert!(all.contains(&gate), "{gate} is no capability");
    }
}

/// The rules that the suite can observe, from its own table: the one thing that both sides share.
fn observable() -> BTreeSet<String> {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host/conformance/rules.tsv");
    let text = fs::read_to_string(table).unwrap();
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let heading = lines.next().unwrap();
    let column = |name: &str| heading.iter().position(|title| *title == name).unwrap();
    let (id, seen) = (column("id"), column("observable"));
    lines.filter(|fields| fields[seen] == "yes").map(|fields| fields[id].to_owned()).collect()
}

#[test]
fn each_rule_that_can_be_observed_can_be_broken_and_no_other() {
    let listed: BTreeSet<String> = LIES.iter().map(|(id, _)| (*id).to_owned()).collect();
    assert_eq!(listed, observable());
}
