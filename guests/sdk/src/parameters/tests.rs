//! Known, missing and surplus keys.

use super::*;
use crate::ErrorCode;

fn given(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn all_keys_taken_is_fine() {
    let given = given(&[("a", "1"), ("b", "2")]);
    let mut parameters = Parameters::new(&given);
    assert_eq!(parameters.require("b").unwrap(), "2");
    assert_eq!(parameters.take("a"), Some("1"));
    assert_eq!(parameters.take("a"), None);
    parameters.finish().unwrap();
}

#[test]
fn surplus_keys_are_named_in_order() {
    let given = given(&[("z", ""), ("a", "")]);
    let error = Parameters::new(&given).finish().unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    assert_eq!(error.message, "unknown parameter: a, z");
}

#[test]
fn choices_default_to_the_first_and_refuse_the_rest() {
    let given = given(&[("kind", "directory"), ("mode", "odd")]);
    let mut parameters = Parameters::new(&given);
    let words = [("image", 1), ("directory", 2)];
    assert_eq!(parameters.choose("kind", &words).unwrap(), 2);
    assert_eq!(parameters.choose("absent", &words).unwrap(), 1);
    let error = parameters.choose("mode", &words).unwrap_err();
    assert_eq!(error.message, "parameter mode must be one of: image, directory");
}

#[test]
fn a_key_is_found_among_others() {
    let given = given(&[("a", "1"), ("b", ""), ("a", "2")]);
    assert_eq!(find(&given, "a"), Some("1"));
    assert_eq!(find(&given, "b"), Some(""));
    assert_eq!(find(&given, "c"), None);
}
