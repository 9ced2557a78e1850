//! Every limit of a backend and a guest that runs into it: the call ends in words with the code of an
//! unknown outcome, and the host and its other calls go on.

use std::time::{Duration, Instant};

use tonic::Code;

use crate::support::{Guest, Options, TestHost, expect, refused, requests};

/// A host with one limit, and a guest that is told to run into it. Everybody else is served after.
async fn runs_into(options: Options, word: &str, code: Code, words: &str) -> TestHost {
    let host = TestHost::start(Guest::TESTER, options).await;
    host.instruct("create-volume", "greedy", word).await;
    let mut client = host.controller().await;
    let status = refused(client.create_volume(requests::create("greedy")).await);
    expect(&status, code, words);
    host.create(&["modest"]).await;
    host
}

#[tokio::test]
async fn computing_without_end() {
    let begin = Instant::now();
    let options = Options::default().limit("cpu", "200ms");
    runs_into(options, "loop", Code::DeadlineExceeded, "used up its CPU time").await;
    // The default is 10 s; what the limit says must have ended it.
    assert!(begin.elapsed() < Duration::from_secs(9), "{:?}", begin.elapsed());
}

/// A guest that sleeps and looks again costs no CPU time, however often it looks.
#[tokio::test]
async fn waiting_is_not_computing() {
    let host = TestHost::start(Guest::TESTER, Options::default().limit("cpu", "300ms")).await;
    // Each look lies in a tick of its own: charged by the tick, sixty of them are 600 ms.
    host.instruct("create-volume", "patient", "nap 60").await;
    host.create(&["patient"]).await;
}

#[tokio::test]
async fn waiting_without_end() {
    let options = Options::default().limit("change-time", "500ms");
    runs_into(options, "hold gate-that-never-opens", Code::DeadlineExceeded, "took longer than a call may take").await;
}

#[tokio::test]
async fn memory() {
    let options = Options::default().limit("memory", "16MiB");
    runs_into(options, "allocate 64", Code::Unavailable, "wanted more memory").await;
}

#[tokio::test]
async fn stack() {
    runs_into(Options::default(), "recurse 10000000", Code::Unavailable, "recursed too deep").await;
}

#[tokio::test]
async fn bytes_in_host_calls() {
    let options = Options::default().limit("crossing-total", "8MiB");
    runs_into(options, "cross 32", Code::Unavailable, "moved more data").await;
}

#[tokio::test]
async fn bytes_of_one_crossing() {
    let options = Options::default().limit("crossing", "256KiB");
    runs_into(options, "cross 1", Code::Unavailable, "moved more data").await;
}

#[tokio::test]
async fn state() {
    let options = Options::default().limit("state", "2MiB");
    let host = runs_into(options, "fill 8", Code::ResourceExhausted, "quota").await;
    // What was written before the quota was reached is the guest's to remove.
    host.control(&[("unset:fill/0", ""), ("unset:act/create-volume/greedy", "")]).await;
    host.create(&["greedy"]).await;
}

#[tokio::test]
async fn handles() {
    let pool = tempfile::tempdir().unwrap();
    std::fs::write(pool.path().join("file"), b"data").unwrap();
    let grant = format!("directories = [{{ host = \"{}\", guest = \"/pool\" }}]", pool.path().display());
    let options = Options::default().limit("handles", "64").grant(&grant);
    runs_into(options, "open 1000 /pool/file", Code::Unavailable, "more handles").await;
}

#[tokio::test]
async fn ending_itself() {
    runs_into(Options::default(), "exit", Code::Unavailable, "ended itself").await;
}

/// A flood of log lines is dropped and counted; the call itself is none the wiser.
#[tokio::test]
async fn log() {
    let host =
        TestHost::start(Guest::TESTER, Options::default().limit("log-rate", "1KiB").limit("log-burst", "64KiB")).await;
    host.instruct("create-volume", "loud", "flood 5000").await;
    host.create(&["loud"]).await;
    let lines = host.log.with("context=\"flood\"").len();
    assert!((10..80).contains(&lines), "{lines} lines of 1 KB in 64 KiB");
    // Nothing more is said by this guest; that lines are missing is told all the same, each of them once.
    for said in 1.. {
        host.log.wait("log lines of the backend were dropped", said).await;
        let told: usize = host.log.with("were dropped").iter().map(|line| dropped(&line.text)).sum();
        if host.log.with("context=\"flood\"").len() + told >= 5_000 {
            break;
        }
    }
}

/// How many lines a line of the log says were dropped.
fn dropped(line: &str) -> usize {
    let number = line.split("lines=").nth(1).unwrap_or_else(|| panic!("no number in: {line}"));
    number.split_whitespace().next().unwrap().parse().unwrap()
}
