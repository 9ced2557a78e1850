//! The words: each stands for one feature, and nothing else does.

use std::collections::BTreeSet;

use super::Feature;

#[test]
fn every_word_finds_its_feature() {
    let names: BTreeSet<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
    assert_eq!(names.len(), Feature::ALL.len(), "no word is used twice");
    for feature in Feature::ALL {
        assert_eq!(Feature::from_name(feature.name()), Some(*feature));
    }
}

/// The contract's spelling counts: a word that is nearly right is not registered.
#[test]
fn words_that_are_nearly_right_find_nothing() {
    for name in ["", "Clone", "online_expansion", "online-expansion ", "unknown"] {
        assert_eq!(Feature::from_name(name), None, "{name}");
    }
}
