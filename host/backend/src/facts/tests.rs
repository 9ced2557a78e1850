//! What a description can do to whoever reads what the host says of it.

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
