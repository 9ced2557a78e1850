//! Sizes, names, quotas and read-only views: each limit at its edge and one beyond.

use std::sync::Arc;

use super::{Disk, conflict, delete, expect, namespace, put, store_on, with_quota};
use crate::embedded::EmbeddedStore;
use crate::{
    Access, Change, MAX_COMMIT_BYTES, MAX_COMMIT_CHANGES, MAX_KEY_BYTES, MAX_NAME_BYTES, MAX_PAGE_BYTES,
    MAX_PAGE_ENTRIES, MAX_VALUE_BYTES, Namespace, Quota, StateError, Unit, Usage,
};

fn fresh() -> Arc<EmbeddedStore> {
    store_on(&Disk::default())
}

fn too_large(outcome: Result<(), StateError>) -> usize {
    match outcome {
        Err(StateError::TooLarge { limit, .. }) => limit,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn keys_and_values_are_accepted_up_to_their_limits() {
    let space = namespace(&fresh(), "a");
    let (key, value) = ("k".repeat(MAX_KEY_BYTES), vec![1; MAX_VALUE_BYTES]);
    space.commit(vec![put(&key, &value)]).await.unwrap();
    assert_eq!(space.get(&key).await.unwrap().unwrap(), value);

    let longer = format!("{key}k");
    assert_eq!(too_large(space.get(&longer).await.map(drop)), MAX_KEY_BYTES);
    let larger = vec![1; MAX_VALUE_BYTES + 1];
    for (change, limit) in [
        (put(&longer, b""), MAX_KEY_BYTES),
        (delete(&longer), MAX_KEY_BYTES),
        (expect(&longer, None), MAX_KEY_BYTES),
        (put("key", &larger), MAX_VALUE_BYTES),
        (expect("key", Some(&larger)), MAX_VALUE_BYTES),
    ] {
        assert_eq!(too_large(space.commit(vec![change]).await), limit);
    }
}

#[tokio::test]
async fn malformed_keys_and_names_are_refused() {
    let store = fresh();
    let space = namespace(&store, "a");
    for key in ["", "\0", "a\0b"] {
        for change in [put(key, b""), delete(key), expect(key, None)] {
            let refused = space.commit(vec![put("good", b""), change]).await;
            assert!(matches!(refused, Err(StateError::InvalidKey { .. })), "{key:?}");
        }
        let read = space.get(key).await;
        assert!(matches!(read, Err(StateError::InvalidKey { .. })), "{key:?}");
        let named = Namespace::new(Arc::clone(&store) as _, key, Quota::default());
        assert!(matches!(named, Err(StateError::InvalidKey { .. })), "{key:?}");
    }
    let long = "n".repeat(MAX_NAME_BYTES + 1);
    let named = Namespace::new(Arc::clone(&store) as _, &long, Quota::default());
    assert_eq!(too_large(named.map(drop)), MAX_NAME_BYTES);
    assert_eq!(space.used().await.unwrap(), Usage::default());
}

#[tokio::test]
async fn a_commit_has_a_largest_size_and_number_of_changes() {
    let space = namespace(&fresh(), "a");
    let many = |count: usize| -> Vec<Change> { (0..count).map(|number| put(&format!("{number}"), b"")).collect() };
    assert_eq!(too_large(space.commit(many(MAX_COMMIT_CHANGES + 1)).await), MAX_COMMIT_CHANGES);
    space.commit(many(MAX_COMMIT_CHANGES)).await.unwrap();

    let value = vec![0; MAX_COMMIT_BYTES / 4 - 1];
    let mut whole: Vec<Change> = ["a", "b", "c", "d"].map(|key| put(key, &value)).into();
    space.commit(whole.clone()).await.unwrap();
    whole.push(delete("e"));
    assert_eq!(too_large(space.commit(whole).await), MAX_COMMIT_BYTES);
    assert!(space.get("a").await.unwrap().is_some());
}

#[tokio::test]
async fn a_page_holds_so_many_entries_and_bytes_but_at_least_one_entry() {
    let space = namespace(&fresh(), "a");
    let small: Vec<Change> = (0..1_024).map(|n| put(&format!("s{n:04}"), b"")).collect();
    space.commit(small).await.unwrap();
    for (limit, count) in [(0, MAX_PAGE_ENTRIES), (1, 1), (999, 999), (u32::MAX, MAX_PAGE_ENTRIES)] {
        assert_eq!(space.range("s", None, limit).await.unwrap().len(), count);
    }

    let third = vec![0; MAX_PAGE_BYTES / 3];
    for key in ["l1", "l2", "l3", "l4"] {
        space.commit(vec![put(key, &third)]).await.unwrap();
    }
    assert_eq!(space.range("l", None, 0).await.unwrap().len(), 2);

    let key = "x".repeat(MAX_KEY_BYTES);
    let whole = put(&key, &vec![0; MAX_VALUE_BYTES]);
    space.commit(vec![whole, put("xx", b"")]).await.unwrap();
    assert_eq!(space.range("xxx", None, 0).await.unwrap().len(), 1);
    assert_eq!(space.range("xx", Some("xx"), 0).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_quota_counts_bytes_of_keys_and_values() {
    let quota = Quota { bytes: 10, keys: 100, ..Quota::default() };
    let space = with_quota(&fresh(), "a", quota);
    space.commit(vec![put("key", b"1234567")]).await.unwrap();
    let exceeded = StateError::QuotaExceeded { used: 10, limit: 10, unit: Unit::Bytes };
    assert_eq!(space.commit(vec![put("key", b"12345678")]).await, Err(exceeded.clone()));
    assert_eq!(space.commit(vec![put("k", b"")]).await, Err(exceeded));
    // What counts is where a commit ends, not what it passes on the way.
    space.commit(vec![put("k", b"123456789"), delete("key")]).await.unwrap();
    assert_eq!(space.used().await.unwrap(), Usage { bytes: 10, keys: 1 });
}

#[tokio::test]
async fn the_quota_counts_keys() {
    let quota = Quota { bytes: 1_000, keys: 2, ..Quota::default() };
    let space = with_quota(&fresh(), "a", quota);
    space.commit(vec![put("1", b""), put("2", b"")]).await.unwrap();
    let exceeded = StateError::QuotaExceeded { used: 2, limit: 2, unit: Unit::Keys };
    assert_eq!(space.commit(vec![put("3", b"")]).await, Err(exceeded));
    space.commit(vec![put("1", b"new"), delete("2"), put("3", b"")]).await.unwrap();
}

#[tokio::test]
async fn a_namespace_above_a_lowered_quota_can_shrink_but_not_grow() {
    let store = fresh();
    let large = namespace(&store, "a");
    large.commit(vec![put("1", b"12345"), put("2", b"12345")]).await.unwrap();
    let lowered = with_quota(&store, "a", Quota { bytes: 4, keys: 1, ..Quota::default() });
    lowered.commit(vec![put("1", b"1234")]).await.unwrap();
    lowered.commit(vec![put("1", b"12345")]).await.unwrap_err();
    lowered.commit(vec![delete("1"), delete("2")]).await.unwrap();
    assert_eq!(lowered.used().await.unwrap(), Usage::default());
}

#[tokio::test]
async fn a_conflict_is_told_before_an_exceeded_quota() {
    let space = with_quota(&fresh(), "a", Quota { bytes: 1, keys: 1, ..Quota::default() });
    let both = space.commit(vec![put("long", b"value"), expect("other", Some(b""))]);
    assert_eq!(both.await, Err(conflict("other")));
}

#[tokio::test]
async fn a_read_only_view_reads_and_refuses_every_change() {
    let store = fresh();
    let space = namespace(&store, "a");
    space.commit(vec![put("key", b"value")]).await.unwrap();
    let view = space.read_only();
    assert_eq!((view.access(), view.name()), (Access::ReadOnly, "a"));
    assert_eq!(view.get("key").await.unwrap().unwrap(), b"value");
    assert_eq!(view.range("", None, 0).await.unwrap().len(), 1);
    assert_eq!(view.used().await.unwrap().keys, 1);
    let refused = [
        view.commit(vec![put("key", b"")]).await,
        view.commit(vec![expect("key", None)]).await,
        view.delete_all().await,
        namespace(&store, "b").copy_to(&view).await,
    ];
    assert!(refused.iter().all(|outcome| *outcome == Err(StateError::ReadOnly)));
    assert_eq!(space.get("key").await.unwrap().unwrap(), b"value");
    let copy = namespace(&store, "copy");
    view.copy_to(&copy).await.unwrap();
    assert_eq!(copy.get("key").await.unwrap().unwrap(), b"value");
}

#[tokio::test]
async fn a_copy_replaces_its_target_within_the_targets_quota() {
    let store = fresh();
    let source = namespace(&store, "source");
    let target = namespace(&store, "target");
    source.commit(vec![put("1", b"one"), put("2", b"two")]).await.unwrap();
    target.commit(vec![put("3", b"three")]).await.unwrap();
    let tight = with_quota(&store, "target", Quota { bytes: 7, keys: 9, ..Quota::default() });
    let exceeded = source.copy_to(&tight).await;
    assert!(matches!(exceeded, Err(StateError::QuotaExceeded { .. })));
    assert!(target.get("3").await.unwrap().is_some());

    source.copy_to(&target).await.unwrap();
    source.commit(vec![delete("1")]).await.unwrap();
    let keys: Vec<_> = target.range("", None, 0).await.unwrap();
    assert_eq!(keys.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(target.used().await.unwrap(), Usage { bytes: 8, keys: 2 });

    namespace(&store, "empty").copy_to(&target).await.unwrap();
    assert_eq!(target.used().await.unwrap(), Usage::default());
    assert_eq!(target.range("", None, 0).await.unwrap(), []);
}

#[tokio::test]
async fn a_copy_onto_itself_is_refused() {
    let space = namespace(&fresh(), "a");
    space.commit(vec![put("key", b"")]).await.unwrap();
    let refused = space.copy_to(&space.clone()).await;
    assert!(matches!(refused, Err(StateError::InvalidKey { .. })));
    assert!(space.get("key").await.unwrap().is_some());
}

#[tokio::test]
async fn a_copy_into_another_store_is_refused() {
    let (one, other) = (fresh(), fresh());
    let refused = namespace(&one, "a").copy_to(&namespace(&other, "b")).await;
    assert!(matches!(refused, Err(StateError::InvalidKey { .. })));
}
