//! Failover, planned and not: what an acknowledged demotion promised, what the last complete transfer
//! held, and two primaries that become one again.

use serde_json::json;
use tonic::Code;

use super::pair::{Copied, Pair, repeated_while_unavailable, source, until};
use crate::data::workload::{change, fill, read};
use crate::support::expect;
use crate::support::place::PoolKind;
use crate::support::site::{Content, Volume};

#[tokio::test]
async fn there_and_back_with_shared_blocks() {
    there_and_back(PoolKind::Xfs).await;
}

#[tokio::test]
async fn there_and_back_without_shared_blocks() {
    there_and_back(PoolKind::Ext4).await;
}

/// Write, sync, demote, promote at the peer, compare; and back again.
async fn there_and_back(kind: PoolKind) {
    let Some(pair) = Pair::start(kind).await else { return };
    let origin = pair.a.site.create("origin", Content::Ext4, None).await.unwrap();
    pair.a.site.mount(&origin).await.unwrap();
    fill(Content::Ext4, &pair.a.site.target(&origin), 1);
    if !kind.shares_blocks() {
        // Such a pool has to copy, and cannot while somebody writes.
        pair.a.site.unmount(&origin).await.unwrap();
    }
    pair.a.enable(&source(&origin), json!({ "mode": "sync-on-demote" })).await.unwrap();
    let id = pair.a.copy_of(&source(&origin)).await;
    let copied = Copied { a: origin.clone(), b: Volume::known(&id, "copy", Content::Ext4) };
    let info = pair.a.info(&source(&origin)).await;
    assert_eq!(info["status"], "HEALTHY", "{info}");
    let words = info["statusMessage"].as_str().unwrap();
    let how = if kind.shares_blocks() { "only changed blocks travel" } else { "by comparing contents" };
    assert!(words.contains(how), "{words}");
    let moved: u64 = info["lastSyncBytes"].as_str().unwrap().parse().unwrap();
    assert!(moved > 900_000 && info["lastSyncTime"].is_string() && info["lastSyncDuration"].is_string(), "{info}");
    refuses_a_copy(&pair, &copied).await;

    if !kind.shares_blocks() {
        pair.a.site.mount(&origin).await.unwrap();
    }
    change(Content::Ext4, &pair.a.site.target(&origin), 100);
    let written = read(Content::Ext4, &pair.a.site.target(&origin));
    expect(&pair.a.demote(&source(&origin)).await.unwrap_err(), Code::FailedPrecondition, "in use");
    pair.a.site.unmount(&origin).await.unwrap();
    hand_over(&pair, &copied, Direction::ToB).await;
    pair.b.site.mount(&copied.b).await.unwrap();
    assert_eq!(read(Content::Ext4, &pair.b.site.target(&copied.b)), written);

    fill(Content::Ext4, &pair.b.site.target(&copied.b), 200);
    let written = read(Content::Ext4, &pair.b.site.target(&copied.b));
    pair.b.site.unmount(&copied.b).await.unwrap();
    hand_over(&pair, &copied, Direction::ToA).await;
    pair.a.site.mount(&origin).await.unwrap();
    assert_eq!(read(Content::Ext4, &pair.a.site.target(&origin)), written);
    pair.a.site.unmount(&origin).await.unwrap();
    end(&pair, &copied).await;
}

#[derive(Clone, Copy)]
enum Direction {
    ToA,
    ToB,
}

/// An acknowledged demotion means that a promotion at the peer succeeds at once and loses nothing.
async fn hand_over(pair: &Pair, copied: &Copied, direction: Direction) {
    let (from, volume, to, copy) = match direction {
        Direction::ToB => (&pair.a, &copied.a, &pair.b, &copied.b),
        Direction::ToA => (&pair.b, &copied.b, &pair.a, &copied.a),
    };
    repeated_while_unavailable(|| async { from.demote(&source(volume)).await }).await;
    pair.assert_same(copied);
    from.demote(&source(volume)).await.expect("it is demoted");
    expect(&from.try_info(&source(volume)).await.unwrap_err(), Code::FailedPrecondition, "not primary");
    to.promote(&source(copy)).await.expect("nothing is missing");
    to.promote(&source(copy)).await.expect("it is primary");
    pair.assert_same(copied);
}

