//! `/metrics` as a scraper reads it.

use std::io::{Read, Write};

use super::*;

/// The page, as a client without libraries would read it.
fn scrape(host: &TestHost) -> String {
    let line = host.log.with("metrics at /metrics").remove(0).text;
    let address = line.split("address=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    page
}

fn value(page: &str, series: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{series} is not in:\n{page}")).parse().unwrap()
}

#[tokio::test]
async fn everything_that_happens_is_counted() {
    let (shelf, host) = host(Options::default().metrics()).await;
    serving(&host, "a").await;
    host.instruct("create-volume", "b", "trap").await;
    host.controller().await.create_volume(requests::create("b")).await.unwrap_err();
    shelf.replace(&tester(2, "self"));
    host.log.wait("refused: ", 1).await;
    shelf.replace(&tester(3, "good"));
    swapped(&host, 2).await;
    host.told(&["rollback", "under-test"]).await;

    let page = scrape(&host);
    let of = |rest: &str| format!("{{backend=\"under-test\"{rest}}}");
    let method = |code: &str| of(&format!(",method=\"CreateVolume\",code=\"{code}\""));
    let counted = [
        (format!("drivebay_calls_total{}", method("UNAVAILABLE")), 1.0),
        (format!("drivebay_traps_total{}", of(",kind=\"trap\"")), 1.0),
        (format!("drivebay_refusals_total{}", of(",id=\"self-test-failed\"")), 1.0),
        (format!("drivebay_swaps_total{}", of("")), 3.0),
        (format!("drivebay_rollbacks_total{}", of(",by=\"operator\"")), 1.0),
        (format!("drivebay_generation{}", of("")), 1.0),
        (format!("drivebay_instances_limit{}", of("")), 128.0),
    ];
    for (series, expected) in counted {
        assert!((value(&page, &series) - expected).abs() < f64::EPSILON, "{series}: {page}");
    }
    let some = [
        format!("drivebay_calls_total{}", method("OK")),
        format!("drivebay_call_duration_seconds_count{}", of(",method=\"CreateVolume\"")),
        format!("drivebay_instantiation_seconds_count{}", of("")),
        "drivebay_compile_seconds_count".to_owned(),
        format!("drivebay_state_bytes{}", of("")),
    ];
    for series in some {
        assert!(value(&page, &series) > 0.0, "{series}: {page}");
    }
    assert!(page.contains("# EOF"), "it is whole");
}
