//! The encoding is one to one and harmless.

use super::*;

#[test]
fn awkward_names_come_back() {
    let names =
        ["", ".", "..", ".hidden", "a/b", "A", "a", "~", "~0", "volume 1", "größe", "🚲", "-rf", "con\u{2028}x"];
    let encoded: Vec<_> = names.iter().map(|name| encode(name)).collect();
    for (name, safe) in names.iter().zip(&encoded) {
        assert_eq!(decode(safe).as_deref(), Some(*name), "{safe}");
        assert!(safe.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/'), "{safe}");
        assert!(!safe.starts_with('.') && safe.to_ascii_lowercase() == *safe, "{safe}");
    }
    let mut distinct = encoded.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), names.len());
}

#[test]
fn every_length_round_trips_within_a_file_name() {
    for length in 0..=128 {
        let name = "Ü".repeat(length / 2) + if length % 2 == 1 { "x" } else { "" };
        let safe = encode(&name);
        assert!(safe.len() <= 206, "{length}: {}", safe.len());
        assert_eq!(decode(&safe), Some(name));
    }
}

#[test]
fn what_encode_did_not_make_is_refused() {
    let foreign = ["", ".", "a/b", "A", "~A", "~w", "~0", "~~", "~c5", "~c4zz"];
    for text in foreign {
        assert_eq!(decode(text), None, "{text}");
    }
}
