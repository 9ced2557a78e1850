//! Where requests of backends may go: grants as operators write them against requests as hostile guests write them, and
//! against addresses that names may have. The oracle knows the registries of special-purpose addresses and how origins are
//! compared from elsewhere, and only ever asks one thing: is anything let through that should not be.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::verdict::{Phase, Verdict, verdict};
use drivebay_egress::form;
use drivebay_parts::made::Maker;
use drivebay_policy::grants::http::address::Range;
use drivebay_policy::grants::http::grant::{Grant, Mode, Origin};
use drivebay_policy::grants::http::target::{Host, Target};
use http::header::HeaderName;
use http::{HeaderMap, Method, Request};

use crate::planted;

const SCHEMES: [&str; 6] = ["https://", "http://", "HTTPS://", "ftp://", "https:", ""];
const HOSTS: [&str; 20] = [
    "array.example",
    "*.b.example",
    "a.b.example",
    "A.B.EXAMPLE.",
    "b.example",
    "x.a.b.example",
    "10.0.0.5",
    "0x7f.1",
    "2130706433",
    "127.1",
    "[::1]",
    "[::ffff:169.254.169.254]",
    "[fe80::1%25eth0]",
    "u:p@array.example",
    "localhost",
    "*",
    "*.example",
    "-a.example",
    "a..example",
    "xn--bcher-kva.example",
];
const PORTS: [&str; 8] = ["", ":443", ":80", ":8443", ":0", ":65536", ":+80", ":"];
const PATHS: [&str; 8] = ["/", "/api/login", "/x?y", "", "//evil.example/", "/api/login?x", "/a/../b", "*"];
const METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "DELETE", "CONNECT", "TRACE", "get", "OPTIONS", "PURGE", "VERY-LONG-METHOD-INDEED"];
const HEADERS: [&str; 12] = [
    "host",
    "connection",
    "transfer-encoding",
    "proxy-connection",
    "upgrade",
    "x-http-method-override",
    "x-http-method",
    "te",
    "content-length",
    "accept",
    "keep-alive",
    "x-original-method",
];
/// Prefixes of addresses that mean something, as the bits of IPv6.
const PREFIXES: [[u16; 6]; 12] = [
    [0, 0, 0, 0, 0, 0xffff],
    [0, 0, 0, 0, 0, 0],
    [0x64, 0xff9b, 0, 0, 0, 0],
    [0x64, 0xff9b, 1, 0, 0, 0],
    [0x2002, 0x7f00, 1, 0, 0, 0],
    [0x2001, 0, 0xa9fe, 0xa9fe, 0, 0],
    [0xfe80, 0, 0, 0, 0, 0x5efe],
    [0x2001, 0xdb8, 0, 0, 0, 0],
    [0xfd00, 0xec2, 0, 0, 0, 0],
    [0x2606, 0x4700, 0, 0, 0, 0],
    [0xfc00, 0, 0, 0, 0, 0],
    [0xff02, 0, 0, 0, 0, 0],
];
const LASTS: [[u8; 4]; 12] = [
    [169, 254, 169, 254],
    [127, 0, 0, 1],
    [10, 0, 0, 5],
    [192, 168, 1, 1],
    [100, 64, 0, 1],
    [100, 100, 100, 200],
    [8, 8, 8, 8],
    [0, 0, 0, 0],
    [255, 255, 255, 255],
    [172, 31, 0, 9],
    [168, 63, 129, 16],
    [224, 0, 0, 1],
];
const RANGES: [&str; 12] = [
    "10.0.0.0/8",
    "169.254.169.254",
    "169.254.0.0/16",
    "127.0.0.0/8",
    "0.0.0.0/0",
    "::/0",
    "fd00::/8",
    "64:ff9b::/96",
    "192.168.1.1",
    "::ffff:0:0/96",
    "2000::/3",
    "8.8.8.8/32",
];

/// Where clouds serve credentials (the providers' documents).
const METADATA: [[u8; 4]; 7] = [
    [169, 254, 169, 254],
    [169, 254, 169, 253],
    [169, 254, 169, 123],
    [169, 254, 170, 2],
    [169, 254, 170, 23],
    [100, 100, 100, 200],
    [168, 63, 129, 16],
];

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let mut maker = Maker::new(bytes, &[]);
    let grants: Vec<Grant> = (0..maker.below(4)).filter_map(|_| grant(&mut maker)).collect();
    let mode = if maker.once_in(4) { Mode::Report } else { Mode::Enforce };
    let standing = if maker.once_in(3) { Phase::Trial } else { Phase::Serving };
    let addresses: Vec<IpAddr> = (0..1 + maker.below(4)).map(|_| address(&mut maker)).collect();
    let Some(request) = request(&mut maker) else { return };
    let Ok(verdict) = decide(&grants, mode, standing, &request, &addresses) else { return };
    written(&request, &verdict.target);
    if standing == Phase::Trial {
        harmless(&request, verdict.grant.and_then(|at| grants.get(at)));
    }
    match verdict.grant.and_then(|at| grants.get(at)) {
        Some(grant) => {
            assert!(is_same(&grant.origin.to_string(), &verdict.target), "{} is {}", grant.origin, verdict.target);
            assert!(!verdict.reported);
        }
        None => {
            assert!(mode == Mode::Report && verdict.reported, "{} goes out without a grant", verdict.target);
            let other = grants.iter().find(|grant| is_same(&grant.origin.to_string(), &verdict.target));
            assert!(other.is_none(), "{} is granted by {other:?}", verdict.target);
        }
    }
    let ranges = verdict.grant.and_then(|at| grants.get(at)).map(Grant::ranges).unwrap_or_default();
    for (address, reached) in addresses.iter().zip(&verdict.addresses) {
        match reached {
            Some(false) => assert!(may_be_reached(*address, &ranges), "{address} is reached with {ranges:?}"),
            Some(true) => assert!(mode == Mode::Report && !is_barred(*address, &ranges), "{address} is only reported"),
            None => {}
        }
    }
}

