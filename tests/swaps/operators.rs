//! The operator's commands and words: status, history, pin, drain, stop, SIGHUP, and what is said when a
//! command makes no sense.

use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal, kill_process};
use tonic::Code;

use serde_json::json;

use super::*;
use crate::support::{expect, refused};

#[tokio::test]
async fn status_and_history_tell_what_serves_and_why() {
    let (shelf, host) = host(Options::default()).await;
    let mode = std::fs::metadata(host.admin()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "operators only");
    shelf.replace(&tester(2, "good"));
    swapped(&host, 2).await;
    serving(&host, "a").await;
    let status = host.status().await;
    let digest = format!("sha256:{}", drivebay_backend::digest_of(&tester(2, "good")));
    assert_eq!((&status["digest"], &status["version"]), (&json!(digest), &json!(version(2))));
    assert_eq!((&status["generation"], &status["ready"], &status["state"]), (&json!(2), &json!(1), &json!("trial")));
    assert!(status["calls"].as_u64().unwrap() >= 1, "{status:#?}");
    let history = host.history().await;
    let told: Vec<_> = history.iter().map(|row| (row["generation"].as_u64().unwrap(), &row["why"])).collect();
    assert_eq!(told, [(2, &json!("the file changed")), (1, &json!("the host started"))]);
    let table = host.told(&["status"]).await;
    assert!(table.starts_with("NAME") && table.contains("under-test"), "{table}");
    host.told(&["history", "under-test"]).await;
}

#[tokio::test]
async fn commands_without_sense_are_answered_in_words() {
    let (_shelf, host) = host(Options::default()).await;
    let (code, words) = host.operate(&["reload", "other"]).await;
    assert_eq!(code, 2, "{words}");
    assert!(words.contains("no backend \"other\"") && words.contains("under-test"), "{words}");
    host.refused(&["rollback", "under-test"], "nothing-to-roll-back-to").await;
    let (code, words) = host.operate(&["pin", "under-test", "md5:1"]).await;
    assert_eq!(code, 2, "{words}");
    let (code, words) = host.operate(&["status", "--admin", "/nowhere/admin.sock"]).await;
    assert_eq!(code, 1, "{words}");
    assert!(words.contains("there is no socket"), "{words}");
    assert!(host.told(&["reload", "under-test", "--wait"]).await.contains("serves already"));
}

#[tokio::test]
async fn a_pin_holds_through_a_restart() {
    let (shelf, mut host) = host(Options::default()).await;
    let digest = format!("sha256:{}", drivebay_backend::digest_of(&tester(1, "good")));
    host.told(&["pin", "under-test", &digest]).await;
    shelf.replace(&tester(2, "good"));
    host.log.wait("refusal=\"pinned\"", 1).await;
    host.stop().await;
    host.start_again().await;
    assert_eq!(serving(&host, "a").await, version(1));
    host.told(&["pin", "under-test", "none"]).await;
    swapped(&host, 2).await;
    assert_eq!(serving(&host, "b").await, version(2));
}

#[tokio::test]
async fn a_drained_backend_takes_calls_again_after_a_reload() {
    let (_shelf, host) = host(Options::default()).await;
    host.told(&["drain", "under-test"]).await;
    let status = refused(host.controller().await.create_volume(requests::create("a")).await);
    expect(&status, Code::Unavailable, "the operator has drained it");
    assert_eq!(host.status().await["state"], "drained");
    host.told(&["reload", "under-test", "--wait"]).await;
    assert_eq!(serving(&host, "a").await, version(1));
    host.told(&["stop", "under-test"]).await;
    host.log.wait("closed", 1).await;
    assert!(!host.socket().exists());
    host.told(&["reload", "under-test", "--wait"]).await;
    host.log.wait("listening backend", 2).await;
    assert_eq!(serving(&host, "b").await, version(1));
}

#[tokio::test]
async fn a_hangup_looks_at_everything_again() {
    let (_shelf, host) = host(Options::default()).await;
    let process = Pid::from_raw(i32::try_from(host.process()).unwrap()).unwrap();
    kill_process(process, Signal::HUP).unwrap();
    host.log.wait("told to look at everything again", 1).await;
    assert_eq!(serving(&host, "a").await, version(1), "and goes on");
}

/// What was loaded from elsewhere is no news when it comes back by itself, and must be told all the same.
#[tokio::test]
async fn a_file_that_is_watched_again_may_hold_what_served_before() {
    let (shelf, host) = host(Options::default()).await;
    let elsewhere = Shelf::with(&tester(2, "good"));
    host.told(&["reload", "under-test", "--wait", "--component", &elsewhere.file().display().to_string()]).await;
    host.told(&["reload", "under-test", "--wait", "--force", "--component", &shelf.file().display().to_string()]).await;
    assert_eq!(serving(&host, "a").await, version(1));
    shelf.replace(&tester(2, "good"));
    swapped(&host, 4).await;
    assert_eq!(serving(&host, "b").await, version(2));
}
