//! What a description can do to readers of the host's output.

use super::*;
use drivebay_contract::bindings::exports::drivebay::backend::identity::{DirectoryWant, StateVersion, Want};

const FORGED: &str = "a\n2026-01-01T00:00:00Z ERROR drivebay: all is lost\u{1b}[31m";

fn description(grants: Vec<Grant>, why: &str) -> Description {
    let want = |grant| Want { grant, need: Need::Required, why: why.to_owned() };
    Description {
        name: "a.example".to_owned(),
        vendor_version: "1.0.0".to_owned(),
        manifest: Vec::new(),
        features: Vec::new(),
        state_version: StateVersion { writes: 1, reads_from: 1 },
        wants: grants.into_iter().map(want).collect(),
    }
}

fn refused(said: Description) -> String {
    Facts::new(said, BTreeSet::new(), Given { grants: &Grants::default(), node_id: None }).unwrap_err().to_string()
}

#[test]
fn no_word_of_a_backend_forges_a_line() {
    let directory = Grant::Directory(DirectoryWant { path: FORGED.to_owned(), write: true });
    let grants = vec![directory, Grant::Http(FORGED.to_owned()), Grant::Node];
    let words = refused(description(grants, FORGED));
    assert!(words.contains("directory a\\n2026") && words.contains("HTTP to a\\n2026"), "{words}");
    assert!(!words.contains(['\n', '\u{1b}']), "{words:?}");
}

#[test]
fn its_words_stay_short() {
    let words = refused(description(vec![Grant::Node], &"x".repeat(100_000)));
    assert!(words.len() < 1_000, "{} bytes", words.len());
}

#[test]
fn a_version_is_a_word() {
    for version in ["", "1.0\n", "1.0\u{202e}", &"1".repeat(129)] {
        let said = Description { vendor_version: version.to_owned(), ..description(Vec::new(), "") };
        assert!(refused(said).contains("vendor-version must have 1 to 128 bytes"), "{version:?}");
    }
    let longest = Description { vendor_version: "1".repeat(128), ..description(Vec::new(), "") };
    assert!(Facts::new(longest, BTreeSet::new(), Given { grants: &Grants::default(), node_id: None }).is_ok());
}

/// Each unknown feature is a line of the log, the manifest is a part of an answer, and all of it is kept.
#[test]
fn what_it_says_of_itself_is_bounded() {
    let of = |change: fn(&mut Description)| {
        let mut said = description(Vec::new(), "");
        change(&mut said);
        said
    };
    let words = |bytes: usize| vec![("k".to_owned(), "v".repeat(bytes - 1))];
    let long = || Grant::Http("x".repeat(5_000));
    let cases = [
        (of(|said| said.features = vec!["x".to_owned(); 100_000]), "100000 features; at most 64"),
        (description(vec![Grant::Node; 65], ""), "65 wants; at most 64"),
        (description(vec![long()], ""), "5000 bytes of a want; at most 4096"),
        (Description { manifest: words(5_000), ..description(Vec::new(), "") }, "5000 bytes of manifest; at most 4096"),
    ];
    for (said, expected) in cases {
        let refused = refused(said);
        assert!(refused.contains(expected), "{refused}");
    }
    let most = Description { manifest: words(4_096), ..of(|said| said.features = vec!["x".to_owned(); 64]) };
    let given = Given { grants: &Grants::default(), node_id: Some("n") };
    let facts = Facts::new(most, BTreeSet::new(), given).unwrap();
    let node =
        |bytes| NodeDescription { node_id: None, max_volumes_per_node: 0, accessible_topology: Some(words(bytes)) };
    assert!(facts.clone().with_node(node(4_096), given).is_ok());
    let refused = facts.with_node(node(5_000), given).unwrap_err().to_string();
    assert!(refused.contains("5000 bytes of accessible-topology"), "{refused}");
}
