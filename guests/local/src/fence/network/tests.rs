//! Which texts are networks, and what lies in them.

use proptest::prelude::*;

use super::*;

#[test]
fn networks_have_one_text() {
    for (text, plain) in [
        ("10.1.2.3/8", Some("10.0.0.0/8")),
        ("10.1.2.3", Some("10.1.2.3/32")),
        ("0.0.0.0/0", Some("0.0.0.0/0")),
        ("fd00::1/64", Some("fd00::/64")),
        ("::/0", Some("::/0")),
        ("10.0.0.0/33", None),
        ("10.0.0/8", None),
        ("10.0.0.0/+8", None),
        ("10.0.0.0/", None),
        ("host/8", None),
        ("", None),
    ] {
        assert_eq!(Network::parse(text).map(|network| network.to_string()).as_deref(), plain, "{text}");
    }
}

#[test]
fn families_are_kept_apart() {
    let all = Network::parse("0.0.0.0/0").unwrap();
    assert!(all.contains("10.0.0.1".parse().unwrap()) && !all.contains("::1".parse().unwrap()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_first_bits_decide(address: u32, other: u32, prefix in 0_u32..=32) {
        let network = Network::parse(&format!("{}/{prefix}", std::net::Ipv4Addr::from(address))).unwrap();
        let same = (address ^ other).leading_zeros() >= prefix;
        prop_assert_eq!(network.contains(IpAddr::V4(other.into())), same);
        prop_assert_eq!(Network::parse(&network.to_string()), Some(network));
    }
}