/// What the host decides; the planted one does not look into the addresses of translators.
fn decide(
    grants: &[Grant],
    mode: Mode,
    standing: Phase,
    request: &Request<()>,
    addresses: &[IpAddr],
) -> Result<Verdict, drivebay_egress::error::DenyReason> {
    let mut verdict = verdict(grants, mode, standing, request, addresses)?;
    if planted() {
        for (address, fate) in addresses.iter().zip(&mut verdict.addresses) {
            if matches!(address, IpAddr::V6(address) if address.segments()[..3] == [0x64, 0xff9b, 0]) {
                *fate = Some(false);
            }
        }
    }
    Ok(verdict)
}

fn grant(maker: &mut Maker<'_>) -> Option<Grant> {
    let origin: Origin = url(maker).parse().ok()?;
    assert_eq!(origin.to_string().parse().as_ref(), Ok(&origin), "an origin is what it is written as");
    let mut grant = Grant::of(origin);
    for _ in 0..maker.below(3) {
        let text = if maker.once_in(4) { maker.text() } else { RANGES[maker.below(RANGES.len())].to_owned() };
        let Ok(range) = text.parse::<Range>() else { continue };
        assert_eq!(range.to_string().parse().as_ref(), Ok(&range), "a range is what it is written as");
        // What the configuration would refuse.
        if range.is_grantable() && !grant.origin.is_address() {
            grant.addresses.push(range);
        }
    }
    if maker.once_in(3) {
        grant.login.push("/api/login".to_owned());
    }
    Some(grant)
}

/// An origin, mostly.
fn url(maker: &mut Maker<'_>) -> String {
    let host = if maker.once_in(6) { maker.text() } else { HOSTS[maker.below(HOSTS.len())].to_owned() };
    format!("{}{host}{}", SCHEMES[maker.below(SCHEMES.len())], PORTS[maker.below(PORTS.len())])
}

fn request(maker: &mut Maker<'_>) -> Option<Request<()>> {
    let path = if maker.once_in(6) { maker.text() } else { PATHS[maker.below(PATHS.len())].to_owned() };
    let uri = format!("{}{path}", url(maker));
    let mut request = Request::builder().method(METHODS[maker.below(METHODS.len())]).uri(uri);
    for _ in 0..maker.below(3) {
        request = request.header(HEADERS[maker.below(HEADERS.len())], maker.text());
    }
    request.body(()).ok()
}

fn address(maker: &mut Maker<'_>) -> IpAddr {
    let last = if maker.once_in(3) {
        [maker.byte(), maker.byte(), maker.byte(), maker.byte()]
    } else {
        LASTS[maker.below(LASTS.len())]
    };
    if maker.once_in(3) {
        return Ipv4Addr::from(last).into();
    }
    let [a, b, c, d, e, f] = PREFIXES[maker.below(PREFIXES.len())];
    let turned = maker.once_in(4);
    let [g, h] = [[last[0], last[1]], [last[2], last[3]]].map(u16::from_be_bytes);
    let (g, h) = if turned { (!g, !h) } else { (g, h) };
    Ipv6Addr::new(a, b, c, d, e, f, g, h).into()
}

/// The request that goes out says one thing only.
fn written(request: &Request<()>, target: &Target) {
    assert!(![Method::CONNECT, Method::TRACE].contains(request.method()), "{}", request.method());
    let path = form::path(request.uri()).expect("what goes out has a path");
    assert!(path.starts_with('/') && !path.starts_with("//") && !path.contains([' ', '\r', '\n']), "{path:?}");
    let sent: HeaderMap = form::headers(request.headers().clone(), target);
    let hosts: Vec<_> = sent.get_all("host").iter().collect();
    assert!(hosts.len() == 1 && hosts[0].to_str().is_ok_and(|host| host == target.authority()), "{hosts:?}");
    let next_hop = ["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect"];
    let is_for_next = |name: &HeaderName| next_hop.contains(&name.as_str()) || name.as_str().starts_with("proxy-");
    assert!(!sent.keys().any(is_for_next), "{sent:?}");
    let spelt = target.to_string();
    let (scheme, authority) = spelt.split_once("://").expect("a scheme");
    assert_eq!(Target::parse(scheme, authority).as_ref(), Some(target), "a target is what it is written as");
    let origin: Origin = spelt.parse().expect("a target is an origin without patterns");
    assert!(origin.matches(target));
}

