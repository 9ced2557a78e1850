//! The table holds together: ids, and what each attack is contained by.

use std::collections::BTreeSet;

use super::catalogue::ALL;
use super::limits::{Without, names, why_fixed};

#[test]
fn every_attack_has_an_id_of_its_own() {
    let ids: BTreeSet<_> = ALL.iter().map(|attack| attack.id).collect();
    assert_eq!(ids.len(), ALL.len());
}

#[test]
fn what_contains_an_attack_has_a_switch_or_a_reason_why_not() {
    for attack in ALL {
        let switched = Without::named(attack.by);
        assert!(
            switched.is_ok_and(|without| without.contains(attack.by)) != why_fixed(attack.by).is_some(),
            "{}",
            attack.id
        );
    }
}

/// The page says which attack tests which limit: a row's attacks are contained by a limit of that row.
#[test]
fn the_page_on_security_names_attacks_and_what_contains_them() {
    let page = include_str!("../../../SECURITY.md");
    let table = page.split("\n## Limits\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows: Vec<Vec<_>> =
        table.lines().filter(|line| line.starts_with('|')).map(|line| line.split('|').collect()).collect();
    let words = |cell: &str| cell.split([',', '`', ' ']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let mut shown = BTreeSet::new();
    for row in &rows[2..] {
        let (limits, attacks): (BTreeSet<String>, BTreeSet<String>) = (words(row[1]), words(row[5]));
        assert!(!attacks.is_empty(), "{limits:?}");
        for id in attacks {
            let attack = ALL.iter().find(|attack| attack.id == id).unwrap_or_else(|| panic!("no attack {id}"));
            assert!(limits.contains(attack.by), "{id} is contained by {}", attack.by);
            shown.insert(attack.by);
        }
    }
    // Numbers of the configuration are the rows of this table, and each is attacked.
    let numbers = ["memory", "cpu", "calls", "state", "handles", "jobs", "failures", "crossing", "crossing-total"];
    assert!(numbers.iter().all(|number| shown.contains(number)), "{shown:?}");
}

#[test]
fn every_switch_has_an_attack() {
    for name in names() {
        let without = Without::named(&name).unwrap();
        assert!(ALL.iter().any(|attack| without.contains(attack.by)), "{name}");
    }
}
