//! a snapshot is copied once, held back at the peer until it is promoted there, and has no roles
//! to change.

use serde_json::json;
use tonic::Code;

use super::pair::{Pair, repeated_while_unavailable, snapshot_source, until};
use crate::support::expect;
use crate::support::place::PoolKind;
use crate::support::site::{Content, Source};

#[tokio::test]
async fn a_snapshot_is_copied_once_and_restored_at_the_peer() {
    let Some(pair) = Pair::start(PoolKind::Xfs).await else { return };
    let volume = pair.a.site.create("v", Content::Block, None).await.unwrap();
    pair.a.write(&volume, 100_000, b"in the snapshot");
    let snapshot = pair.a.site.snapshot("s", &volume).await.unwrap();
    let cut = std::fs::read(pair.a.site.place.image("snapshots", &snapshot)).unwrap();
    pair.a.write(&volume, 100_000, b"written after it");
    let a = snapshot_source(&snapshot);
    pair.a.enable(&a, json!({})).await.unwrap();
    let info = pair.a.info(&a).await;
    assert!(info["lastSyncTime"].is_string() && info["lastSyncBytes"] != "0", "{info}");

    let listed = || async { pair.b.site.snapshots().await.into_iter().next() };
    let copy = until(listed, "the copy is never listed").await;
    let b = snapshot_source(&copy);
    assert!(!is_ready(&pair, &copy).await, "it is not promoted yet");
    let restore = || pair.b.site.create("restored", Content::Block, Some(Source::Snapshot(copy.clone())));
    expect(&restore().await.unwrap_err(), Code::FailedPrecondition, "promote it first");
    for end in [(&pair.a, &a), (&pair.b, &b)] {
        let (end, source) = end;
        expect(&end.demote(source).await.unwrap_err(), Code::FailedPrecondition, "never changes");
        expect(&end.resync(source).await.unwrap_err(), Code::FailedPrecondition, "never changes");
    }
    let refused = pair.a.site.delete_snapshot(&snapshot).await;
    expect(&refused.unwrap_err(), Code::FailedPrecondition, "replicated");

    repeated_while_unavailable(|| async { pair.b.promote(&b).await }).await;
    assert!(is_ready(&pair, &copy).await);
    let restored = restore().await.unwrap();
    assert!(pair.b.bytes(&restored) == cut, "the copy is not what was cut");

    pair.a.disable(&a).await.unwrap();
    pair.b.disable(&b).await.unwrap();
    assert!(pair.b.site.snapshots().await.contains(&copy), "disabling keeps it");
    assert!(std::fs::read(pair.b.site.place.image("snapshots", &copy)).unwrap() == cut);
    pair.a.site.delete_snapshot(&snapshot).await.unwrap();
    pair.b.site.delete_snapshot(&copy).await.unwrap();
}

/// Whether the copy may be restored from, as it is listed.
async fn is_ready(pair: &Pair, snapshot: &str) -> bool {
    let told = pair.b.ask("csi.v1.Controller/ListSnapshots", json!({ "snapshotId": snapshot })).await.unwrap();
    told["entries"][0]["snapshot"]["readyToUse"] == true
}
