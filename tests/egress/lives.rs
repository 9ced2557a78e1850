//! Requests and the lives of what sends them: a generation that is tried beside the one that serves, a call that ends before
//! its request does, a body that is too long, calls that wait. Nothing here is measured; what waits is let go by the test.

use drivebay_proto::pb::csi::v1::GetCapacityRequest;
use tokio::task::JoinSet;
use tonic::Code;

use super::matrix::fetch;
use super::net::Net;
use crate::support::shelf::{Shelf, stamped, version};
use crate::support::{Guest, Options, PATIENCE, TestHost, expect, refused, requests};

const GRANT: &str = r#"http = [{ origin = "http://array.test", addresses = ["10.1.0.0/16"], login = ["/api/login"] }]"#;
const WAITING: usize = 200;

fn net() -> Option<Net> {
    Net::make([("array.test", vec![vec!["10.1.0.5"]])].into())
}

fn granted(net: &Net) -> Options {
    Options::default().grant(GRANT).started_by(net.prefix())
}

fn tester(n: usize) -> Vec<u8> {
    stamped(Guest::TESTER, &[("version", &version(n))])
}

/// A host whose backend can be replaced.
async fn on_a_shelf(options: Options) -> (Shelf, TestHost) {
    let shelf = Shelf::with(&tester(1));
    let host = TestHost::start(Guest::TESTER, options.component(&shelf.file())).await;
    (shelf, host)
}

/// Audit lines of a generation with this in them.
fn audit(host: &TestHost, generation: &str, text: &str) -> usize {
    let generation = format!("generation=\"{generation}\"");
    let lines = host.log.with("http request");
    lines.iter().filter(|line| line.text.contains(&generation) && line.text.contains(text)).count()
}

/// The same words to both: the one that serves may do all of it, its shadow reads and logs in, and once it serves it may do
/// all of it as well.
#[tokio::test]
async fn a_shadow_reads_and_logs_in_until_it_serves() {
    let Some(net) = net() else { return };
    let (shelf, host) = on_a_shelf(granted(&net)).await;
    let words = "fetch POST http://array.test/api/login then fetch GET http://array.test/a then fetch HEAD http://array.test/a \
                 then fetch POST http://array.test/b then fetch DELETE http://array.test/api/login/x \
                 then fetch GET http://array.test/c x-http-method-override:DELETE";
    host.instruct("get-capacity", "host", words).await;
    // A swap first: whatever the watcher has to say of the file, it has said then.
    shelf.replace(&tester(2));
    host.log.wait("generation serves", 2).await;
    let file = shelf.beside("next.wasm");
    std::fs::write(&file, tester(3)).unwrap();
    host.told(&["reload", "under-test", "--component", file.to_str().unwrap(), "--shadow", "1s"]).await;
    host.log.wait("shadow: it hears what is asked", 1).await;
    host.controller().await.get_capacity(GetCapacityRequest::default()).await.expect("it answers");
    host.log.wait("generation serves", 3).await;
    assert_eq!((audit(&host, "2", "verdict=\"allowed\""), audit(&host, "2", "refused")), (6, 0));
    assert_eq!((audit(&host, "3", "verdict=\"allowed\""), audit(&host, "3", "why=\"trial\"")), (3, 3));
    let seen = |words: &str| net.arrivals().iter().filter(|arrival| arrival.head.starts_with(words)).count();
    assert_eq!((seen("POST /api/login "), seen("GET /a "), seen("POST /b "), seen("DELETE ")), (2, 2, 1, 1));
    assert_eq!(seen("GET /c "), 1, "a server may take it for the method that its header names");
    host.controller().await.get_capacity(GetCapacityRequest::default()).await.expect("it answers");
    assert_eq!((seen("POST /b "), seen("DELETE "), seen("GET /c ")), (2, 2, 2));
    host.log.wait("http request", 18).await;
    assert_eq!(audit(&host, "3", "verdict=\"allowed\""), 9);
}

