//! Trying a generation beside the one that serves: as a shadow, which nobody sees, and as a canary, which a share of
//! the objects meets.

use std::collections::BTreeSet;

use drivebay_proto::pb::csi::v1::GetCapacityRequest;
use tonic::Code;

use super::*;
use crate::support::shelf::replace;

const OBJECTS: usize = 40;

/// Puts the candidate beside the file and has it tried in this manner; the command's own words come at its end.
fn tried(shelf: &Shelf, mood: &str) -> String {
    let file = shelf.beside("next.wasm");
    std::fs::write(&file, tester(2, mood)).unwrap();
    file.display().to_string()
}

async fn attached_by(host: &TestHost, volume: &str) -> String {
    let request = requests::attach(volume);
    let answer = host.controller().await.controller_publish_volume(request).await.expect("it attaches");
    answer.into_inner().publish_context["version"].clone()
}

async fn ask_capacity(host: &TestHost, times: usize) {
    let mut client = host.controller().await;
    for _ in 0..times {
        let answer = client.get_capacity(GetCapacityRequest::default()).await.expect("it answers").into_inner();
        assert_eq!(answer.available_capacity, 1 << 40, "clients hear the one that serves");
    }
}

#[tokio::test]
async fn a_canary_serves_its_objects_whole_and_then_all() {
    let (shelf, host) = host(Options::default()).await;
    serving(&host, "before").await;
    let file = tried(&shelf, "good");
    host.told(&["reload", "under-test", "--component", &file, "--canary", "50"]).await;
    host.log.wait("canary: it serves a share", 1).await;
    let mut seen = BTreeSet::new();
    for n in 0..OBJECTS {
        let made = serving(&host, &format!("a-{n}")).await;
        assert_eq!(attached_by(&host, &format!("vol-a-{n}")).await, made, "a volume meets one version");
        seen.insert(made);
    }
    assert_eq!(seen, [version(1), version(2)].into(), "both serve");
    assert_eq!(host.status().await["staging"], 2);
    // By the operator's word all objects go to it at once.
    let words = host.told(&["reload", "under-test", "--wait"]).await;
    assert!(words.contains("serves"), "{words}");
    assert_eq!(serving(&host, "after").await, version(2));
    assert_eq!(attached_by(&host, "vol-before").await, version(2));
}

#[tokio::test]
async fn a_canary_that_traps_is_taken_away() {
    let (shelf, host) = host(Options::default()).await;
    let file = tried(&shelf, "thrd");
    host.told(&["reload", "under-test", "--component", &file, "--canary", "50"]).await;
    host.log.wait("canary: it serves a share", 1).await;
    let mut client = host.controller().await;
    for n in 0..200 {
        match client.create_volume(requests::create(&format!("v{n}-3"))).await {
            Ok(_) => {}
            Err(status) => assert_eq!(status.code(), Code::Unavailable, "{status:?}"),
        }
    }
    host.log.wait("refusal=\"canary-failed\"", 1).await;
    for n in 0..OBJECTS {
        assert_eq!(serving(&host, &format!("after-{n}-3")).await, version(1));
    }
    host.refused(&["reload", "under-test", "--wait", "--component", &file], "rolled-back").await;
    // The configured file counts again.
    assert!(host.told(&["reload", "under-test", "--wait"]).await.contains("serves already"));
}

#[tokio::test]
async fn a_shadow_is_seen_by_nobody_and_tells_what_differs() {
    let (shelf, host) = host(Options::default()).await;
    let file = tried(&shelf, "diff");
    host.told(&["reload", "under-test", "--component", &file, "--shadow", "1s"]).await;
    host.log.wait("shadow: it hears what is asked", 1).await;
    ask_capacity(&host, 20).await;
    swapped(&host, 2).await;
    let history = host.history().await;
    let why = history[0]["why"].to_string();
    assert!(why.contains("GetCapacity") && why.contains("answered otherwise"), "{why}");
    assert!(why.contains("changes of the state were refused"), "{why}");
    assert!(host.control(&[("get:capacity-was-asked", "")]).await.is_empty(), "nothing was written");
}

#[tokio::test]
async fn a_shadow_that_traps_is_refused() {
    let (shelf, host) = host(Options::default()).await;
    let file = tried(&shelf, "rtrp");
    host.told(&["reload", "under-test", "--component", &file, "--shadow", "1s"]).await;
    host.log.wait("shadow: it hears what is asked", 1).await;
    ask_capacity(&host, 20).await;
    host.log.wait("refusal=\"shadow-failed\"", 1).await;
    assert_eq!(serving(&host, "a").await, version(1));
}

#[tokio::test]
async fn a_canary_shares_the_format_of_the_state() {
    let (shelf, host) = host(Options::default()).await;
    let file = shelf.beside("next.wasm");
    std::fs::write(&file, stamped(Guest::TESTER, &[("version", &version(2)), ("writes", "2")])).unwrap();
    let file = file.display().to_string();
    host.refused(&["reload", "under-test", "--component", &file, "--canary", "5", "--wait"], "canary-format").await;
    assert_eq!(serving(&host, "a").await, version(1));
}

#[tokio::test]
async fn something_newer_ends_what_is_being_tried() {
    for manner in [["--canary", "50"], ["--shadow", "10m"]] {
        let (shelf, host) = host(Options::default()).await;
        let file = tried(&shelf, "good");
        host.told(&["reload", "under-test", "--component", &file, manner[0], manner[1]]).await;
        host.log.wait(&format!("{}: it ", &manner[0][2..]), 1).await;
        replace(&shelf.beside("next.wasm"), &tester(3, "good"));
        swapped(&host, 2).await;
        let history = host.history().await;
        let ends: Vec<_> = history.iter().map(|row| (row["state"].as_str(), row["refusal"].as_str())).collect();
        assert_eq!(ends[1], (Some("rejected"), Some("superseded")), "{history:#?}");
        assert_eq!(serving(&host, "a").await, version(3));
    }
}
