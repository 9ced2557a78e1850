//! The shared rules by themselves, where a table over messages would hide what is judged.

use super::{Breach, Under, path, quoted, text, topology};
use crate::{Abilities, BadAnswer, Feature, Invalid, InvalidKind};
use drivebay_proto::pb::csi::v1::Topology;

fn judge(segments: &[(&str, &str)]) -> bool {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let place = Topology { segments: segments.iter().map(own).collect() };
    let able = Abilities::new([], [Feature::Topology]);
    topology::asked("place", Some(&place), &able).is_ok()
}

#[test]
fn topology_keys_have_an_optional_prefix_in_lower_case() {
    let long = "x".repeat(63);
    let too_long = "x".repeat(64);
    let prefixed = format!("{long}/{long}");
    for key in ["zone", "Zone", "a", "a-b_c.d", "example.com/zone", "a.b-c.1/x", &long, &prefixed] {
        assert!(judge(&[(key, "a")]), "{key}");
    }
    let overlong = format!("{too_long}/zone");
    let bad = [
        "",
        "-zone",
        "zone.",
        "zo ne",
        "zöne",
        "/zone",
        "example.com/",
        "Example.com/zone",
        "a/b/c",
        ".com/zone",
        "a..b/zone",
        "a-.b/zone",
        &too_long,
        &overlong,
    ];
    for key in bad {
        assert!(!judge(&[(key, "a")]), "{key}");
    }
}

#[test]
fn topology_values_are_words() {
    let long = "x".repeat(63);
    for value in ["a", "East-1", "a_b.c", &long] {
        assert!(judge(&[("zone", value)]), "{value}");
    }
    let too_long = "x".repeat(64);
    for value in ["", "-a", "a-", "a/b", "a b", "ä", &too_long] {
        assert!(!judge(&[("zone", value)]), "{value}");
    }
}

#[test]
fn topology_keys_differ_in_more_than_case() {
    assert!(judge(&[("zone", "a"), ("rack", "1")]));
    assert!(!judge(&[("zone", "a"), ("Zone", "a")]));
}

#[test]
fn words_for_programs_are_camel_case() {
    for word in ["A", "MirrorBroken", "Raid5Degraded", "IOError"] {
        assert!(text::camel_case("reason", word).is_ok(), "{word}");
    }
    for word in ["", "mirrorBroken", "5Raid", "Mirror_Broken", "Mirror Broken", "Störung"] {
        assert!(text::camel_case("reason", word).is_err(), "{word}");
    }
}

#[test]
fn paths_without_detours_are_usable() {
    assert!(path::target("p", "/a").is_ok());
    assert!(path::target("p", "/a/..b/c..").is_ok());
    assert_eq!(path::usable(["/a", "", "b", "/a/../b"]), ["/a"]);
}

/// A breach keeps its kind and its whole path; a backend's author reads fields as WIT spells them.
#[test]
fn breaches_tell_the_whole_path() {
    let inner = || Err::<(), _>(Breach::range("byte_offset", "is odd"));
    let told = inner().under("[3]").under("block_metadata").under("page");
    let breach = told.unwrap_err();
    let invalid = Invalid::from(breach.clone());
    assert_eq!(invalid.to_string(), "page.block_metadata[3].byte_offset: is odd");
    assert_eq!(invalid.kind, InvalidKind::Range);
    let answer = BadAnswer::from(breach);
    assert_eq!(answer.to_string(), "page.block-metadata[3].byte-offset: is odd");
    let whole = Err::<(), _>(Breach::missing("")).under("volume_id");
    assert_eq!(Invalid::from(whole.unwrap_err()).field, "volume_id");
}

#[test]
fn foreign_text_is_escaped_and_cut() {
    assert_eq!(quoted("a\nb"), "\"a\\nb\"");
    assert_eq!(quoted(&"ä".repeat(48)), format!("\"{}\"", "ä".repeat(48)));
    assert_eq!(quoted(&"ä".repeat(49)), format!("\"{}…\"", "ä".repeat(48)));
}
