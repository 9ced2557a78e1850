//! What addresses are, which of them ranges open, and that no way of writing one gets around that.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use drivebay_policy::grants::http::address::{Class, Judgement, Range, class, judge};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn ranges(texts: &[&str]) -> Vec<Range> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

const KINDS: [(&str, Class); 61] = [
    ("8.8.8.8", Class::Public),
    ("1.1.1.1", Class::Public),
    ("172.15.255.255", Class::Public),
    ("172.32.0.0", Class::Public),
    ("100.63.255.255", Class::Public),
    ("100.128.0.0", Class::Public),
    ("223.255.255.255", Class::Public),
    ("2606:4700::1111", Class::Public),
    ("0.0.0.0", Class::Never),
    ("0.1.2.3", Class::Never),
    ("10.0.0.1", Class::Private),
    ("172.16.0.1", Class::Private),
    ("172.31.255.255", Class::Private),
    ("192.168.0.1", Class::Private),
    ("100.64.0.1", Class::Shared),
    ("100.127.255.255", Class::Shared),
    ("100.100.100.200", Class::Metadata),
    ("127.0.0.1", Class::Loopback),
    ("127.255.255.254", Class::Loopback),
    ("168.63.129.16", Class::Metadata),
    ("169.254.0.1", Class::LinkLocal),
    ("169.254.169.254", Class::Metadata),
    ("169.254.170.2", Class::Metadata),
    ("169.254.170.23", Class::Metadata),
    ("192.0.0.1", Class::Protocol),
    ("192.0.0.192", Class::Metadata),
    ("192.0.2.1", Class::Documentation),
    ("192.88.99.1", Class::Translated),
    ("198.18.0.1", Class::Benchmarking),
    ("198.19.255.255", Class::Benchmarking),
    ("198.51.100.7", Class::Documentation),
    ("203.0.113.7", Class::Documentation),
    ("224.0.0.1", Class::Never),
    ("239.255.255.250", Class::Never),
    ("240.0.0.1", Class::Never),
    ("255.255.255.255", Class::Never),
    ("::", Class::Never),
    ("::1", Class::Loopback),
    ("::ffff:10.0.0.1", Class::Private),
    ("::ffff:169.254.169.254", Class::Metadata),
    ("::ffff:8.8.8.8", Class::Public),
    ("::10.0.0.1", Class::Translated),
    ("64:ff9b::8.8.8.8", Class::Translated),
    ("64:ff9b:1::1", Class::Translated),
    ("100::1", Class::Never),
    ("2001::1", Class::Translated),
    ("2001:2::1", Class::Benchmarking),
    ("2001:10::1", Class::Protocol),
    ("2001:20::1", Class::Protocol),
    ("2001:db8::1", Class::Documentation),
    ("2002:a00:1::1", Class::Translated),
    ("3fff::1", Class::Documentation),
    ("4000::1", Class::Never),
    ("5f00::1", Class::Protocol),
    ("fc00::1", Class::Private),
    ("fd12:3456::1", Class::Private),
    ("fd00:ec2::254", Class::Metadata),
    ("fd20:ce::254", Class::Metadata),
    ("fe80::1", Class::LinkLocal),
    ("fec0::1", Class::Private),
    ("ff02::1", Class::Never),
];

#[test]
fn every_kind_of_address_is_known() {
    for (text, expected) in KINDS {
        assert_eq!(class(ip(text)), expected, "{text}");
    }
}

