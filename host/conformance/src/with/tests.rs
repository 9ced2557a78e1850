//! What drivers' authors write about their driver, and the mistakes they make in it.

use std::time::Duration;

use super::{Access, WithFile};

#[test]
fn everything_has_a_default() {
    let with = WithFile::parse("").unwrap();
    assert_eq!((with.deadline, with.patience), (Duration::from_secs(10), Duration::from_secs(10)));
    assert_eq!((with.sizes.volume, with.sizes.grown), (16 << 20, 32 << 20));
    assert_eq!(with.capabilities.access, Access::Mount);
    assert!(with.secrets_of("csi.v1.Controller/CreateVolume").is_empty());
}

#[test]
fn unknown_keys_are_errors_at_every_level() {
    for text in ["x = 1", "[parameters]\nvolumes = {}", "[replication]\nid = true", "[sizes]\nlarge = 3"] {
        let error = WithFile::parse(text).unwrap_err().to_string();
        assert!(error.contains("unknown field"), "{text}: {error}");
    }
}

#[test]
fn names_of_calls_and_rules_are_checked() {
    for text in ["cannot = [\"R-99\"]", "[secrets]\nMakeVolume = { a = \"b\" }", "cannot = [\"all\"]"] {
        let error = WithFile::parse(text).unwrap_err().to_string();
        assert!(error.contains("is neither a call"), "{text}: {error}");
    }
    assert!(WithFile::parse("cannot = [\"R-17\", \"ResyncVolume\", \"csi.v1.Node/NodeStageVolume\"]").is_ok());
}

#[test]
fn numbers_have_ranges() {
    for text in
        ["parallel = 0", "parallel = 65", "[sizes]\nvolume = 0", "[sizes]\nvolume = 9\ngrown = 9", "deadline = \"x\""]
    {
        assert!(WithFile::parse(text).is_err(), "{text}");
    }
}

#[test]
fn secrets_are_found_by_path_then_name_then_all() {
    let text = "[secrets]\nall = { k = \"everyone\" }\nProbe = { k = \"name\" }\n\"identity.Identity/Probe\" = { k = \"path\" }";
    let with = WithFile::parse(text).unwrap();
    let value = |path| with.secrets_of(path).get("k").cloned().unwrap();
    assert_eq!(value("identity.Identity/Probe"), "path");
    assert_eq!(value("csi.v1.Identity/Probe"), "name");
    assert_eq!(value("csi.v1.Controller/CreateVolume"), "everyone");
}

#[test]
fn what_a_driver_cannot_do_is_said_by_path_or_name() {
    let with =
        WithFile::parse("cannot = [\"ResyncVolume\", \"replication.Controller/DemoteVolume\", \"R-17\"]").unwrap();
    for (what, impossible) in [
        ("replication.Controller/ResyncVolume", true),
        ("replication.Controller/DemoteVolume", true),
        ("replication.Controller/PromoteVolume", false),
        ("R-17", true),
        ("R-18", false),
    ] {
        assert_eq!(with.is_declared_impossible(what), impossible, "{what}");
    }
}
