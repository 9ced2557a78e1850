//! A link that is away: what does not replicate goes on, what would have to know the peer is not called done, and what
//! was asked meanwhile is carried out when the link is back.

use std::time::{Duration, Instant};

use serde_json::json;

use super::pair::{Pair, source, until};
use crate::support::place::PoolKind;
use crate::support::served::Mood;
use crate::support::site::{Content, Source};

/// Where the words are written that tell the sides apart.
const AT: u64 = 3_000_000;
/// How long a host may take to end: the default of `drain`, and a moment for the processes.
const DRAIN: Duration = Duration::from_secs(40);

/// The old primary is resynced while its peer, promoted by force, cannot be seen. Nobody asks again.
#[tokio::test]
async fn a_resync_of_a_peer_that_is_not_heard_is_carried_out_when_it_is() {
    let Some(pair) = Pair::start(PoolKind::Xfs).await else { return };
    let copied = pair.replicated("v", b"both have it", json!({})).await;
    let (a, b) = (source(&copied.a), source(&copied.b));
    pair.lose_link();
    pair.a.write(&copied.a, AT, b"lost by force");
    pair.b.promote_by_force(&b).await.unwrap();
    pair.b.write(&copied.b, AT, b"written at b!");
    pair.a.demote(&a).await.unwrap();
    assert!(!pair.a.resync(&a).await.unwrap(), "ready about a peer that it cannot see");
    pair.restore_link();
    assert!(!pair.a.resync(&a).await.unwrap(), "ready by what the peer said before");
    let taken = || async { (pair.a.word(&copied.a, AT, 13) == b"written at b!").then_some(()) };
    until(taken, "what was asked for is never carried out").await;
    until(|| async { pair.a.resync(&a).await.unwrap().then_some(()) }, "it is never in step").await;
    pair.assert_same(&copied);
}

/// The directory itself is gone, as when a server is: only replication needs it.
#[tokio::test]
async fn a_site_without_its_link_does_all_but_replicate() {
    let Some(mut pair) = Pair::start(PoolKind::Xfs).await else { return };
    let copied = pair.replicated("v", b"both have it", json!({})).await;
    pair.take_link_away();
    for round in ["running", "started"] {
        let made = pair.b.site.create(round, Content::Ext4, None).await.unwrap();
        pair.b.site.mount(&made).await.unwrap();
        pair.b.site.unmount(&made).await.unwrap();
        pair.b.site.delete(&made).await.unwrap();
        let status = pair.b.site.host.status().await;
        let grants = status["grants"].to_string();
        assert!(grants.contains(":/link (absent: "), "{round}: {grants}");
        assert_eq!(status["breaker"]["state"], "closed", "{status}");
        if round == "running" {
            pair.b.promote_by_force(&source(&copied.b)).await.expect("force needs no peer");
            pair.b.site.host.kill().await;
            pair.b.site.host.start_again().await;
        }
    }
    pair.b.write(&copied.b, AT, b"written at b!");
    pair.put_link_back();
    pair.a.demote(&source(&copied.a)).await.unwrap();
    drop(pair.a.resync(&source(&copied.a)).await);
    let taken = || async { (pair.a.word(&copied.a, AT, 13) == b"written at b!").then_some(()) };
    until(taken, "it never goes on").await;
    let grants = pair.b.site.host.status().await["grants"].to_string();
    assert!(!grants.contains("absent"), "{grants}");
}

/// The server of the directory takes requests and never answers one.
#[tokio::test]
async fn a_site_whose_link_hangs_does_all_but_replicate() {
    goes_on_while_the_link_is(Mood::Hangs).await;
}

/// It answers all of them with ESTALE.
#[tokio::test]
async fn a_site_whose_link_is_stale_does_all_but_replicate() {
    goes_on_while_the_link_is(Mood::Stale).await;
}

async fn goes_on_while_the_link_is(mood: Mood) {
    let Some(mut pair) = Pair::served(PoolKind::Ext4).await else { return };
    let copied = pair.replicated("v", b"both have it", json!({})).await;
    // The transfer that is under way then, and steps of the background, meet it in all of their work.
    pair.a.write(&copied.a, AT, &vec![7; 4 << 20]);
    let source_at_b = source(&copied.b);
    pair.server().set(mood);
    for round in ["running", "started"] {
        let made = pair.b.site.create(round, Content::Ext4, None).await.unwrap();
        // Copied by a job, where blocks cannot be shared.
        let clone = Source::Volume(made.id.clone());
        let clone = pair.b.site.create(&format!("{round}-clone"), Content::Ext4, Some(clone)).await.unwrap();
        pair.b.site.delete(&clone).await.unwrap();
        pair.b.site.mount(&made).await.unwrap();
        pair.b.site.unmount(&made).await.unwrap();
        pair.b.site.delete(&made).await.unwrap();
        let status = pair.b.site.host.status().await;
        let grants = status["grants"].to_string();
        assert!(grants.contains("/link (absent: "), "{round}: {grants}");
        assert_eq!(grants.matches("absent").count(), 1, "the pool is there, {round}: {grants}");
        assert_eq!(status["breaker"]["state"], "closed", "{status}");
        if round == "running" {
            pair.b.promote_by_force(&source_at_b).await.expect("force needs no peer");
            let begin = Instant::now();
            pair.b.site.host.stop().await;
            assert!(begin.elapsed() < DRAIN, "it took {:?} to end", begin.elapsed());
            pair.b.site.host.start_again().await;
        }
    }
    pair.b.write(&copied.b, AT, b"written at b!");
    pair.server().set(Mood::Well);
    let demoted = || async { pair.a.demote(&source(&copied.a)).await.ok() };
    until(demoted, "the other side never comes to itself").await;
    drop(pair.a.resync(&source(&copied.a)).await);
    let taken = || async { (pair.a.word(&copied.a, AT, 13) == b"written at b!").then_some(()) };
    until(taken, "it never goes on").await;
    let shown = || async { (!pair.b.site.host.status().await["grants"].to_string().contains("absent")).then_some(()) };
    until(shown, "the link is never told to be back").await;
}