/// A call that was ended at the end of the drain's time left a request behind that may change something: it comes to its answer,
/// and the volume stays locked until then.
#[tokio::test]
async fn a_request_that_may_change_something_outlives_its_guest() {
    let Some(net) = net() else { return };
    let (shelf, host) = on_a_shelf(granted(&net).section("[backend.drain]\ntime = \"300ms\"")).await;
    host.instruct("delete-volume", "a", "times 1 fetch POST http://array.test/hold body=10").await;
    let mut client = host.controller().await;
    let mut calls = JoinSet::new();
    calls.spawn(async move { client.delete_volume(requests::delete("a")).await });
    net.arrived("/hold", 1).await;
    shelf.replace(&tester(2));
    let status = refused(calls.join_next().await.unwrap().unwrap());
    expect(&status, Code::Unavailable, "because the backend was replaced");
    let status = refused(host.controller().await.delete_volume(requests::delete("a")).await);
    expect(&status, Code::Aborted, "DeleteVolume is pending");
    net.open();
    let line = host.log.wait("http request", 1).await.text;
    assert!(line.contains("method=\"POST\"") && line.contains("status=200"), "{line}");
    deleted(&host, "a").await;
}

/// As clients do: the lock goes a moment after the answer has come.
async fn deleted(host: &TestHost, volume: &str) {
    let trying = async {
        while let Err(status) = host.controller().await.delete_volume(requests::delete(volume)).await {
            expect(&status, Code::Aborted, "DeleteVolume is pending");
        }
    };
    tokio::time::timeout(PATIENCE, trying).await.expect("the lock goes");
}

#[tokio::test]
async fn a_request_that_reads_ends_with_its_guest() {
    let Some(net) = net() else { return };
    let (shelf, host) = on_a_shelf(granted(&net).section("[backend.drain]\ntime = \"300ms\"")).await;
    host.instruct("delete-volume", "a", "times 1 fetch GET http://array.test/watch").await;
    let mut client = host.controller().await;
    let mut calls = JoinSet::new();
    calls.spawn(async move { client.delete_volume(requests::delete("a")).await });
    net.arrived("/watch", 1).await;
    shelf.replace(&tester(2));
    refused(calls.join_next().await.unwrap().unwrap());
    net.arrived("closed", 1).await;
    let line = host.log.wait("http request", 1).await.text;
    assert!(!line.contains("status=") && line.contains("end=\"left\""), "{line}");
    deleted(&host, "a").await;
}

/// A client that goes away changes nothing.
#[tokio::test]
async fn a_request_outlives_its_client() {
    let Some(net) = net() else { return };
    let host = TestHost::start(Guest::TESTER, granted(&net)).await;
    host.instruct(
        "delete-volume",
        "a",
        "times 1 fetch POST http://array.test/hold then fetch PUT http://array.test/after",
    )
    .await;
    let mut client = host.controller().await;
    let mut calls = JoinSet::new();
    calls.spawn(async move { client.delete_volume(requests::delete("a")).await });
    net.arrived("/hold", 1).await;
    calls.shutdown().await;
    let status = refused(host.controller().await.delete_volume(requests::delete("a")).await);
    expect(&status, Code::Aborted, "DeleteVolume is pending");
    net.open();
    net.arrived("/after", 1).await;
    deleted(&host, "a").await;
}

/// The guest hears of it inside its call, and has time left to say so.
#[tokio::test]
async fn a_request_waits_no_longer_than_its_call() {
    let Some(net) = net() else { return };
    let host = TestHost::start(Guest::TESTER, granted(&net).limit("http-time", "200ms")).await;
    for (object, words) in [
        ("held", "GET http://array.test/watch"),
        ("posted", "POST http://array.test/watch body=1"),
        ("impatient", "GET http://array.test/watch wait=20"),
    ] {
        assert!(fetch(&host, object, words).await.contains("HttpResponseTimeout"), "{words}");
    }
    assert_eq!(host.log.with("end=\"time\"").len(), 3);
    net.arrived("closed", 3).await;
    assert!(fetch(&host, "next", "GET http://array.test/").await.contains("200"));
}

