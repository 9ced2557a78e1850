//! What a backend may do before its first call after a start: tried again until it succeeds, seen in
//! Probe, and nobody is let in before.

use drivebay_proto::pb::csi::v1::{GetPluginInfoRequest, ProbeRequest};
use tonic::Code;

use crate::support::{Guest, Options, TestHost, expect, refused, requests};

/// D8: ready=false and never an error, while calls are told why they have to come again.
#[tokio::test]
async fn nobody_is_let_in_before_recovery_succeeds() {
    let mut host = TestHost::start(Guest::TESTER, Options::default().recovering()).await;
    host.ready().await;
    host.instruct("recover", "host", "times 3 refuse unavailable the array is off").await;
    host.stop().await;

    host.start_again().await;
    host.log.wait("recovery failed; trying again", 1).await;
    let mut identity = host.identity().await;
    assert_eq!(identity.probe(ProbeRequest {}).await.unwrap().into_inner().ready, Some(false));
    identity.get_plugin_info(GetPluginInfoRequest {}).await.expect("identity is known from the facts");
    let mut client = host.controller().await;
    let status = refused(client.create_volume(requests::create("a")).await);
    expect(&status, Code::Unavailable, "still recovering from a restart: the array is off");
    assert_eq!(host.entries("create-volume"), 0);

    host.ready().await;
    assert_eq!(host.entries("recover host"), 4);
    assert_eq!(identity.probe(ProbeRequest {}).await.unwrap().into_inner().ready, Some(true));
    client.create_volume(requests::create("a")).await.unwrap();
}

#[tokio::test]
async fn recovery_that_crashes_or_hangs_is_tried_again() {
    let options = Options::default().limit("recovery-time", "300ms").recovering();
    for (word, words) in [("trap", "crashed"), ("hold gate-that-never-opens", "took longer")] {
        let mut host = TestHost::start(Guest::TESTER, options.clone()).await;
        host.ready().await;
        host.instruct("recover", "host", &format!("times 1 {word}")).await;
        host.stop().await;
        host.start_again().await;
        let line = host.log.wait("recovery failed; trying again", 1).await;
        assert!(line.text.contains(words), "{}", line.text);
        host.ready().await;
        assert_eq!(host.entries("recover host"), 2, "once, and once more after it failed");
    }
}

#[tokio::test]
async fn what_was_committed_outlives_a_kill() {
    let mut host = TestHost::tester().await;
    host.create(&["a", "b"]).await;
    host.instruct("delete-volume", "vol-b", "hold g").await;
    let mut client = host.controller().await;
    let mut held = tokio::task::JoinSet::new();
    held.spawn(async move { client.delete_volume(requests::delete("vol-b")).await });
    host.entered("delete-volume vol-b", 1).await;
    host.kill().await;
    refused(held.join_next().await.unwrap().unwrap());

    host.start_again().await;
    let mut client = host.controller().await;
    for id in ["vol-a", "vol-b"] {
        client.validate_volume_capabilities(requests::validate(id)).await.expect("nothing was deleted");
    }
    assert_eq!(host.entries("recover host"), 1);
    host.open("g").await;
    client.delete_volume(requests::delete("vol-b")).await.expect("no lock outlives a process");
    host.stop().await;
}
