//! A failing disk gives clear errors, and the store comes back where it can be trusted again.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::disk::Fault;
use super::{Disk, conflict, expect, namespace, put, reopened, store_on};
use crate::embedded::{Backing, EmbeddedStore};
use crate::{MAX_VALUE_BYTES, Namespace, StateError};

fn unavailable(outcome: Result<(), StateError>) -> String {
    match outcome {
        Err(StateError::Unavailable(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// Fills the disk's allocated part, so that the next large value needs new room.
async fn commit_large(space: &Namespace, key: &str) -> Result<(), StateError> {
    space.commit(vec![put(key, &vec![7; MAX_VALUE_BYTES])]).await
}

#[tokio::test]
async fn a_full_disk_refuses_commits_and_the_store_goes_on_once_there_is_room() {
    let disk = Disk::default();
    let store = store_on(&disk);
    let space = namespace(&store, "a");
    space.commit(vec![put("kept", b"yes")]).await.unwrap();

    disk.set_fault(Fault::Full);
    let why = unavailable(commit_large(&space, "large").await);
    assert!(why.contains("disk is full; free some space"), "{why}");
    assert_eq!(space.get("kept").await.unwrap().unwrap(), b"yes");
    assert_eq!(space.get("large").await.unwrap(), None);

    disk.set_fault(Fault::Nothing);
    commit_large(&space, "large").await.unwrap();
    let after = vec![expect("kept", Some(b"yes"))];
    space.commit(after).await.unwrap();
    drop((space, store));
    let space = namespace(&reopened(&disk), "a");
    assert!(space.get("large").await.unwrap().is_some());
}

#[tokio::test]
async fn after_a_failed_sync_nothing_is_acknowledged_until_a_restart() {
    let disk = Disk::default();
    let store = store_on(&disk);
    let space = namespace(&store, "a");
    space.commit(vec![put("kept", b"yes")]).await.unwrap();

    disk.set_fault(Fault::SyncFails);
    unavailable(space.commit(vec![put("doubtful", b"")]).await);
    disk.set_fault(Fault::Nothing);
    let why = unavailable(space.commit(vec![put("later", b"")]).await);
    assert!(why.contains("restart the host"), "{why}");
    let read = space.get("kept").await.map(drop);
    assert!(unavailable(read).contains("restart the host"));

    drop((space, store));
    let space = namespace(&reopened(&disk), "a");
    assert_eq!(space.get("kept").await.unwrap().unwrap(), b"yes");
    assert_eq!(space.get("later").await.unwrap(), None);
}

#[tokio::test]
async fn a_store_that_readers_found_unreadable_opens_again_without_a_commit_failing() {
    let disk = Disk::default();
    let store = store_on(&disk);
    let space = namespace(&store, "a");
    // More than the cache holds, so that some read has to go to the disk.
    for number in 0..48 {
        commit_large(&space, &format!("{number}")).await.unwrap();
    }
    disk.set_fault(Fault::ReadFails);
    let mut failed = 0;
    for number in 0..48 {
        failed += u32::from(space.get(&format!("{number}")).await.is_err());
    }
    assert!(failed > 0);
    disk.set_fault(Fault::Nothing);
    // Queued behind the readers' request to recover.
    let refused = space.commit(vec![expect("0", None)]).await;
    assert_eq!(refused, Err(conflict("0")));
    for number in 0..48 {
        assert!(space.get(&format!("{number}")).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_disk_that_is_gone_is_reported_to_readers_and_writers() {
    let disk = Disk::default();
    let store = store_on(&disk);
    let space = namespace(&store, "a");
    disk.set_fault(Fault::PowerGone);
    unavailable(space.commit(vec![put("key", b"")]).await);
    let why = unavailable(space.get("key").await.map(drop));
    assert!(!why.contains("disk: "), "no host detail: {why}");
    assert!(why.contains("the host's log"), "{why}");
}

#[tokio::test]
async fn a_store_that_was_replaced_meanwhile_is_not_taken_for_the_old_one() {
    let (disk, other) = (Disk::default(), Disk::default());
    namespace(&store_on(&other), "a").commit(vec![put("foreign", b"")]).await.unwrap();
    let current = Arc::new(Mutex::new(disk.clone()));
    let opener = Arc::clone(&current);
    let backing = Backing::new(PathBuf::from("disk"), move || Ok(Box::new(opener.lock().unwrap().clone())));
    let store = Arc::new(EmbeddedStore::create_on(&backing).unwrap());
    let space = namespace(&store, "a");
    *current.lock().unwrap() = other;
    disk.set_fault(Fault::Full);
    unavailable(commit_large(&space, "large").await);
    let why = unavailable(space.get("foreign").await.map(drop));
    assert!(why.contains("replaced"), "{why}");
}
