//! The comparison, rule by rule, and the form of the table.

use std::collections::BTreeSet;

use super::Force;
use super::*;

fn profile(version: &str, abilities: &[&str], writes: u32, reads_from: u32) -> Profile {
    let abilities = abilities.iter().map(|ability| (*ability).to_owned()).collect();
    Profile { name: "array.example".to_owned(), version: version.to_owned(), abilities, writes, reads_from }
}

fn id(candidate: &Profile, against: Baseline<'_>) -> Option<RefusalId> {
    compare(candidate, against).err().map(|refusal| refusal.id)
}

#[test]
fn ids_are_unique_and_have_words() {
    let words: BTreeSet<_> = RefusalId::ALL.iter().map(|id| id.word()).collect();
    assert_eq!(words.len(), RefusalId::ALL.len());
    for id in RefusalId::ALL {
        assert!(id.word().bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", id.word());
        assert!(!id.next().is_empty());
    }
}

#[test]
fn the_first_one_is_compared_with_nothing() {
    let first = profile("0.1.0", &["volumes"], 3, 2);
    let against = Baseline { active: None, seen: None, written: None, force: Force::No };
    assert_eq!(compare(&first, against), Ok(StateHandover::Free));
}

#[test]
fn what_force_helps_against_and_what_not() {
    let active = profile("2.0.0", &["clone", "volumes"], 2, 1);
    let cases = [
        (profile("2.0.1", &["volumes"], 2, 1), RefusalId::Fewer),
        (profile("1.9.9", &["clone", "volumes"], 2, 1), RefusalId::Version),
        (profile("2.0.0-rc.1", &["clone", "volumes"], 2, 1), RefusalId::Version),
        (profile("3.0.0", &["clone", "volumes"], 1, 1), RefusalId::StateNewer),
        (profile("3.0.0", &["clone", "volumes"], 4, 3), RefusalId::StateOlder),
        (Profile { name: "other".into(), ..active.clone() }, RefusalId::Name),
    ];
    for (candidate, expected) in cases {
        let against = |force| Baseline { active: Some(&active), seen: Some("2.0.0"), written: Some(2), force };
        assert_eq!(id(&candidate, against(Force::No)), Some(expected), "{candidate:?}");
        let left = (!expected.is_forceable()).then_some(expected);
        assert_eq!(id(&candidate, against(Force::Yes)), left, "{candidate:?}");
    }
}

#[test]
fn the_four_cases_of_the_state() {
    for (written, writes, reads_from, expected) in [
        (2, 2, 1, Ok(StateHandover::Free)),
        (2, 3, 2, Ok(StateHandover::Copy)),
        (2, 1, 1, Err(RefusalId::StateNewer)),
        (2, 4, 3, Err(RefusalId::StateOlder)),
    ] {
        let candidate = profile("1.0.0", &[], writes, reads_from);
        let against = Baseline { active: None, seen: None, written: Some(written), force: Force::No };
        assert_eq!(compare(&candidate, against).map_err(|refusal| refusal.id), expected);
    }
}

#[test]
fn more_abilities_and_versions_without_order_pass() {
    let active = profile("build 7", &["volumes"], 1, 1);
    let candidate = profile("build 6", &["clone", "volumes"], 1, 1);
    let against = Baseline { active: Some(&active), seen: Some("build 7"), written: Some(1), force: Force::No };
    assert_eq!(compare(&candidate, against), Ok(StateHandover::Free));
}
