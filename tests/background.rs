//! Background work of a backend under a running host: when steps run, whom they keep waiting, what
//! they are put off for, and what becomes of them after failures and restarts.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::task::JoinSet;
use tonic::Code;

use crate::support::{Guest, Options, TestHost, expect, refused, requests};

/// A host whose steps may be held for as long as a busy machine needs.
async fn patient() -> TestHost {
    TestHost::start(Guest::TESTER, Options::default().limit("step-time", "60s")).await
}

/// Gives the backend work, each as `(id, record)` (guests/tester, `works.rs`).
async fn give(host: &TestHost, works: &[(&str, &str)]) {
    let keys: Vec<_> = works.iter().map(|(id, record)| (format!("set:work/{id}"), *record)).collect();
    let wishes: Vec<_> = keys.iter().map(|(key, record)| (key.as_str(), *record)).collect();
    host.control(&wishes).await;
}

/// Returns when the host has asked for work and started what it could: this work has no objects, so
/// nothing keeps it from running as soon as the host knows of it.
async fn let_the_host_look(host: &TestHost, beat: &str) {
    give(host, &[(beat, "due=0")]).await;
    host.entered(&format!("run-step {beat} 1"), 1).await;
}

fn milliseconds(time: SystemTime) -> u64 {
    u64::try_from(time.duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

#[tokio::test]
async fn steps_run_until_the_work_is_done() {
    let host = TestHost::tester().await;
    give(&host, &[("w", "due=0;objects=volume:vol-a:exclusive;do=again 3")]).await;
    host.entered("run-step w 3", 1).await;
    let_the_host_look(&host, "beat").await;
    assert_eq!(host.steps("w").await, 3);
}

#[tokio::test]
async fn many_changes_are_asked_about_now_and_then() {
    const CHANGES: usize = 200;
    let host = TestHost::tester().await;
    host.instruct("list-due", "host", "flood 1").await;
    host.log.wait("context=\"flood\"", 1).await;
    let (begin, before) = (Instant::now(), host.log.with("context=\"flood\"").len());
    let mut client = host.controller().await;
    for _ in 0..CHANGES {
        client.create_volume(requests::create("a")).await.unwrap();
    }
    let (asked, took) = (host.log.with("context=\"flood\"").len() - before, begin.elapsed());
    let most = took.as_millis() / 100 + 2;
    assert!(asked as u128 <= most, "asked {asked} times in {took:?}");
    // The last of them is not forgotten.
    host.log.wait("context=\"flood\"", before + asked + 1).await;
}

#[tokio::test]
async fn a_backend_that_is_to_be_asked_at_once_for_ever_is_asked_now_and_then() {
    const TIMES: usize = 10;
    let host = TestHost::tester().await;
    host.instruct("list-due", "host", "flood 1 then bad now").await;
    host.log.wait("context=\"flood\"", 1).await;
    let (begin, before) = (Instant::now(), host.log.with("context=\"flood\"").len());
    host.log.wait("context=\"flood\"", before + TIMES).await;
    let (asked, took) = (host.log.with("context=\"flood\"").len() - before, begin.elapsed());
    let most = took.as_millis() / 100 + 2;
    assert!(asked as u128 <= most, "asked {asked} times in {took:?}");
}

#[tokio::test]
async fn work_waits_for_its_time() {
    let host = TestHost::tester().await;
    let due = SystemTime::now() + Duration::from_millis(1_500);
    give(&host, &[("w", &format!("due={}", milliseconds(due)))]).await;
    let_the_host_look(&host, "beat").await;
    assert!(SystemTime::now() > due || host.entries("run-step w") == 0, "not before its time");
    host.entered("run-step w 1", 1).await;
    // The clocks of host and runner differ by less than a millisecond's rounding.
    assert!(SystemTime::now() + Duration::from_millis(5) > due);
}

#[tokio::test]
async fn a_call_waits_for_a_short_step() {
    let host = TestHost::tester().await;
    host.create(&["a"]).await;
    give(&host, &[("w", "due=0;objects=volume:vol-a:exclusive;do=wait 300")]).await;
    host.entered("run-step w 1", 1).await;
    host.controller().await.delete_volume(requests::delete("vol-a")).await.expect("it waits for the step");
}

#[tokio::test]
async fn a_call_does_not_wait_for_a_long_step() {
    let host = patient().await;
    host.create(&["a"]).await;
    give(&host, &[("w", "due=0;objects=volume:vol-a:exclusive;do=hold g")]).await;
    host.log.wait("holding g", 1).await;
    let begin = Instant::now();
    let status = refused(host.controller().await.delete_volume(requests::delete("vol-a")).await);
    let waited = begin.elapsed();
    expect(&status, Code::Aborted, "a background step is pending for volume \"vol-a\"");
    assert!(waited >= Duration::from_millis(500), "{waited:?}");
    assert_eq!(host.entries("delete-volume"), 0);
    host.open("g").await;
    let_the_host_look(&host, "beat").await;
    host.controller().await.delete_volume(requests::delete("vol-a")).await.expect("the step has ended");
}

#[tokio::test]
async fn a_step_that_reads_lets_others_read() {
    let host = patient().await;
    host.create(&["a"]).await;
    give(&host, &[("w", "due=0;objects=volume:vol-a:shared;do=hold g")]).await;
    host.log.wait("holding g", 1).await;
    let mut client = host.controller().await;
    client.create_snapshot(requests::snapshot("s", "vol-a")).await.unwrap();
    let status = refused(client.delete_volume(requests::delete("vol-a")).await);
    expect(&status, Code::Aborted, "volume \"vol-a\"");
    host.open("g").await;
}

#[tokio::test]
async fn no_more_steps_than_the_budget_and_a_heartbeat_beside_them() {
    let host = patient().await;
    let held = ["a", "b", "c"].map(|id| (id, format!("due=0;objects=volume:vol-{id}:exclusive;do=hold g")));
    give(&host, &held.each_ref().map(|(id, record)| (*id, record.as_str()))).await;
    host.log.wait("holding g", 2).await;
    let_the_host_look(&host, "beat").await;
    assert_eq!(host.log.with("holding g").len(), 2, "the budget is 2");
    host.open("g").await;
    for id in ["a", "b", "c"] {
        host.entered(&format!("run-step {id} 1"), 1).await;
    }
}

#[tokio::test]
async fn works_without_objects_have_places_of_their_own_and_no_more() {
    let host = patient().await;
    give(&host, &["a", "b", "c", "d"].map(|id| (id, "due=0;do=hold g"))).await;
    host.log.wait("holding g", 2).await;
    // A step on an object has a place beside them, and shows that the host has looked.
    give(&host, &[("w", "due=0;objects=volume:vol-w:exclusive")]).await;
    host.entered("run-step w 1", 1).await;
    assert_eq!(host.log.with("holding g").len(), 2, "the budget is 2");
    host.open("g").await;
    for id in ["a", "b", "c", "d"] {
        host.entered(&format!("run-step {id} 1"), 1).await;
    }
}

#[tokio::test]
async fn one_step_at_a_time_on_an_object() {
    let host = patient().await;
    let held = ["a", "b"].map(|id| (id, "due=0;objects=volume:vol-x:shared;do=hold g"));
    give(&host, &held).await;
    host.log.wait("holding g", 1).await;
    let_the_host_look(&host, "beat").await;
    assert_eq!(host.log.with("holding g").len(), 1);
    host.open("g").await;
    host.log.wait("released run-step", 2).await;
}

#[tokio::test]
async fn a_step_is_put_off_while_a_call_uses_its_object() {
    let host = TestHost::tester().await;
    host.create(&["a"]).await;
    host.instruct("delete-volume", "vol-a", "hold g").await;
    let mut client = host.controller().await;
    let mut held = JoinSet::new();
    held.spawn(async move { client.delete_volume(requests::delete("vol-a")).await });
    host.entered("delete-volume vol-a", 1).await;
    give(&host, &[("w", "due=0;objects=volume:vol-a:exclusive")]).await;
    let_the_host_look(&host, "beat").await;
    assert_eq!(host.entries("run-step w"), 0);
    host.open("g").await;
    host.entered("run-step w 1", 1).await;
    held.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(host.log.with("background step failed").len(), 0, "being put off is no failure");
}

#[tokio::test]
async fn a_failing_step_pauses_longer_each_time_and_alone() {
    let host = TestHost::tester().await;
    give(&host, &[("w", "due=0;objects=volume:vol-a:exclusive;do=fail 2")]).await;
    host.log.wait("background step failed", 1).await;
    let_the_host_look(&host, "beat").await;
    assert_eq!(host.entries("run-step w"), 1, "other work goes on meanwhile");
    host.entered("run-step w 3", 1).await;
    let at: Vec<_> = host.log.with("entered run-step w ").iter().map(|line| line.at).collect();
    let pauses = [at[1] - at[0], at[2] - at[1]];
    // 1 s and 2 s, less what the reader of the log may have lagged behind.
    assert!(pauses[0] > Duration::from_millis(800) && pauses[1] > Duration::from_millis(1_800), "{pauses:?}");
    assert_eq!(host.log.with("background step failed").len(), 2);
}

#[tokio::test]
async fn a_step_without_end_is_ended_and_frees_its_objects() {
    let host = TestHost::start(Guest::TESTER, Options::default().limit("step-time", "300ms")).await;
    host.create(&["a"]).await;
    give(&host, &[("w", "due=0;objects=volume:vol-a:exclusive;do=hold gate-that-never-opens")]).await;
    let line = host.log.wait("background step failed", 1).await;
    assert!(line.text.contains("took longer than a call may take"), "{}", line.text);
    host.control(&[("unset:work/w", "")]).await;
    host.controller().await.delete_volume(requests::delete("vol-a")).await.unwrap();
}

#[tokio::test]
async fn missed_runs_are_made_up_once() {
    const HOUR: u64 = 3_600_000;
    let mut host = TestHost::tester().await;
    let due = milliseconds(SystemTime::now()) - 10 * HOUR;
    let record = format!("due={due};objects=volume:vol-a:exclusive;every={HOUR}");
    // Nothing is due until the next start: the times pass while nobody can run the work.
    host.control(&[("set:paused", "yes"), ("set:work/nightly", &record)]).await;
    assert_eq!(host.steps("nightly").await, 0);
    for _ in 0..2 {
        host.kill().await;
        host.start_again().await;
        let_the_host_look(&host, "beat").await;
        assert_eq!(host.steps("nightly").await, 1);
        host.control(&[("unset:steps/beat", "")]).await;
    }
    let entries = host.control(&[("get:work/nightly", "")]).await;
    let next = entries["work/nightly"].split(['=', ';']).nth(1).unwrap().parse::<u64>().unwrap();
    assert!(next > milliseconds(SystemTime::now()) && (next - due).is_multiple_of(HOUR), "{next}");
}