#[test]
fn ranges_open_what_lies_in_them_and_no_more() {
    let open = Judgement::Open;
    for (granted, address, expected) in [
        (&[][..], "8.8.8.8", open),
        (&[], "2606:4700::1111", open),
        (&[], "10.0.0.1", Judgement::Closed(Class::Private)),
        (&[], "127.0.0.1", Judgement::Closed(Class::Loopback)),
        (&[], "169.254.169.254", Judgement::Barred(Class::Metadata)),
        (&[], "224.0.0.1", Judgement::Barred(Class::Never)),
        // With ranges, what is public is not open by itself.
        (&["10.0.0.0/8"], "8.8.8.8", Judgement::Closed(Class::Public)),
        (&["10.0.0.0/8"], "10.255.0.1", open),
        (&["10.0.0.0/8"], "11.0.0.1", Judgement::Closed(Class::Public)),
        (&["10.20.0.0/16"], "10.21.0.1", Judgement::Closed(Class::Private)),
        (&["10.20.0.7"], "10.20.0.7", open),
        (&["10.20.0.7"], "::ffff:10.20.0.7", open),
        // A range that holds more than a special block opens nothing of that block.
        (&["0.0.0.0/0"], "8.8.8.8", open),
        (&["0.0.0.0/0"], "10.0.0.1", Judgement::Closed(Class::Private)),
        (&["0.0.0.0/0"], "127.0.0.1", Judgement::Closed(Class::Loopback)),
        (&["172.0.0.0/8"], "172.16.0.1", Judgement::Closed(Class::Private)),
        (&["::/0"], "fd12::1", Judgement::Closed(Class::Private)),
        (&["::/0"], "2606:4700::1", open),
        // Metadata only by its own name.
        (&["169.254.0.0/16"], "169.254.1.1", open),
        (&["169.254.0.0/16"], "169.254.169.254", Judgement::Barred(Class::Metadata)),
        (&["169.254.169.254"], "169.254.169.254", open),
        (&["fd00::/8"], "fd00:ec2::254", Judgement::Barred(Class::Metadata)),
        (&["127.0.0.0/8"], "127.0.0.53", open),
        (&["224.0.0.0/4"], "224.0.0.1", Judgement::Barred(Class::Never)),
        // A translator's address is judged with what is inside.
        (&["64:ff9b::/96"], "64:ff9b::8.8.8.8", Judgement::Closed(Class::Public)),
        (&["64:ff9b::/96", "8.8.8.0/24"], "64:ff9b::8.8.8.8", open),
        (&["64:ff9b::/96", "0.0.0.0/0"], "64:ff9b::10.0.0.1", Judgement::Closed(Class::Private)),
        (&["64:ff9b::/96", "0.0.0.0/0"], "64:ff9b::a9fe:a9fe", Judgement::Barred(Class::Metadata)),
        (&["2002::/16", "0.0.0.0/0"], "2002:7f00:1::1", Judgement::Closed(Class::Loopback)),
        (&["2001::/32", "0.0.0.0/0"], "2001:0:808:808:0:0:f5ff:fffe", Judgement::Closed(Class::Private)),
        (&["2600::/12"], "2606:4700::5efe:10.0.0.1", Judgement::Closed(Class::Private)),
        (&["2600::/12", "10.0.0.0/8"], "2606:4700::5efe:10.0.0.1", open),
        (&[], "2606:4700::5efe:10.0.0.1", Judgement::Closed(Class::Private)),
        (&[], "::7f00:1", Judgement::Closed(Class::Loopback)),
    ] {
        assert_eq!(judge(ip(address), &ranges(granted)), expected, "{address} with {granted:?}");
    }
}

