//! The breaker on a running host: what opens it and what does not, who is told, how it closes, and what a swap
//! and a rollback make of it.

use std::time::Duration;

use tonic::Code;

use crate::support::shelf::{Shelf, stamped, version};
use crate::support::{Guest, Options, PATIENCE, TestHost, expect, refused, requests};

const REFUSED: &str = "failed call after call";

/// A host whose breaker opens after three calls, and a backend that spoils as many by this word.
async fn opened(options: Options, word: &str, code: Code) -> TestHost {
    let host = TestHost::start(Guest::TESTER, options.limit("failures", "3")).await;
    // Beforehand: an instruction is a call that goes well.
    for n in 0..3 {
        host.instruct("create-volume", &format!("bad-{n}"), word).await;
    }
    let mut client = host.controller().await;
    for n in 0..3 {
        let status = refused(client.create_volume(requests::create(&format!("bad-{n}"))).await);
        expect(&status, code, "the backend");
    }
    let status = refused(client.create_volume(requests::create("good")).await);
    expect(&status, Code::Unavailable, REFUSED);
    host
}

/// How long a client waits before it repeats a call.
const PAUSE: Duration = Duration::from_millis(20);

/// Repeats a call as clients do until it is let in.
async fn let_in(host: &TestHost, name: &str) -> Result<(), tonic::Status> {
    let mut client = host.controller().await;
    let repeated = async {
        loop {
            match client.create_volume(requests::create(name)).await {
                Err(status) if status.message().contains(REFUSED) => {
                    assert_eq!(status.code(), Code::Unavailable);
                    tokio::time::sleep(PAUSE).await;
                }
                answer => return answer.map(drop),
            }
        }
    };
    tokio::time::timeout(PATIENCE, repeated).await.expect("a call is let in")
}

async fn state(host: &TestHost) -> String {
    host.status().await["breaker"]["state"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_series_of_traps_opens_it_and_one_success_closes_it() {
    let host = opened(Options::default(), "trap", Code::Unavailable).await;
    host.log.wait("breaker open", 1).await;
    let status = host.status().await;
    assert_ne!(status["breaker"]["state"], "closed", "{status:#}");
    assert!(status["errors"].as_u64().unwrap() >= 4, "what is refused counts as what it stands for: {status:#}");
    let (code, people) = host.operate(&["status"]).await;
    assert!(code == 1 && people.contains("calls are refused after a series"), "{people}");

    let_in(&host, "good").await.unwrap();
    host.log.wait("breaker closed", 1).await;
    assert_eq!(state(&host).await, "closed");
    host.create(&["another"]).await;
}

#[tokio::test]
async fn timeouts_and_malformed_answers_open_it_as_well() {
    let hanging = Options::default().limit("change-time", "200ms");
    opened(hanging, "hold gate-that-never-opens", Code::DeadlineExceeded).await;
    opened(Options::default(), "bad id", Code::Unavailable).await;
}

#[tokio::test]
async fn an_attempt_that_fails_doubles_the_pause() {
    let host = opened(Options::default(), "trap", Code::Unavailable).await;
    // The first call that is let in is spoiled, too.
    let spoiled = let_in(&host, "bad-0").await.unwrap_err();
    expect(&spoiled, Code::Unavailable, "crashed");
    let second = host.log.wait("breaker open", 2).await;
    assert!(second.text.contains("pause=2000"), "{}", second.text);
    let_in(&host, "good").await.unwrap();
}

#[tokio::test]
async fn codes_of_the_backend_never_open_it() {
    let host = TestHost::start(Guest::TESTER, Options::default().limit("failures", "2")).await;
    for (n, code) in ["unavailable", "internal", "aborted", "resource-exhausted"].iter().enumerate() {
        host.instruct("create-volume", &format!("no-{n}"), &format!("refuse {code}")).await;
    }
    let mut client = host.controller().await;
    for round in 0..3 {
        for n in 0..4 {
            let status = refused(client.create_volume(requests::create(&format!("no-{n}"))).await);
            assert!(!status.message().contains(REFUSED), "round {round}: {status:?}");
        }
    }
    assert_eq!(state(&host).await, "closed");
    assert_eq!(host.status().await["breaker"]["series"], 0);
}

#[tokio::test]
async fn a_new_generation_begins_with_a_closed_one() {
    let shelf = Shelf::with(&stamped(Guest::TESTER, &[("version", &version(1)), ("mood", "good")]));
    let host = opened(Options::default().component(&shelf.file()), "trap", Code::Unavailable).await;
    shelf.replace(&stamped(Guest::TESTER, &[("version", &version(2)), ("mood", "good")]));
    host.log.wait("generation serves", 2).await;
    assert_eq!(state(&host).await, "closed");
    // Not even the pause of the old one is waited for.
    host.create(&["good"]).await;
}

/// The trial needs three bad calls and a breaker of two lets no third one in: what it refuses stands for it.
#[tokio::test]
async fn a_breaker_that_opens_first_does_not_save_a_generation_on_trial() {
    let shelf = Shelf::with(&stamped(Guest::TESTER, &[("version", &version(1)), ("mood", "good")]));
    let options = Options::default().limit("failures", "2").component(&shelf.file());
    let host = TestHost::start(Guest::TESTER, options).await;
    host.create(&["before"]).await;
    for name in ["bad-0", "bad-1"] {
        host.instruct("create-volume", name, "times 1 trap").await;
    }
    shelf.replace(&stamped(Guest::TESTER, &[("version", &version(2)), ("mood", "good")]));
    host.log.wait("generation serves", 2).await;
    let mut client = host.controller().await;
    for name in ["bad-0", "bad-1"] {
        expect(&refused(client.create_volume(requests::create(name)).await), Code::Unavailable, "crashed");
    }
    // Refused, and counted: the generation goes back, and the old one serves with a closed breaker.
    let status = refused(client.create_volume(requests::create("third")).await);
    expect(&status, Code::Unavailable, REFUSED);
    host.log.wait("generation serves", 3).await;
    host.create(&["third"]).await;
    let history = host.history().await;
    assert!(history[0]["why"].to_string().contains("rolled back in its trial"), "{history:#?}");
}
