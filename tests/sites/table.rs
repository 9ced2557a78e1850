//! The table of Promote, row by row; the row of the silent peer is in `failover`, because only a killed
//! host is silent. A transfer is kept from arriving by a directory in the place of its data: both sites
//! are alive all the while.

use std::path::PathBuf;

use serde_json::json;
use tonic::Code;

use super::pair::{Copied, Pair, is_there, repeated, source, until};
use crate::support::expect;
use crate::support::place::PoolKind;
use crate::support::site::Content;

/// Where words are written after the first transfer.
const AT: u64 = 3_000_000;

#[tokio::test]
async fn promote_follows_the_table() {
    let Some(pair) = Pair::start(PoolKind::Xfs).await else { return };
    not_enabled(&pair).await;
    let hourly = json!({ "schedulingInterval": "1h" });
    let [whole, late, forced, back] = [
        pair.replicated("whole", b"first", hourly.clone()).await,
        pair.replicated("late", b"first", hourly.clone()).await,
        pair.replicated("forced", b"first", hourly.clone()).await,
        pair.replicated("back", b"first", hourly).await,
    ];
    demoted_and_whole_here(&pair, &whole).await;
    demoted_and_not_here_yet(&pair, &late).await;
    demoted_and_forced(&pair, &forced).await;
    demoted_last(&pair, &back).await;
    primary(&pair, &pair.replicated("primary", b"first", json!({ "schedulingInterval": "1s" })).await).await;
}

async fn not_enabled(pair: &Pair) {
    let volume = pair.a.site.create("plain", Content::Block, None).await.unwrap();
    for answer in [
        pair.a.promote(&source(&volume)).await,
        pair.a.promote_by_force(&source(&volume)).await,
        pair.a.demote(&source(&volume)).await,
    ] {
        expect(&answer.unwrap_err(), Code::FailedPrecondition, "is not enabled");
    }
}

async fn demoted_and_whole_here(pair: &Pair, copied: &Copied) {
    pair.a.write(&copied.a, AT, b"second");
    pair.a.demote(&source(&copied.a)).await.unwrap();
    repeated(|| async { pair.b.promote(&source(&copied.b)).await }).await;
    assert_eq!(pair.b.word(&copied.b, AT, 6), b"second");
    pair.assert_same(copied);
}

/// UNAVAILABLE for as long as it takes, and then OK with all of it.
async fn demoted_and_not_here_yet(pair: &Pair, copied: &Copied) {
    let obstacle = obstacle(pair, copied);
    pair.a.write(&copied.a, AT, b"second");
    pair.a.demote(&source(&copied.a)).await.expect("without sync-on-demote nobody waits");
    for _ in 0..3 {
        let status = pair.b.promote(&source(&copied.b)).await.unwrap_err();
        expect(&status, Code::Unavailable, "is not here yet");
    }
    std::fs::remove_dir(obstacle).unwrap();
    repeated(|| async { pair.b.promote(&source(&copied.b)).await }).await;
    assert_eq!(pair.b.word(&copied.b, AT, 6), b"second");
    pair.assert_same(copied);
}

/// With force the last complete transfer counts, and what comes later is not taken.
async fn demoted_and_forced(pair: &Pair, copied: &Copied) {
    let obstacle = obstacle(pair, copied);
    let first = pair.b.bytes(&copied.b);
    pair.a.write(&copied.a, AT, b"second");
    pair.a.demote(&source(&copied.a)).await.unwrap();
    let status = pair.b.promote(&source(&copied.b)).await.unwrap_err();
    expect(&status, Code::Unavailable, "is not here yet");
    pair.b.promote_by_force(&source(&copied.b)).await.unwrap();
    assert!(pair.b.bytes(&copied.b) == first, "not what the last complete transfer was");
    std::fs::remove_dir(obstacle).unwrap();
    pair.b.write(&copied.b, AT, b"other");
    // What A wrote last is lost by force, and A knows: only a resync makes it a copy again.
    assert!(!pair.a.resync(&source(&copied.a)).await.unwrap());
    let (b, a) = (source(&copied.b), source(&copied.a));
    until(|| async { pair.a.resync(&a).await.unwrap().then_some(()) }, "it is never in step").await;
    assert_eq!(pair.a.word(&copied.a, AT, 6), b"other\0");
    pair.b.info_when(&b, |info| info["status"] == "HEALTHY").await;
    pair.assert_same(copied);
}

/// The side that was demoted last goes back without force.
async fn demoted_last(pair: &Pair, copied: &Copied) {
    pair.a.write(&copied.a, AT, b"second");
    pair.a.demote(&source(&copied.a)).await.unwrap();
    pair.a.promote(&source(&copied.a)).await.unwrap();
    assert_eq!(pair.a.word(&copied.a, AT, 6), b"second");
    let status = pair.b.promote(&source(&copied.b)).await.unwrap_err();
    expect(&status, Code::Aborted, "demote it there first");
}

/// ABORTED, because the controller forces whatever fails otherwise; with force the old primary
/// overwrites nothing any more.
async fn primary(pair: &Pair, copied: &Copied) {
    let (a, b) = (source(&copied.a), source(&copied.b));
    let status = pair.b.promote(&b).await.unwrap_err();
    expect(&status, Code::Aborted, "demote it there first");
    pair.b.promote_by_force(&b).await.unwrap();
    pair.b.write(&copied.b, AT, b"written at b");
    pair.a.write(&copied.a, AT, b"written at a");
    // By now the schedule of A has come round.
    let told = pair.a.info_when(&a, |info| info["status"] == "DEGRADED").await;
    assert!(told["statusMessage"].as_str().unwrap().contains("both sides were promoted"), "{told}");
    // B has sent nothing yet, and says why.
    let told = || async {
        let status = pair.b.try_info(&b).await.unwrap_err();
        expect(&status, Code::NotFound, "no transfer of");
        status.message().contains("both sides were promoted").then_some(())
    };
    until(told, "B does not notice").await;
    assert_eq!(pair.b.word(&copied.b, AT, 12), b"written at b");
    assert_eq!(pair.a.word(&copied.a, AT, 12), b"written at a");
    // Healed in the other direction: this time the side that was forced gives way.
    pair.b.demote(&b).await.unwrap();
    until(|| async { pair.b.resync(&b).await.unwrap().then_some(()) }, "it is never in step").await;
    assert_eq!(pair.b.word(&copied.b, AT, 12), b"written at a");
    pair.assert_same(copied);
}

/// A directory where the data of the next transfer would be written.
fn obstacle(pair: &Pair, copied: &Copied) -> PathBuf {
    let folder = pair.folder(&pair.a, &pair.a.uid("volumes", &copied.a.id));
    let next = folder.join("1-2");
    assert!(!is_there(&next), "the first transfer had another number");
    std::fs::create_dir_all(next.join("000001.data")).unwrap();
    next.join("000001.data")
}
