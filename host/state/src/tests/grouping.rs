//! Commits of concurrent calls share one write to disk, and none is answered or seen before it.

use std::task::Poll;

use super::{Disk, conflict, expect, finished, namespace, put, started, store_on, with_quota};
use crate::{MAX_COMMIT_BYTES, Quota, StateError};

#[tokio::test]
async fn commits_that_wait_for_the_same_sync_share_the_next_one() {
    let disk = Disk::default();
    let store = store_on(&disk);
    let space = namespace(&store, "a");
    let (transactions, syncs) = (store.durable_transactions(), disk.syncs());

    disk.hold_syncs();
    let first = started(space.commit(vec![put("first", b"1")]));
    disk.wait_for_held_sync();
    let keys: Vec<String> = (0..100).map(|number| format!("key-{number}")).collect();
    let rest: Vec<_> = keys.iter().map(|key| started(space.commit(vec![put(key, b"2")]))).collect();
    assert!(first.1.is_pending() && rest.iter().all(|(_, poll)| poll.is_pending()));
    disk.release_syncs();

    finished(first).await.unwrap();
    for commit in rest {
        finished(commit).await.unwrap();
    }
    assert_eq!(store.durable_transactions() - transactions, 2);
    assert!(disk.syncs() - syncs <= 4, "{} syncs", disk.syncs() - syncs);
    assert_eq!(space.used().await.unwrap().keys, 101);
}

#[tokio::test]
async fn more_than_a_group_holds_goes_to_disk_in_parts() {
    let disk = Disk::default();
    let store = store_on(&disk);
    let space = with_quota(&store, "a", Quota { waiting: u64::MAX, ..Quota::default() });
    let transactions = store.durable_transactions();
    // Commits of the largest size, of which each is a group of its own.
    let value = vec![0; MAX_COMMIT_BYTES / 4 - 8];
    let largest = |commit: usize| -> Vec<_> {
        let keys = (0..4).map(|part| format!("{commit:04}{part}"));
        keys.map(|key| put(&key, &value)).collect()
    };
    disk.hold_syncs();
    let commits: Vec<_> = (0..9).map(|commit| started(space.commit(largest(commit)))).collect();
    disk.wait_for_held_sync();
    assert!(commits.iter().all(|(_, poll)| poll.is_pending()));
    disk.release_syncs();
    for commit in commits {
        finished(commit).await.unwrap();
    }
    assert_eq!(store.durable_transactions() - transactions, 9);
    assert_eq!(space.used().await.unwrap().keys, 36);
}

#[tokio::test]
async fn nothing_is_answered_or_seen_before_it_is_durable() {
    let disk = Disk::default();
    let store = store_on(&disk);
    let space = namespace(&store, "a");
    space.commit(vec![put("key", b"old")]).await.unwrap();

    disk.hold_syncs();
    let (mut commit, _) = started(space.commit(vec![put("key", b"new")]));
    disk.wait_for_held_sync();
    assert!(started(commit.as_mut()).1.is_pending());
    assert_eq!(space.get("key").await.unwrap().unwrap(), b"old");
    disk.release_syncs();

    commit.await.unwrap();
    assert_eq!(space.get("key").await.unwrap().unwrap(), b"new");
}

#[tokio::test]
async fn a_refused_commit_leaves_its_group_alone_and_sees_what_came_before() {
    let disk = Disk::default();
    let store = store_on(&disk);
    let space = namespace(&store, "a");

    disk.hold_syncs();
    let opening = started(space.commit(vec![put("opening", b"")]));
    disk.wait_for_held_sync();
    let transactions = store.durable_transactions();
    let group = vec![
        started(space.commit(vec![expect("lock", None), put("lock", b"1"), put("one", b"")])),
        started(space.commit(vec![put("two", b""), expect("lock", None), put("lock", b"2")])),
        started(space.commit(vec![expect("lock", Some(b"1")), put("lock", b"3")])),
    ];
    disk.release_syncs();

    finished(opening).await.unwrap();
    let mut verdicts = Vec::new();
    for commit in group {
        verdicts.push(finished(commit).await);
    }
    assert_eq!(verdicts, [Ok(()), Err(conflict("lock")), Ok(())]);
    assert_eq!(space.get("lock").await.unwrap().unwrap(), b"3");
    assert!(space.get("one").await.unwrap().is_some());
    assert_eq!(space.get("two").await.unwrap(), None);
    // The opening one and the group.
    assert_eq!(store.durable_transactions() - transactions, 2);
}

#[tokio::test]
async fn a_commit_whose_caller_has_gone_still_takes_place_as_a_whole() {
    let disk = Disk::default();
    let store = store_on(&disk);
    let space = namespace(&store, "a");
    disk.hold_syncs();
    let (commit, poll) = started(space.commit(vec![put("x", b"1"), put("y", b"1")]));
    disk.wait_for_held_sync();
    assert_eq!(poll, Poll::<Result<(), StateError>>::Pending);
    drop(commit);
    disk.release_syncs();
    // Queued behind it.
    let outcome = space.commit(vec![expect("x", Some(b"1")), expect("y", Some(b"1"))]);
    outcome.await.unwrap();
}

#[tokio::test]
async fn commits_that_change_nothing_do_not_touch_the_disk() {
    let disk = Disk::default();
    let store = store_on(&disk);
    let space = namespace(&store, "a");
    space.commit(vec![put("key", b"value")]).await.unwrap();
    let syncs = disk.syncs();
    space.commit(vec![expect("key", Some(b"value"))]).await.unwrap();
    let refused = space.commit(vec![put("other", b""), expect("key", None)]);
    assert_eq!(refused.await, Err(conflict("key")));
    space.commit(Vec::new()).await.unwrap();
    assert_eq!(disk.syncs(), syncs);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_increments_lose_nothing() {
    let store = store_on(&Disk::default());
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let space = namespace(&store, "a");
        tasks.spawn(async move {
            for _ in 0..25 {
                increment(&space).await;
            }
        });
    }
    tasks.join_all().await;
    let counter = namespace(&store, "a").get("counter").await.unwrap().unwrap();
    assert_eq!(counter, 200_u32.to_be_bytes());
}

/// Reads, then commits on the condition that nobody came between, until it succeeds.
async fn increment(space: &crate::Namespace) {
    loop {
        let old = space.get("counter").await.unwrap();
        let count = old.as_ref().map_or(0, |bytes| u32::from_be_bytes(bytes.as_slice().try_into().unwrap()));
        let changes = vec![expect("counter", old.as_deref()), put("counter", &(count + 1).to_be_bytes())];
        match space.commit(changes).await {
            Ok(()) => return,
            Err(error) => assert_eq!(error, conflict("counter")),
        }
    }
}