/// A copy is used by nobody.
async fn refuses_a_copy(pair: &Pair, copied: &Copied) {
    expect(&pair.b.site.stage(&copied.b).await.unwrap_err(), Code::FailedPrecondition, "secondary");
    expect(&pair.b.site.delete(&copied.b).await.unwrap_err(), Code::FailedPrecondition, "replicated");
    expect(&pair.a.site.delete(&copied.a).await.unwrap_err(), Code::FailedPrecondition, "replicated");
    expect(&pair.b.promote(&source(&copied.b)).await.unwrap_err(), Code::Aborted, "demote it there first");
}

/// Disabling keeps both copies usable, and leaves nothing behind.
async fn end(pair: &Pair, copied: &Copied) {
    pair.a.disable(&source(&copied.a)).await.unwrap();
    pair.b.disable(&source(&copied.b)).await.unwrap();
    expect(&pair.a.try_info(&source(&copied.a)).await.unwrap_err(), Code::FailedPrecondition, "not enabled");
    for (end, volume) in [(&pair.a, &copied.a), (&pair.b, &copied.b)] {
        end.site.mount(volume).await.unwrap();
        end.site.unmount(volume).await.unwrap();
        end.site.delete(volume).await.unwrap();
    }
    for end in [&pair.a, &pair.b] {
        let gone = || async { end.site.place.in_pool().iter().all(|name| name == "link.json").then_some(()) };
        until(gone, "something is left in a pool").await;
        let left =
            || async { std::fs::read_dir(pair.home(end).join("replications")).unwrap().next().is_none().then_some(()) };
        until(left, "something is left in the link").await;
    }
}

/// The primary is killed: nothing is promoted without force, and with it the copy is what the last
/// complete transfer was. The old primary comes back, both write, and the losing side is resynced.
#[tokio::test]
async fn the_primary_is_killed_and_comes_back() {
    const AT: u64 = 2_000_000;
    let Some(mut pair) = Pair::start(PoolKind::Xfs).await else { return };
    let copied = pair.replicated("v", b"was sent", json!({})).await;
    let sent = pair.a.bytes(&copied.a);
    let (a, b) = (source(&copied.a), source(&copied.b));
    pair.a.write(&copied.a, AT, b"was not sent");
    pair.a.site.host.kill().await;

    let status = pair.b.promote(&b).await.unwrap_err();
    expect(&status, Code::Aborted, "demote it there first");
    let silent = until(
        || async { pair.b.promote(&b).await.err().filter(|status| status.code() != Code::Aborted) },
        "the peer is never silent",
    );
    expect(&silent.await, Code::FailedPrecondition, "only a forced promotion is possible");
    pair.b.promote_by_force(&b).await.unwrap();
    assert!(pair.b.bytes(&copied.b) == sent, "not what the last complete transfer was");

    pair.a.site.host.start_again().await;
    pair.b.write(&copied.b, AT, b"written at b");
    let info = pair.a.info_when(&a, |info| info["status"] == "DEGRADED").await;
    assert!(info["statusMessage"].as_str().unwrap().contains("both sides were promoted"), "{info}");
    assert_eq!(pair.a.word(&copied.a, AT, 12), b"was not sent", "what was written stays");
    let status = pair.a.resync(&a).await.unwrap_err();
    expect(&status, Code::FailedPrecondition, "demote it first");

    // In use, too: what is written there is lost.
    pair.a.site.mount(&copied.a).await.unwrap();
    pair.a.demote(&a).await.expect("the losing side gives way at once");
    expect(&pair.a.resync(&a).await.unwrap_err(), Code::FailedPrecondition, "in use");
    pair.a.site.unmount(&copied.a).await.unwrap();
    assert_eq!(pair.a.word(&copied.a, AT, 12), b"was not sent", "until it is resynced");
    expect(&pair.a.site.stage(&copied.a).await.unwrap_err(), Code::FailedPrecondition, "secondary");
    assert!(!pair.a.resync(&a).await.unwrap(), "nothing has come yet");
    until(|| async { pair.a.resync(&a).await.unwrap().then_some(()) }, "it is never in step").await;
    assert_eq!(pair.a.word(&copied.a, AT, 12), b"written at b");
    assert_eq!(pair.b.word(&copied.b, AT, 12), b"written at b", "the losing side has sent something");
    pair.assert_same(&copied);
    pair.b.info_when(&b, |info| info["status"] == "HEALTHY").await;
}
