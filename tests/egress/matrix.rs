//! The matrix: destinations and tricks against grants. Each row says what the guest is told and what, if anything, gets
//! through to which address.

use super::net::{Arrival, Net};
use crate::support::{Guest, Options, TestHost, requests};

/// Grants of the host under test.
const GRANTS: &str = r#"http = [
  "http://none.pub.test", "http://*.pub.test", "http://*.pub.test:8080", "http://10.9.9.9:8080", "http://[fd99::9]:8080",
  { origin = "http://array.test", addresses = ["10.1.0.0/16"] },
  { origin = "https://array.test:8443", addresses = ["10.1.0.0/16"], ca = "CA" },
  { origin = "http://*.wild.test", addresses = ["10.1.0.0/16", "fd12::/32"] },
  { origin = "https://*.wild.test", addresses = ["10.1.0.0/16"], ca = "CA" },
  { origin = "https://other.test", addresses = ["10.1.0.0/16"], ca = "CA" },
  { origin = "http://*.meta.test", addresses = ["169.254.0.0/16", "fd00::/8"] },
  { origin = "http://*.nat.test", addresses = ["64:ff9b::/96", "64:ff9b:1::/48", "::/96", "2001::/32", "2002::/16", "8.8.8.0/24"] },
  { origin = "http://*.all.test", addresses = ["0.0.0.0/0", "::/0"] },
  { origin = "http://*.loop.test", addresses = ["127.0.0.0/8"] },
  { origin = "http://mixed.test", addresses = ["10.1.0.0/16"] },
  { origin = "http://rebind.test", addresses = ["10.1.0.0/16"] },
]"#;

/// What the guest must be told: parts of its words.
const OK: &str = "200 with 2 bytes";
const DENIED: &str = "HttpRequestDenied";
const PROHIBITED: &str = "DestinationIpProhibited";

