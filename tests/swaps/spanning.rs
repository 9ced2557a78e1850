//! What spans a swap: calls with their locks, the time they are given, connections, background steps.

use tokio::task::JoinSet;
use tonic::Code;

use super::*;
use crate::support::lasting::Lasting;
use crate::support::{expect, refused};

#[tokio::test]
async fn a_call_ends_on_the_generation_it_began_on_and_keeps_its_lock() {
    let (shelf, host) = host(Options::default()).await;
    host.instruct("create-volume", "a", "hold g").await;
    let mut client = host.controller().await;
    let mut held = JoinSet::new();
    held.spawn(async move { client.create_volume(requests::create("a")).await });
    host.entered("create-volume a", 1).await;
    shelf.replace(&tester(2, "good"));
    swapped(&host, 2).await;
    let status = refused(host.controller().await.create_volume(requests::create("a")).await);
    expect(&status, Code::Aborted, "CreateVolume is pending");
    assert_eq!(serving(&host, "b").await, version(2), "others go on");
    host.open("g").await;
    let made = held.join_next().await.unwrap().unwrap().unwrap().into_inner().volume.unwrap();
    assert_eq!(made.volume_context["version"], version(1));
    host.control(&[("unset:act/create-volume/a", "")]).await;
    assert_eq!(serving(&host, "a").await, version(2), "and the lock is free");
}

#[tokio::test]
async fn a_call_that_outlasts_the_drain_is_ended_and_its_outcome_is_unknown() {
    let (shelf, host) = host(Options::default().section("[backend.drain]\ntime = \"300ms\"")).await;
    host.instruct("create-volume", "a", "hold never").await;
    let mut client = host.controller().await;
    let mut held = JoinSet::new();
    held.spawn(async move { client.create_volume(requests::create("a")).await });
    host.entered("create-volume a", 1).await;
    shelf.replace(&tester(2, "good"));
    let status = refused(held.join_next().await.unwrap().unwrap());
    expect(&status, Code::Unavailable, "because the backend was replaced");
    host.control(&[("unset:act/create-volume/a", "")]).await;
    assert_eq!(serving(&host, "a").await, version(2), "its lock is free");
}

#[tokio::test]
async fn connections_close_on_purpose_when_the_capabilities_change_and_only_then() {
    let (shelf, host) = host(Options::default()).await;
    let mut connection = Lasting::open(&host.socket()).await;
    shelf.replace(&tester(2, "good"));
    swapped(&host, 2).await;
    let probe = drivebay_proto::pb::csi::v1::ProbeRequest {};
    let answer: drivebay_proto::pb::csi::v1::ProbeResponse =
        connection.call("/csi.v1.Identity/Probe", &probe).await.unwrap();
    assert_eq!(answer.ready, Some(true));
    assert!(!connection.is_closed());
    shelf.replace(&tester(3, "more"));
    connection.closed().await;
    assert_eq!(host.log.with("capabilities changed: connections are closed on purpose").len(), 1);
    assert_eq!(serving(&host, "a").await, version(3), "the socket is the same");
}

#[tokio::test]
async fn a_background_step_is_never_doubled() {
    let (shelf, host) = host(Options::default().limit("step-time", "60s")).await;
    host.control(&[("set:work/w", "due=0;objects=volume:vol-a:exclusive;do=hold g")]).await;
    host.log.wait("holding g", 1).await;
    shelf.replace(&tester(2, "good"));
    swapped(&host, 2).await;
    // Work without objects runs as soon as the host has asked: everything due was considered by then.
    host.control(&[("set:work/beat", "due=0")]).await;
    host.entered("run-step beat 1", 1).await;
    assert_eq!(host.steps("w").await, 1);
    host.open("g").await;
    host.control(&[("set:work/beat", "due=0")]).await;
    host.entered("run-step beat 2", 1).await;
    assert_eq!(host.steps("w").await, 1);
}
