//! Origins: what is one, what matches it, and that nothing matches by a trick of spelling.

use proptest::prelude::*;

use drivebay_policy::grants::http::grant::Origin;
use drivebay_policy::grants::http::target::Target;

#[test]
fn origins_are_read_and_written() {
    for (text, written) in [
        ("https://array.example:8443", "https://array.example:8443"),
        ("HTTPS://Array.Example/", "https://array.example"),
        ("https://array.example:443", "https://array.example"),
        ("http://array.example:80", "http://array.example"),
        ("http://array.example:443", "http://array.example:443"),
        ("https://array", "https://array"),
        ("https://*.array.example", "https://*.array.example"),
        ("https://10.0.0.5:8443", "https://10.0.0.5:8443"),
        ("https://[fd00::5]:8443", "https://[fd00::5]:8443"),
        ("https://[::ffff:10.0.0.5]", "https://10.0.0.5"),
        ("https://a_b.example.", "https://a_b.example"),
    ] {
        assert_eq!(text.parse::<Origin>().unwrap().to_string(), written, "{text}");
    }
    for wrong in [
        "",
        "array.example",
        "ftp://array.example",
        "https://",
        "https://*",
        "https://*.example",
        "https://a.*.example",
        "https://**.array.example",
        "https://*array.example.com",
        "https://array.example:0",
        "https://array.example:65536",
        "https://array.example:+1",
        "https://array.example:",
        "https://array.example:1:2",
        "https://user@array.example",
        "https://array.example/path",
        "https://array.example?x",
        "https://array.example#x",
        "https://array example",
        "https://127.1",
        "https://2130706433",
        "https://0x7f.0.0.0x1",
        "https://0177.0.0.01",
        "https://1.2.3",
        "https://[fe80::1%25eth0]",
        "https://[fd00::5",
        "https://fd00::5",
        "https://-a.example",
        "https://a-.example",
        "https://a..example",
        "https://.example.com",
        "https://\u{e4}.example",
        "https://%61.example",
        "https://a.example\n",
        "https://*.10.0.0.1",
    ] {
        assert!(wrong.parse::<Origin>().is_err(), "{wrong:?}");
    }
}

#[test]
fn only_the_same_origin_matches() {
    for (origin, scheme, authority, expected) in [
        ("https://array.example:8443", "https", "array.example:8443", true),
        ("https://array.example:8443", "https", "ARRAY.example:8443", true),
        ("https://array.example:8443", "https", "array.example.:8443", true),
        ("https://array.example:8443", "HTTPS", "array.example:8443", true),
        ("https://array.example:8443", "https", "array.example", false),
        ("https://array.example:8443", "https", "array.example:443", false),
        ("https://array.example:8443", "http", "array.example:8443", false),
        ("https://array.example:8443", "https", "array.example.evil:8443", false),
        ("https://array.example:8443", "https", "evil-array.example:8443", false),
        ("https://array.example:8443", "https", "x.array.example:8443", false),
        ("https://array.example:8443", "https", "user@array.example:8443", false),
        ("https://array.example:8443", "https", "array.example:8443@evil:8443", false),
        ("https://array.example", "https", "array.example", true),
        ("https://array.example", "https", "array.example:443", true),
        ("https://*.array.example", "https", "a.array.example", true),
        ("https://*.array.example", "https", "array.example", false),
        ("https://*.array.example", "https", "a.b.array.example", false),
        ("https://*.array.example", "https", ".array.example", false),
        ("https://*.array.example", "https", "*.array.example", false),
        ("https://*.array.example", "https", "aarray.example", false),
        ("https://10.0.0.5:8443", "https", "10.0.0.5:8443", true),
        ("https://10.0.0.5:8443", "https", "[::ffff:10.0.0.5]:8443", true),
        ("https://10.0.0.5:8443", "https", "10.0.5:8443", false),
        ("https://10.0.0.5:8443", "https", "010.0.0.5:8443", false),
        ("https://10.0.0.5:8443", "https", "10.0.0.6:8443", false),
    ] {
        let origin: Origin = origin.parse().unwrap();
        let is_match = Target::parse(scheme, authority).is_some_and(|target| origin.matches(&target));
        assert_eq!(is_match, expected, "{origin} and {scheme}://{authority}");
    }
}

#[test]
fn origins_cover_origins() {
    for (granted, wanted, expected) in [
        ("https://a.array.example", "https://a.array.example:443", true),
        ("https://*.array.example", "https://a.array.example", true),
        ("https://*.array.example", "https://*.array.example", true),
        ("https://a.array.example", "https://*.array.example", false),
        ("https://*.array.example", "http://a.array.example", false),
    ] {
        let (granted, wanted) = (granted.parse::<Origin>().unwrap(), wanted.parse::<Origin>().unwrap());
        assert_eq!(granted.covers(&wanted), expected, "{granted} and {wanted}");
    }
}

/// Host names, close to one granted name and far from it.
fn any_authority() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c.*@:%0-9-]{0,14}", "([a-z*]{0,3}\\.){0,3}array\\.example(\\.|:443|:8443|@x|)", "\\PC{0,20}",]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The only authorities that match a granted name are that name, in any case, with or without the dot and the port.
    #[test]
    fn a_name_matches_itself_alone(authority in any_authority()) {
        let origin: Origin = "https://a.array.example".parse().unwrap();
        let plain = authority.to_ascii_lowercase();
        let plain = plain.strip_suffix(":443").unwrap_or(&plain);
        let is_it = plain.strip_suffix('.').unwrap_or(plain) == "a.array.example";
        let is_match = Target::parse("https", &authority).is_some_and(|target| origin.matches(&target));
        prop_assert_eq!(is_match, is_it, "{}", authority);
    }

    /// What a target is written as is read as the same target: what is checked is what goes out.
    #[test]
    fn targets_survive_their_text(authority in any_authority()) {
        if let Some(target) = Target::parse("https", &authority) {
            prop_assert_eq!(Target::parse("https", &target.authority()), Some(target));
        }
    }
}
