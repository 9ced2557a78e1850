//! The operator's commands and words: status, history, pin, drain, stop, SIGHUP, and what is said when a
//! command makes no sense.

use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal, kill_process};
use tonic::Code;

use serde_json::{Value, json};

use super::*;
use crate::support::shelf::replace;
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

#[tokio::test]
async fn status_tells_by_its_exit_status_whether_all_take_calls() {
    let (shelf, host) = host(Options::default()).await;
    assert_eq!(host.operate(&["status"]).await.0, 0);
    // A refused candidate hinders nobody.
    shelf.replace(b"nothing");
    host.log.wait("refused: ", 1).await;
    assert_eq!(host.operate(&["status"]).await.0, 0);
    shelf.replace(&tester(1, "good"));
    for (command, word) in [("drain", "drained"), ("stop", "stopped")] {
        host.told(&[command, "under-test"]).await;
        let (code, words) = host.operate(&["status"]).await;
        assert_eq!(code, 1, "{words}");
        assert!(words.contains(word) && words.contains("`drivebay reload under-test`"), "{words}");
        host.told(&["reload", "under-test", "--wait"]).await;
    }
    assert_eq!(host.operate(&["status", "other"]).await.0, 2);
    let (code, words) = host.operate(&["status", "--admin", "/nowhere/admin.sock"]).await;
    assert_eq!(code, 1, "{words}");
    assert!(words.contains("--admin") && !words.contains("--socket"), "advice is on what this command has: {words}");
}

/// What `status` and `history` print is what `pin` takes.
#[tokio::test]
async fn a_digest_is_taken_as_it_is_printed() {
    let (shelf, host) = host(Options::default()).await;
    let digest = drivebay_backend::digest_of(&tester(1, "good"));
    let printed = format!("sha256:{}", &digest[..12]);
    for command in [&["status"][..], &["history", "under-test"]] {
        let words = host.told(command).await;
        assert!(words.contains(&format!(" {printed} ")), "{words}");
    }
    host.told(&["pin", "under-test", &printed]).await;
    assert_eq!(host.status().await["pinned"], format!("sha256:{digest}"));
    shelf.replace(&tester(2, "good"));
    host.log.wait("refusal=\"pinned\"", 1).await;
    host.told(&["pin", "under-test", "none"]).await;
    swapped(&host, 2).await;
    host.told(&["pin", "under-test", &digest[..8]]).await;
    assert_eq!(host.status().await["pinned"], format!("sha256:{digest}"), "of an earlier one, and bare");
    let (code, words) = host.operate(&["pin", "under-test", "sha256:0123456789"]).await;
    assert!(code == 2 && words.contains(&printed), "known ones are named: {words}");
}

/// The configured file is what counts again, and is still watched.
#[tokio::test]
async fn a_component_that_is_refused_does_not_stick() {
    let (shelf, host) = host(Options::default()).await;
    let elsewhere = Shelf::with(&tester(2, "prob"));
    let other = elsewhere.file().display().to_string();
    host.refused(&["reload", "under-test", "--wait", "--component", &other], "probe-failed").await;
    let (code, words) = host.operate(&["reload", "under-test", "--wait", "--component", "/nowhere.wasm"]).await;
    assert!(code == 1 && words.contains("/nowhere.wasm: No such file"), "{words}");
    assert!(host.told(&["reload", "under-test", "--wait"]).await.contains("serves already"), "the configured file");
    shelf.replace(&tester(3, "good"));
    swapped(&host, 2).await;
    assert_eq!(serving(&host, "a").await, version(3));
    // Nobody waits for the outcome: it is the same.
    host.told(&["reload", "under-test", "--component", &other]).await;
    host.log.wait("refusal=\"probe-failed\"", 2).await;
    shelf.replace(&tester(4, "good"));
    swapped(&host, 3).await;
    // One that serves sticks, whatever is refused after it.
    // Beside the configured file: where the host sees it, its changes are followed.
    let good = shelf.beside("good.wasm");
    std::fs::write(&good, tester(5, "good")).unwrap();
    host.told(&["reload", "under-test", "--wait", "--component", &good.display().to_string()]).await;
    host.refused(&["reload", "under-test", "--wait", "--component", &other], "probe-failed").await;
    replace(&good, &tester(6, "good"));
    swapped(&host, 5).await;
    assert_eq!(serving(&host, "b").await, version(6));
}

/// What is there was rolled back and stays out; calls are taken all the same.
#[tokio::test]
async fn a_reload_ends_a_drain_though_the_file_was_rolled_back() {
    let (shelf, host) = host(Options::default()).await;
    shelf.replace(&tester(2, "good"));
    swapped(&host, 2).await;
    host.told(&["rollback", "under-test"]).await;
    host.told(&["drain", "under-test"]).await;
    let words = host.told(&["reload", "under-test", "--wait"]).await;
    assert!(words.contains("calls are taken again") && words.contains("rolled back"), "{words}");
    assert_eq!(serving(&host, "a").await, version(1));
    host.refused(&["reload", "under-test", "--wait"], "rolled-back").await;
}

/// An operator who has put another component in the place of the configured one finds it in `status`, until it is so no more.
#[tokio::test]
async fn status_says_which_file_is_followed() {
    let (shelf, host) = host(Options::default()).await;
    let (configured, other) = (shelf.file().display().to_string(), shelf.beside("other.wasm"));
    let name = other.display().to_string();
    std::fs::write(&other, tester(2, "good")).unwrap();
    let source = |status: &Value| ["component", "configured", "rolled_back"].map(|key| status[key].clone());
    assert_eq!(source(&host.status().await), [json!(configured), Value::Null, Value::Null]);
    host.told(&["reload", "under-test", "--wait", "--component", &name]).await;
    assert_eq!(source(&host.status().await), [json!(name), json!(configured), Value::Null]);
    let words = host.told(&["status"]).await;
    let line =
        format!("under-test: {name} was loaded by a command; the configured component ({configured}) is not watched");
    assert!(words.contains(&line), "{words}");
    // Going back from it means the configured one again, at once.
    host.told(&["rollback", "under-test"]).await;
    assert_eq!(source(&host.status().await), [json!(configured), Value::Null, Value::Null]);
    assert!(!host.told(&["status"]).await.contains("was loaded by a command"));
    // What the configured file holds is rolled back itself.
    shelf.replace(&tester(3, "good"));
    swapped(&host, 4).await;
    host.told(&["rollback", "under-test"]).await;
    let digest = format!("sha256:{}", drivebay_backend::digest_of(&tester(3, "good")));
    assert_eq!(source(&host.status().await), [json!(configured), Value::Null, json!(digest)]);
    let words = host.told(&["status"]).await;
    assert!(words.contains(&format!("{configured} holds {}, which was rolled back", &digest[..19])), "{words}");
    host.told(&["reload", "under-test", "--wait", "--force"]).await;
    assert_eq!(source(&host.status().await), [json!(configured), Value::Null, Value::Null]);
}

/// Who has gone back from a file that a command named means the configured one again.
#[tokio::test]
async fn after_a_rollback_the_configured_file_is_watched() {
    let (shelf, host) = host(Options::default()).await;
    let elsewhere = Shelf::with(&tester(2, "good"));
    host.told(&["reload", "under-test", "--wait", "--component", &elsewhere.file().display().to_string()]).await;
    assert_eq!(serving(&host, "a").await, version(2));
    host.told(&["rollback", "under-test"]).await;
    assert_eq!(serving(&host, "b").await, version(1));
    shelf.replace(&tester(3, "good"));
    swapped(&host, 4).await;
    assert_eq!(serving(&host, "c").await, version(3));
}