#[test]
fn ranges_are_written_in_one_way() {
    for (text, written) in [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.0.0.1", "10.0.0.1"),
        ("10.0.0.1/32", "10.0.0.1"),
        ("fd00::/8", "fd00::/8"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("0.0.0.0/0", "0.0.0.0/0"),
    ] {
        assert_eq!(text.parse::<Range>().unwrap().to_string(), written);
    }
    for wrong in
        ["", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "fd00::/129", "::ffff:0:0/96", "a.b", "10.0/8"]
    {
        assert!(wrong.parse::<Range>().is_err(), "{wrong}");
    }
    for (text, grantable) in [
        ("10.0.0.0/8", true),
        ("0.0.0.0/0", true),
        ("::/0", true),
        ("127.0.0.1", true),
        ("169.254.169.254", true),
        ("224.0.0.0/4", false),
        ("239.1.1.1", false),
        ("0.0.0.0", false),
        ("255.255.255.255", false),
        ("::", false),
        ("ff02::/16", false),
    ] {
        assert_eq!(text.parse::<Range>().unwrap().is_grantable(), grantable, "{text}");
    }
}

fn any_address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))),
        // Where translators, tunnels and special blocks are.
        (
            prop::sample::select(vec![0_u128, 0x64_ff9b << 96, 0x2001 << 112, 0x2002 << 112, 0xfd00 << 112]),
            any::<u64>()
        )
            .prop_map(|(high, low)| IpAddr::V6(Ipv6Addr::from_bits(high | u128::from(low)))),
    ]
}

fn any_range() -> impl Strategy<Value = Range> {
    (any_address(), 0_u8..=128).prop_map(|(address, bits)| {
        let (width, value) = match address.to_canonical() {
            IpAddr::V4(address) => (32, u128::from(address.to_bits())),
            IpAddr::V6(address) => (128, address.to_bits()),
        };
        let bits = bits.min(width);
        let dropped = u32::from(width - bits);
        let first = value.checked_shr(dropped).unwrap_or(0).checked_shl(dropped).unwrap_or(0);
        let first = match address.to_canonical() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(first).unwrap())),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(first)),
        };
        format!("{first}/{bits}").parse().unwrap_or(Range::only(address))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However a range is written down, it comes back as it was.
    #[test]
    fn ranges_survive_their_text(range in any_range()) {
        prop_assert_eq!(range.to_string().parse::<Range>().unwrap(), range);
    }

    /// What is open is either public, or named by a range that lies in its block: so it lies in a range, or no range is
    /// there and the address is public. What no machine has is never open.
    #[test]
    fn nothing_is_open_by_accident(address in any_address(), granted in prop::collection::vec(any_range(), 0..4)) {
        if judge(address, &granted) == Judgement::Open {
            let class = class(address);
            prop_assert!(class != Class::Never);
            if granted.is_empty() {
                prop_assert_eq!(class, Class::Public);
            } else {
                prop_assert!(granted.iter().any(|range| range.contains(address)));
            }
        }
    }

    /// An address of IPv4 is judged alike however it is carried in one of IPv6, or more strictly.
    #[test]
    fn no_spelling_opens_an_address(bits in any::<u32>(), granted in prop::collection::vec(any_range(), 0..4)) {
        let plain = IpAddr::V4(Ipv4Addr::from_bits(bits));
        let inside = u128::from(bits);
        let mapped = IpAddr::V6(Ipv6Addr::from_bits(0xffff << 32 | inside));
        prop_assert_eq!(judge(mapped, &granted), judge(plain, &granted));
        let carried = [
            inside,
            0x64_ff9b << 96 | inside,
            0x2002 << 112 | inside << 80,
            0x2001 << 112 | u128::from(!bits),
            0x2606_4700 << 96 | 0x5efe << 32 | inside,
        ];
        if judge(plain, &granted) != Judgement::Open {
            for carried in carried.into_iter().filter(|bits| *bits > 1) {
                let carried = IpAddr::V6(Ipv6Addr::from_bits(carried));
                prop_assert!(judge(carried, &granted) != Judgement::Open, "{}", carried);
            }
        }
    }

    /// More ranges never close what fewer opened, except that the first one closes what is open without any.
    #[test]
    fn ranges_only_add(address in any_address(), granted in prop::collection::vec(any_range(), 1..4), more in any_range()) {
        if judge(address, &granted) == Judgement::Open {
            let all: Vec<_> = granted.into_iter().chain([more]).collect();
            prop_assert_eq!(judge(address, &all), Judgement::Open);
        }
    }
}
