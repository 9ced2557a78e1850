//! Settings are read strictly.

use drivebay_sdk::ErrorCode;

use super::*;

fn given(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn parse(pairs: &[(&str, &str)]) -> Settings {
    Settings::parse(&given(pairs)).unwrap()
}

#[test]
fn nothing_set_is_the_pool_at_its_usual_place() {
    let settings = parse(&[]);
    assert_eq!(settings.pool, "/pool");
    assert!(settings.authorise(&Vec::new()).is_ok());
    assert!(settings.satisfies(None));
}

#[test]
fn unknown_and_malformed_settings_are_refused() {
    for (key, value) in [
        ("pol", "/pool"),
        ("pool", "pool"),
        ("pool", "/"),
        ("pool", "/a/../b"),
        ("pool", "/a//b"),
        ("link", "link"),
        ("addresses", "10.0.0.0/8"),
        ("topology", "zone"),
        ("topology", "=east"),
        ("topology", "zone=a,zone=b"),
    ] {
        let refused = Settings::parse(&given(&[(key, value)])).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
        assert!(refused.message.contains(key), "{}", refused.message);
    }
}

#[test]
fn a_second_site_and_addresses_are_read() {
    let settings = parse(&[("link", "/link/"), ("addresses", "10.0.0.7, fd00::7")]);
    assert_eq!(settings.link.as_deref(), Some("/link"));
    assert_eq!(settings.addresses.len(), 2);
    assert_eq!(parse(&[("link", "")]), parse(&[]));
}

#[test]
fn the_secret_must_be_given_and_right() {
    let settings = parse(&[("secret", "open sesame")]);
    for wrong in [&[][..], &[("secret", "open")], &[("secret", "open sesamf")], &[("other", "open sesame")]] {
        let refused = settings.authorise(&given(wrong)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unauthenticated);
        assert!(!refused.message.contains("sesame"), "{}", refused.message);
    }
    assert!(settings.authorise(&given(&[("secret", "open sesame"), ("more", "x")])).is_ok());
}

#[test]
fn nodes_are_those_named_or_the_own_one_or_any() {
    let named = parse(&[("nodes", "a, b,")]);
    assert!(named.has_node("b", Some("z")) && !named.has_node("z", Some("z")));
    assert!(parse(&[]).has_node("own", Some("own")) && !parse(&[]).has_node("b", Some("own")));
    assert!(parse(&[]).has_node("any", None));
}

#[test]
fn a_place_must_agree_in_every_segment() {
    let settings = parse(&[("topology", "zone=east, rack=7")]);
    let place = |pairs: &[(&str, &str)]| given(pairs);
    let asked = |places: &[StringMap]| TopologyRequirement { requisite: places.to_vec(), preferred: Vec::new() };
    assert!(settings.satisfies(Some(&asked(&[]))));
    assert!(settings.satisfies(Some(&asked(&[place(&[("zone", "west")]), place(&[("zone", "east")])]))));
    assert!(!settings.satisfies(Some(&asked(&[place(&[("zone", "east"), ("rack", "8")])]))));
    assert!(!settings.satisfies(Some(&asked(&[place(&[("row", "1")])]))));
}
