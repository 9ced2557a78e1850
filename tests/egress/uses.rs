//! What is said of the uses of egress, and what a generation may do before it serves.

use super::matrix::fetch;
use super::net::Net;
use crate::support::{Guest, Options, TestHost};

const GRANT: &str = r#"http = [{ origin = "http://array.test", addresses = ["10.1.0.0/16"], login = ["/api/login"] }]"#;

fn net() -> Option<Net> {
    Net::make([("array.test", vec![vec!["10.1.0.5"]]), ("evil.test", vec![vec!["10.1.0.9"]])].into())
}

#[tokio::test]
async fn without_a_grant_nothing_goes_out() {
    let Some(net) = net() else { return };
    let host = TestHost::start(Guest::TESTER, Options::default().started_by(net.prefix())).await;
    host.log.wait("no origin is granted: all will be refused", 1).await;
    assert!(fetch(&host, "any", "GET http://array.test/").await.contains("HttpRequestDenied"));
    host.log.wait("why=\"no-grant\"", 1).await;
    assert!(net.arrivals().is_empty() && net.asked().is_empty());
}

/// Report-only: what enforcing would refuse goes through and is said; what is no matter of grants is refused all the same.
#[tokio::test]
async fn report_only_shows_what_enforcing_would_refuse() {
    let Some(net) = net() else { return };
    let options = Options::default().grant(GRANT).grant("http-mode = \"report\"").started_by(net.prefix());
    let host = TestHost::start(Guest::TESTER, options).await;
    host.log.wait("http-mode is report", 1).await;
    for (object, words, told, verdict) in [
        ("granted", "GET http://array.test/", "200", "verdict=\"allowed\""),
        ("origin", "GET http://evil.test/", "200", "verdict=\"reported\" why=\"origin\""),
        ("address", "GET http://192.168.1.1:8080/", "200", "verdict=\"reported\" why=\"origin\""),
        ("metadata", "GET http://169.254.169.254/", "DestinationIpProhibited", "verdict=\"refused\" why=\"address\""),
        ("form", "TRACE http://evil.test/", "HttpRequestDenied", "verdict=\"refused\" why=\"form\""),
        // To resolvers an address of this machine.
        ("number", "GET http://2130706433/", "HttpRequestDenied", "verdict=\"refused\" why=\"form\""),
    ] {
        let before = host.log.with(verdict).len();
        assert!(fetch(&host, object, words).await.contains(told), "{words}");
        host.log.wait(verdict, before + 1).await;
    }
    let reached: Vec<_> = net.arrivals().iter().map(|arrival| arrival.to.to_string()).collect();
    assert_eq!(reached, ["10.1.0.5", "10.1.0.9", "192.168.1.1"]);
}

#[tokio::test]
async fn every_use_is_in_the_audit_log_without_what_is_secret() {
    let Some(net) = net() else { return };
    // A filter that does not name it does not silence it.
    let options = Options::default().grant(GRANT).log("warn,drivebay=info,guest=info").started_by(net.prefix());
    let host = TestHost::start(Guest::TESTER, options).await;
    let words = "POST http://array.test/api/token-in-path?token-in-query authorization:token-in-header body=1000";
    assert!(fetch(&host, "use", words).await.contains("200"));
    let line = host.log.wait("http request", 1).await.text;
    for part in [
        "audit:",
        "backend=\"under-test\"",
        "generation=\"1\"",
        "call=\"",
        "method=\"POST\"",
        "origin=\"http://array.test:80\"",
        "address=10.1.0.5:80",
        "status=200",
        "sent=1000",
        "received=2",
        "ms=",
        "verdict=\"allowed\"",
    ] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
    assert!(!line.contains("token-in"), "{line}");
    assert!(fetch(&host, "away", "GET http://user:hunter2@evil.test/").await.contains("HttpRequestDenied"));
    host.log.wait("verdict=\"refused\"", 1).await;
    assert!(!host.log.text().contains("hunter2"));
}

/// The look before activation reads and logs in, and changes nothing; the same generation may, once it serves.
#[tokio::test]
async fn before_it_serves_a_generation_only_reads_and_logs_in() {
    let Some(net) = net() else { return };
    let mut host = TestHost::start(Guest::TESTER, Options::default().grant(GRANT).started_by(net.prefix())).await;
    let words = "fetch POST http://array.test/api/login then fetch HEAD http://array.test/a then fetch POST http://array.test/b";
    host.instruct("self-test", "host", words).await;
    host.stop().await;
    // Other settings: it is tried as one that has never served.
    let file = host.file();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("settings = {", "settings = { new = true")).unwrap();
    let before = net.arrivals().len();
    host.start_again().await;
    let refused = host.log.wait("why=\"trial\"", 1).await.text;
    assert!(refused.contains("method=\"POST\"") && refused.contains("call=\""), "{refused}");
    let seen: Vec<_> = net.arrivals().split_off(before).iter().map(|arrival| arrival.head[..9].to_owned()).collect();
    assert_eq!(seen, ["POST /api", "HEAD /a H"]);
    assert!(fetch(&host, "serving", "POST http://array.test/b").await.contains("200"));
}
