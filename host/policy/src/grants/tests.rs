//! The registration of kinds, and what follows from a kind.

use super::*;

/// What is written down with a generation is compared with what was: a kind that is added must not change it for those
/// that are not granted it.
#[test]
fn what_is_written_down_stays_what_it_was() {
    let nothing = serde_json::to_string(&Grants::default()).unwrap();
    assert_eq!(nothing, r#"{"directories":[],"http":[],"http_mode":"Enforce","node":false,"mount_options":[]}"#);
    let mut problems = Problems::default();
    let mut grants = Grants::default();
    for (name, text) in [("directory", "/srv/pool:/pool:ro"), ("http", "https://array.example"), ("node", "")] {
        let option = Grants::options().find(|option| option.name == name).unwrap();
        grants.argument(option, text, &mut problems);
    }
    assert!(problems.into_result("test", ()).is_ok());
    let written = serde_json::to_string(&grants).unwrap();
    assert_eq!(serde_json::from_str::<Grants>(&written).unwrap(), grants, "{written}");
    let before = r#"{"directories":[],"http":[],"http_mode":"Report","node":true}"#;
    let before: Grants = serde_json::from_str(before).unwrap();
    assert!(before.node.is_granted && before.http.mode == http::Mode::Report);
}

#[test]
fn every_kind_has_its_own_keys_and_options() {
    let keys = keys();
    assert_eq!(keys.iter().collect::<std::collections::BTreeSet<_>>().len(), keys.len(), "{keys:?}");
    let options: Vec<_> = Grants::options().map(|option| option.name).collect();
    assert_eq!(options, ["directory", "http", "node"]);
}

#[test]
fn what_is_granted_has_words_and_paths() {
    let mut problems = Problems::default();
    let mut grants = Grants::default();
    let given = [
        ("directory", "/srv/pool:/pool"),
        ("directory", "/srv/link:/link:ro"),
        ("http", "https://array.example,ca=/etc/ca.pem"),
        ("node", ""),
    ];
    for (name, text) in given {
        let option = Grants::options().find(|option| option.name == name).unwrap();
        grants.argument(option, text, &mut problems);
    }
    assert!(problems.into_result("test", ()).is_ok());
    let absent = [("/link".to_owned(), "gone".to_owned())];
    assert_eq!(
        grants.words(&absent),
        [
            "directory /srv/pool:/pool",
            "directory /srv/link:/link:ro (absent: gone)",
            "http https://array.example",
            "node"
        ]
    );
    let paths = grants.paths();
    let paths: Vec<_> = paths.iter().map(|it| (it.path.to_str().unwrap(), it.used)).collect();
    assert_eq!(paths, [("/srv/pool", PathUse::Write), ("/srv/link", PathUse::Read), ("/etc/ca.pem", PathUse::File)]);
    let imports = ["wasi:http/outgoing-handler@0.2.0".to_owned()];
    assert_eq!(grants.warnings(&imports), [""; 0]);
    assert_eq!(Grants::default().warnings(&imports).len(), 1);
    assert_eq!(Grants::default().warnings(&[]), [""; 0]);
}