/// The call's end comes first: nothing that it began goes on.
#[tokio::test]
async fn a_request_ends_with_the_time_of_its_call() {
    let Some(net) = net() else { return };
    let host = TestHost::start(Guest::TESTER, granted(&net).limit("change-time", "500ms")).await;
    host.instruct("delete-volume", "a", "times 1 fetch POST http://array.test/watch").await;
    let status = refused(host.controller().await.delete_volume(requests::delete("a")).await);
    assert!(matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded), "{status:?}");
    net.arrived("closed", 1).await;
    deleted(&host, "a").await;
}

#[tokio::test]
async fn bodies_are_bounded_both_ways() {
    let Some(net) = net() else { return };
    let options = granted(&net).limit("http-request", "1KiB").limit("http-response", "1KiB");
    let host = TestHost::start(Guest::TESTER, options).await;
    for (n, (words, told)) in [
        ("POST http://array.test/fits body=1024", "200 with 2 bytes"),
        ("POST http://array.test/more-than-fits body=1025", "HttpRequestBodySize"),
        ("POST http://array.test/much-more body=300000", "HttpRequestBodySize"),
        ("GET http://array.test/kilobyte", "200 with 1024 bytes"),
        ("GET http://array.test/more", "HttpResponseBodySize"),
        ("GET http://array.test/pieces", "HttpResponseBodySize"),
    ]
    .into_iter()
    .enumerate()
    {
        let said = fetch(&host, &format!("row-{n}"), words).await;
        assert!(said.contains(told), "{words}: {said}");
    }
    let whole = |path: &str| net.arrivals().iter().filter(|arrival| arrival.head.contains(path)).count();
    assert_eq!((whole("/fits"), host.log.with("sent=1024").len(), host.log.with("received=1024").len()), (1, 1, 1));
}

/// Larger than what the host takes at once: it goes out while the guest still writes.
#[tokio::test]
async fn a_large_body_arrives_whole() {
    let Some(net) = net() else { return };
    let host = TestHost::start(Guest::TESTER, granted(&net)).await;
    for bytes in [65_536, 65_537, 1_000_000] {
        let words = format!("POST http://array.test/large body={bytes}");
        assert!(fetch(&host, &format!("large-{bytes}"), &words).await.contains("200 with 2 bytes"));
        host.log.wait(&format!("sent={bytes} "), 1).await;
    }
    net.arrived("/large", 3).await;
}

/// 200 calls wait for the array; everybody else is answered meanwhile, and then they are.
#[tokio::test]
async fn calls_that_wait_block_no_other_call() {
    let Some(net) = net() else { return };
    let options = granted(&net).limit("calls", "400").limit("http-connections", "200");
    let host = TestHost::start(Guest::TESTER, options).await;
    let mut calls = JoinSet::new();
    for n in 0..WAITING {
        let name = format!("waits-{n}");
        host.instruct("delete-volume", &name, "fetch GET http://array.test/hold").await;
        let mut client = host.controller().await;
        calls.spawn(async move { client.delete_volume(requests::delete(&name)).await });
    }
    net.arrived("/hold", WAITING).await;
    host.create(&["other", "another"]).await;
    host.controller().await.get_capacity(GetCapacityRequest::default()).await.expect("it answers");
    host.controller().await.delete_volume(requests::delete("vol-other")).await.expect("it answers");
    assert!(calls.try_join_next().is_none(), "all of them wait");
    net.open();
    while let Some(answer) = calls.join_next().await {
        answer.unwrap().expect("it was only slow");
    }
    assert_eq!(host.log.with("200 with 2 bytes").len(), WAITING);
}
