//! Code and contract name the same words.

use crate::Reason;
use crate::identity::Feature;

const CONTRACT: &str = include_str!("../../../../wit/README.md");
const TYPES: &str = include_str!("../../../../wit/types.wit");

/// The first column of the table under a heading.
fn table(heading: &str) -> Vec<&'static str> {
    let (_, section) = CONTRACT.split_once(&format!("\n{heading}\n")).unwrap();
    let section = section.split("\n#").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap()).collect()
}

#[test]
fn features_are_those_of_the_contract() {
    let words: Vec<_> = Feature::ALL.iter().map(|word| word.as_str()).collect();
    assert_eq!(words, table("### Features"));
}

#[test]
fn reasons_are_those_of_the_contract() {
    let words: Vec<_> = Reason::ALL.iter().map(|word| word.as_str()).collect();
    assert_eq!(words, table("### Reasons"));
    for word in words {
        assert!(TYPES.contains(&format!("`{word}`")), "{word} is not in types.wit");
    }
}

#[test]
fn error_codes_are_those_of_the_contract() {
    let codes = table("## Error codes");
    let (_, body) = TYPES.split_once("enum error-code {").unwrap();
    let body = body.split('}').next().unwrap();
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    let written: Vec<_> =
        lines.filter(|line| !line.starts_with("///")).map(|line| line.trim_end_matches(',')).collect();
    assert_eq!(codes, written);
}