/// What the guest is told to fetch, what it is told, and the address where something arrives; none: nothing does.
type Row = (&'static str, &'static str, Option<&'static str>);

const ROWS: &[Row] = &[
    // What is granted.
    ("GET http://array.test/", OK, Some("10.1.0.5")),
    ("POST http://array.test/x body=10", OK, Some("10.1.0.5")),
    ("DELETE http://array.test/x?y=z", OK, Some("10.1.0.5")),
    ("GET https://array.test:8443/", OK, Some("10.1.0.5")),
    ("GET http://ARRAY.test./", OK, Some("10.1.0.5")),
    ("GET http://array.test:80/", OK, Some("10.1.0.5")),
    ("GET http://v4-10-1-0-7.wild.test/", OK, Some("10.1.0.7")),
    ("GET http://v6-fd12--7.wild.test/", OK, Some("fd12::7")),
    ("GET https://v4-10-1-0-7.wild.test/", OK, Some("10.1.0.7")),
    ("GET http://10.9.9.9:8080/", OK, Some("10.9.9.9")),
    ("GET http://[fd99::9]:8080/", OK, Some("fd99::9")),
    ("GET http://[::ffff:10.9.9.9]:8080/", OK, Some("10.9.9.9")),
    ("GET http://v4-8-8-8-8.pub.test/", OK, Some("8.8.8.8")),
    ("GET http://v6-2606-4700--1111.pub.test/", OK, Some("2606:4700::1111")),
    ("GET http://v4-127-0-0-9.loop.test/", OK, Some("127.0.0.9")),
    ("GET http://v4-8-8-8-8.all.test/", OK, Some("8.8.8.8")),
    ("GET http://v6-64-ff9b--808-808.nat.test/", OK, Some("64:ff9b::808:808")),
    ("GET http://v4-169-254-1-1.meta.test/", OK, Some("169.254.1.1")),
    // Other origins.
    ("GET http://evil.test/", DENIED, None),
    ("GET http://array.test:8080/", DENIED, None),
    ("GET http://array.test:22/", DENIED, None),
    ("GET http://array.test:2375/", DENIED, None),
    ("GET https://array.test/", DENIED, None),
    ("GET https://array.test:9443/", DENIED, None),
    ("GET https://array.test:80/", DENIED, None),
    ("GET http://array.test:8443/", DENIED, None),
    ("GET http://array.test.evil.test/", DENIED, None),
    ("GET http://evil-array.test/", DENIED, None),
    ("GET http://wild.test/", DENIED, None),
    ("GET http://v4-10-1-0-7.a.wild.test/", DENIED, None),
    ("GET http://10.1.0.5/", DENIED, None),
    ("GET http://10.9.9.8:8080/", DENIED, None),
    ("GET http://169.254.169.254/latest", DENIED, None),
    ("GET http://127.0.0.1/", DENIED, None),
    ("GET http://localhost/", DENIED, None),
    ("GET http://[::1]/", DENIED, None),
    ("GET http://0.0.0.0/", DENIED, None),
    // Other spellings of addresses and authorities.
    ("GET http://2130706433/", DENIED, None),
    ("GET http://127.1/", DENIED, None),
    ("GET http://0x7f.0.0.1/", DENIED, None),
    ("GET http://0177.0.0.1/", DENIED, None),
    ("GET http://array.test@evil.test/", DENIED, None),
    ("GET http://evil.test@array.test/", DENIED, None),
    ("GET http://user:pass@array.test/", DENIED, None),
    ("GET http://array.test:80@evil.test/", DENIED, None),
    ("GET ftp://array.test/", DENIED, None),
    ("GET file://array.test/etc/passwd", DENIED, None),
    ("GET unix://array.test/run/docker.sock", DENIED, None),
    // Requests that mean somebody else.
    ("CONNECT http://array.test/", DENIED, None),
    ("CONNECT http://array.test/ path=evil.test:443", "path of the request", None),
    ("TRACE http://array.test/", DENIED, None),
    ("GET http://array.test/ path=http://evil.test/", "path of the request", None),
    ("GET http://array.test/ path=//evil.test/x", DENIED, None),
    ("GET http://array.test/ path=evil", "path of the request", None),
    ("GET http://array.test/ host:evil.test", "headers of the request", None),
    ("GET http://array.test/ Host:evil.test", "headers of the request", None),
    ("GET http://array.test/ connection:upgrade", "headers of the request", None),
    ("GET http://array.test/ upgrade:websocket", "headers of the request", None),
    ("GET http://array.test/ transfer-encoding:chunked", "headers of the request", None),
    ("GET http://array.test/ proxy-authorization:x", "headers of the request", None),
    ("GET http://array.test/upgrade", "HttpUpgradeFailed", Some("10.1.0.5")),
    ("GET http://array.test/redirect", "302 with 0 bytes", Some("10.1.0.5")),
    // Granted names with other addresses.
    ("GET http://v4-10-1-0-5.pub.test/", PROHIBITED, None),
    ("GET http://v4-192-168-0-1.pub.test/", PROHIBITED, None),
    ("GET http://v4-172-16-0-1.pub.test:8080/", PROHIBITED, None),
    ("GET http://v4-127-0-0-1.pub.test/", PROHIBITED, None),
    ("GET http://v4-127-8-8-8.pub.test/", PROHIBITED, None),
    ("GET http://v4-0-0-0-0.pub.test/", PROHIBITED, None),
    ("GET http://v4-169-254-169-254.pub.test/", PROHIBITED, None),
    ("GET http://v4-169-254-1-1.pub.test/", PROHIBITED, None),
    ("GET http://v4-100-64-0-1.pub.test/", PROHIBITED, None),
    ("GET http://v4-100-100-100-200.pub.test/", PROHIBITED, None),
    ("GET http://v4-168-63-129-16.pub.test/", PROHIBITED, None),
    ("GET http://v4-192-0-2-1.pub.test/", PROHIBITED, None),
    ("GET http://v4-198-18-0-1.pub.test/", PROHIBITED, None),
    ("GET http://v4-192-0-0-8.pub.test/", PROHIBITED, None),
    ("GET http://v6-2001-10--1.pub.test/", PROHIBITED, None),
    ("GET http://v4-224-0-0-1.pub.test/", PROHIBITED, None),
    ("GET http://v4-255-255-255-255.pub.test/", PROHIBITED, None),
    ("GET http://v6---1.pub.test/", PROHIBITED, None),
    ("GET http://v6---ffff-10-1-0-5.pub.test/", PROHIBITED, None),
    ("GET http://v6---ffff-a01-5.pub.test/", PROHIBITED, None),
    ("GET http://v6---ffff-a9fe-a9fe.pub.test/", PROHIBITED, None),
    ("GET http://v6---7f00-1.pub.test/", PROHIBITED, None),
    ("GET http://v6-64-ff9b--a9fe-a9fe.pub.test/", PROHIBITED, None),
    ("GET http://v6-64-ff9b--808-808.pub.test/", PROHIBITED, None),
    ("GET http://v6-2002-a01-5--1.pub.test/", PROHIBITED, None),
    ("GET http://v6-2001--1.pub.test/", PROHIBITED, None),
    ("GET http://v6-2001-db8--1.pub.test/", PROHIBITED, None),
    ("GET http://v6-fd12--1.pub.test/", PROHIBITED, None),
    ("GET http://v6-fd00-ec2--254.pub.test/", PROHIBITED, None),
    ("GET http://v6-fe80--1.pub.test/", PROHIBITED, None),
    ("GET http://v6-ff02--1.pub.test/", PROHIBITED, None),
    ("GET http://v4-10-2-0-1.wild.test/", PROHIBITED, None),
    ("GET http://v4-8-8-8-8.wild.test/", PROHIBITED, None),
    ("GET http://v4-10-1-0-5.all.test/", PROHIBITED, None),
    ("GET http://v4-169-254-169-254.meta.test/", PROHIBITED, None),
    ("GET http://v6-fd00-ec2--254.meta.test/", PROHIBITED, None),
    ("GET http://v6-64-ff9b--a9fe-a9fe.nat.test/", PROHIBITED, None),
    ("GET http://v6-2002-7f00-1--1.nat.test/", PROHIBITED, None),
    ("GET http://v6-64-ff9b-1--a9fe-a9fe.nat.test/", PROHIBITED, None),
    ("GET http://v6---7f00-1.nat.test/", PROHIBITED, None),
    // Teredo: the server's address would do, the client's is written with its bits turned over.
    ("GET http://v6-2001-0-808-808--5601-5601.nat.test/", PROHIBITED, None),
    // ISATAP, in a network that is granted.
    ("GET http://v6-fd12--5efe-a9fe-a9fe.wild.test/", PROHIBITED, None),
    ("GET http://none.pub.test/", "DnsError", None),
    // Names with more than one address, and with another one each time.
    ("GET http://mixed.test/", OK, Some("10.1.0.6")),
    ("GET http://rebind.test/close", OK, Some("10.1.0.5")),
    ("GET http://rebind.test/", PROHIBITED, None),
    // Whom TLS vouches for is the granted name.
    ("GET https://other.test/", "TlsCertificateError", None),
];

/// One row after the other, each with what has arrived by its end.
#[tokio::test]
async fn every_row_is_decided_as_the_table_says() {
    let table = [
        ("array.test", vec![vec!["10.1.0.5"]]),
        ("other.test", vec![vec!["10.1.0.5"]]),
        ("mixed.test", vec![vec!["169.254.169.254", "127.0.0.1", "10.1.0.6"]]),
        ("rebind.test", vec![vec!["10.1.0.5"], vec!["169.254.169.254"]]),
        ("evil.test", vec![vec!["10.1.0.5"]]),
    ];
    let Some(net) = Net::make(table.into()) else { return };
    let grants = GRANTS.replace('\n', " ").replace("CA", net.ca().to_str().unwrap());
    let options = Options::default().grant(&grants).started_by(net.prefix());
    let host = TestHost::start(Guest::TESTER, options).await;
    assert!(ROWS.len() >= 60);
    let mut wrong = Vec::new();
    for (n, (words, told, reached)) in ROWS.iter().enumerate() {
        let before = net.arrivals().len();
        let said = fetch(&host, &format!("row-{n}"), words).await;
        let arrived: Vec<_> =
            net.arrivals().split_off(before).into_iter().map(|arrival| arrival.to.to_string()).collect();
        let expected: Vec<_> = reached.iter().map(|text| (*text).to_owned()).collect();
        if !said.contains(told) || arrived != expected {
            wrong
                .push(format!("{words}: the guest was told {said}, not {told}; reached {arrived:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Who is spoken to was never the guest's to say, and nobody asked for a name that is not granted.
    let hosts = |arrival: &Arrival| arrival.head.lines().filter(|line| line.starts_with("host: ")).count();
    assert!(net.arrivals().iter().all(|arrival| hosts(arrival) == 1 && !arrival.head.contains("evil")));
    assert!(net.asked().iter().all(|name| !name.contains("evil") && name != "localhost"), "{:?}", net.asked());
}

/// What the guest was told when it did what the words say.
pub async fn fetch(host: &TestHost, object: &str, words: &str) -> String {
    host.instruct("delete-volume", object, &format!("fetch {words}")).await;
    host.controller().await.delete_volume(requests::delete(object)).await.expect("what a fetch comes to is no error");
    host.log.wait(&format!("for {object}: "), 1).await.text
}
