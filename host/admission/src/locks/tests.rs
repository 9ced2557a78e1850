//! The lock table against a model, and the rules it stands for.

use std::time::Duration;

use proptest::prelude::*;

use super::{Access, Guard, Holder, HolderKind, LockSet, LockTable, ObjectKind};

fn holder(operation: &'static str, kind: HolderKind) -> Holder {
    Holder { operation, call: "test".into(), kind }
}

fn call(operation: &'static str) -> Holder {
    holder(operation, HolderKind::Call)
}

fn volume(id: &str) -> LockSet {
    LockSet::none().exclusive(ObjectKind::Volume, id)
}

#[test]
fn a_conflict_names_the_pending_operation_and_the_object() {
    let table = LockTable::new();
    let _held = table.try_lock(&volume("v1"), &call("DeleteVolume")).unwrap();
    let conflict = table.try_lock(&volume("v1"), &call("NodeStageVolume")).unwrap_err();
    assert_eq!(conflict.to_string(), "DeleteVolume is pending for volume \"v1\"");
}

#[test]
fn shared_locks_go_together_and_keep_an_exclusive_one_out() {
    let table = LockTable::new();
    let source = || LockSet::none().shared(ObjectKind::Snapshot, "s");
    let first = table.try_lock(&source(), &call("CreateVolume")).unwrap();
    let second = table.try_lock(&source(), &call("CreateVolume")).unwrap();
    let delete = || LockSet::none().exclusive(ObjectKind::Snapshot, "s");
    drop(first);
    assert!(table.try_lock(&delete(), &call("DeleteSnapshot")).is_err());
    drop(second);
    assert!(table.try_lock(&delete(), &call("DeleteSnapshot")).is_ok());
    assert!(table.is_empty());
}

#[test]
fn a_set_is_taken_whole_or_not_at_all() {
    let table = LockTable::new();
    let _held = table.try_lock(&volume("b"), &call("DeleteVolume")).unwrap();
    let both = volume("a").exclusive(ObjectKind::Volume, "b");
    assert!(table.try_lock(&both, &call("CreateVolumeGroupSnapshot")).is_err());
    assert!(table.try_lock(&volume("a"), &call("DeleteVolume")).is_ok(), "a was not left locked");
}

#[test]
fn the_same_id_of_another_kind_is_another_object() {
    let table = LockTable::new();
    let _volume = table.try_lock(&volume("x"), &call("DeleteVolume")).unwrap();
    let name = LockSet::none().exclusive(ObjectKind::VolumeName, "x");
    assert!(table.try_lock(&name, &call("CreateVolume")).is_ok());
}

#[test]
fn extending_passes_over_what_the_call_holds_itself() {
    let table = LockTable::new();
    let mut guard = table.try_lock(&volume("a"), &call("DeleteVolumeGroup")).unwrap();
    let more = volume("a").exclusive(ObjectKind::Volume, "b");
    guard.extend(&more, &call("DeleteVolumeGroup")).unwrap();
    assert!(table.try_lock(&volume("b"), &call("DeleteVolume")).is_err());
    drop(guard);
    assert!(table.is_empty());
}

#[tokio::test]
async fn a_call_waits_for_a_step_and_not_for_a_call() {
    let table = LockTable::new();
    let patience = Duration::from_millis(50);
    let step = table.try_lock(&volume("v"), &holder("background step", HolderKind::Step)).unwrap();
    let waiting = {
        let table = table.clone();
        tokio_util::task::TaskTracker::new()
            .spawn(async move { table.lock_after_steps(&volume("v"), &call("DeleteVolume"), patience).await })
    };
    tokio::task::yield_now().await;
    drop(step);
    let guard: Guard = waiting.await.unwrap().expect("the step has ended");

    let begin = tokio::time::Instant::now();
    let refused = table.lock_after_steps(&volume("v"), &call("NodeStageVolume"), patience).await;
    assert!(refused.is_err() && begin.elapsed() < patience, "calls are never waited for");
    drop(guard);

    let _step = table.try_lock(&volume("v"), &holder("background step", HolderKind::Step)).unwrap();
    let begin = tokio::time::Instant::now();
    assert!(table.lock_after_steps(&volume("v"), &call("DeleteVolume"), patience).await.is_err());
    assert!(begin.elapsed() >= patience);
}

/// Members become known only under the group's lock; a step on one of them is waited for all the same.
#[tokio::test]
async fn an_extension_waits_for_a_step_and_not_for_a_call() {
    let table = LockTable::new();
    let patience = Duration::from_millis(50);
    let delete = call("DeleteVolumeGroup");
    let mut guard = table.try_lock(&LockSet::none().exclusive(ObjectKind::VolumeGroup, "g"), &delete).unwrap();
    let step = table.try_lock(&volume("v"), &holder("background step", HolderKind::Step)).unwrap();
    let waiting = tokio_util::task::TaskTracker::new().spawn(async move {
        guard.extend_after_steps(&volume("v"), &delete, patience).await.unwrap();
        guard
    });
    tokio::task::yield_now().await;
    drop(step);
    let guard = waiting.await.unwrap();
    assert!(table.try_lock(&volume("v"), &call("DeleteVolume")).is_err());
    drop(guard);
    assert!(table.is_empty());

    let _held = table.try_lock(&volume("v"), &call("PromoteVolume")).unwrap();
    let mut guard = table.try_lock(&volume("w"), &call("x")).unwrap();
    let begin = tokio::time::Instant::now();
    assert!(guard.extend_after_steps(&volume("v"), &call("x"), patience).await.is_err());
    assert!(begin.elapsed() < patience, "calls are never waited for");
}

proptest! {
    /// Random takings and releases: never two holders where one is exclusive, never a refusal
    /// without a reason, and an empty table at the end.
    #[test]
    fn agrees_with_a_plain_model(ops in prop::collection::vec((0..6_usize, prop::collection::vec((0..4_u8, any::<bool>()), 0..4)), 1..60)) {
        let table = LockTable::new();
        let mut held: Vec<Option<(Guard, LockSet)>> = (0..6).map(|_| None).collect();
        for (slot, wanted) in ops {
            if held[slot].take().is_some() {
                continue;
            }
            let set = wanted.iter().fold(LockSet::none(), |set, (id, exclusive)| {
                let access = if *exclusive { Access::Exclusive } else { Access::Shared };
                set.with(ObjectKind::Volume, &id.to_string(), access)
            });
            let clash = held.iter().flatten().flat_map(|(_, other)| other.iter()).any(|(key, access)| {
                set.iter().any(|(k, a)| k == key && (*a == Access::Exclusive || *access == Access::Exclusive))
            });
            match table.try_lock(&set, &call("x")) {
                Ok(guard) => {
                    prop_assert!(!clash);
                    held[slot] = Some((guard, set));
                }
                Err(_) => prop_assert!(clash),
            }
        }
        held.clear();
        prop_assert!(table.is_empty());
    }
}