/// Before it serves, a generation only reads, but for the paths of its login.
fn harmless(request: &Request<()>, grant: Option<&Grant>) {
    let turned = ["x-http-method", "x-http-method-override", "x-method-override", "x-original-method"];
    let reads = ["GET", "HEAD"].contains(&request.method().as_str())
        && !turned.iter().any(|name| request.headers().contains_key(*name));
    let is_login = grant.is_some_and(|grant| grant.login.iter().any(|path| path == request.uri().path()));
    assert!(reads || is_login, "{} {} before it serves", request.method(), request.uri());
}

/// Whether an origin, as it is written, is this target's: same scheme and port, the same name or one label more.
fn is_same(origin: &str, target: &Target) -> bool {
    let Some((scheme, rest)) = origin.split_once("://") else { return false };
    let port = if scheme == "https" { 443 } else { 80 };
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, digits)) if !digits.ends_with(']') => (host, digits.parse().unwrap_or(0)),
        _ => (rest, port),
    };
    let is_host = match (&target.host, host.strip_prefix("*.")) {
        (Host::Name(name), Some(domain)) => name
            .strip_suffix(domain)
            .and_then(|label| label.strip_suffix('.'))
            .is_some_and(|label| !label.is_empty() && !label.contains('.')),
        (there, _) => there.to_string() == host,
    };
    is_host && port == target.port && scheme == target.scheme.name()
}

/// Every address that somebody on the way could take this one for.
fn meanings(address: IpAddr) -> Vec<IpAddr> {
    let IpAddr::V6(six) = address else { return vec![address] };
    let bytes = six.octets();
    let four = |at: usize| IpAddr::from([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let mut meanings = match six.to_canonical() {
        IpAddr::V4(four) => return vec![four.into()],
        IpAddr::V6(_) => vec![address],
    };
    if bytes[..12] == [0; 12] && !six.is_unspecified() && !six.is_loopback() {
        meanings.push(four(12));
    }
    if bytes[..4] == [0, 0x64, 0xff, 0x9b] {
        meanings.push(four(12));
    }
    if bytes[..2] == [0x20, 2] {
        meanings.push(four(2));
    }
    if bytes[..4] == [0x20, 1, 0, 0] {
        meanings.push(four(4));
        meanings.push(IpAddr::from([!bytes[12], !bytes[13], !bytes[14], !bytes[15]]));
    }
    if bytes[8] & 0xfd == 0 && bytes[9] == 0 && bytes[10..12] == [0x5e, 0xfe] {
        meanings.push(four(12));
    }
    meanings
}

/// Whether no mode opens it, nor these ranges.
fn is_barred(address: IpAddr, ranges: &[Range]) -> bool {
    meanings(address).iter().any(|one| match one {
        IpAddr::V4(one) => {
            let is_granted = ranges.iter().any(|range| range.to_string() == one.to_string());
            one.octets()[0] == 0 || one.octets()[0] >= 224 || (METADATA.contains(&one.octets()) && !is_granted)
        }
        IpAddr::V6(one) => one.is_unspecified() || one.is_multicast(),
    })
}

/// Whether all that an address can be taken for is public, or in a range that was granted.
fn may_be_reached(address: IpAddr, ranges: &[Range]) -> bool {
    meanings(address).into_iter().all(|one| {
        let holding = ranges.iter().filter(|range| range.contains(one));
        match one {
            IpAddr::V4(one) if METADATA.contains(&one.octets()) => {
                holding.into_iter().any(|range| range.to_string() == one.to_string())
            }
            one if ranges.is_empty() => is_public(one),
            IpAddr::V4(one) => one.octets()[0] != 0 && one.octets()[0] < 224 && holding.count() > 0,
            IpAddr::V6(one) => !one.is_unspecified() && !one.is_multicast() && holding.count() > 0,
        }
    })
}

/// Whether an address is anybody's on the Internet, by the bits of the registries' main blocks.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            !(address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_documentation()
                || address.is_broadcast()
                || address.is_multicast()
                || a == 0
                || a >= 240
                || (a == 100 && b & 0xc0 == 64)
                || (a == 198 && b & 0xfe == 18)
                || (a == 192 && b == 0 && c == 0)
                || METADATA.contains(&address.octets()))
        }
        IpAddr::V6(address) => {
            let groups = address.segments();
            groups[0] & 0xe000 == 0x2000
                && groups[..2] != [0x2001, 0xdb8]
                && groups[..2] != [0x2001, 0]
                && groups[0] != 0x2002
                && !address.is_multicast()
        }
    }
}
