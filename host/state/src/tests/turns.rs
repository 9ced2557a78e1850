//! What waits of a namespace is bounded, and a copy gives way.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Wake, Waker};

use super::{Disk, Pending, namespace, put, store_on, with_quota};
use crate::{MAX_COMMIT_BYTES, MAX_VALUE_BYTES, Namespace, Quota, StateError};

/// Notes the order in which answers come.
struct Note(usize, Sender<usize>);

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        let _ = self.1.send(self.0);
    }
}

/// Commits that were queued in their order, and the order in which they are answered.
struct Queued<'a> {
    pending: Vec<Pending<'a, Result<(), StateError>>>,
    answers: Receiver<usize>,
    note: Sender<usize>,
}

impl<'a> Queued<'a> {
    fn new() -> Self {
        let (note, answers) = channel();
        Self { pending: Vec::new(), answers, note }
    }

    fn commit(&mut self, space: &'a Namespace, key: &str, value: &[u8]) {
        self.add(Box::pin(space.commit(vec![put(key, value)])));
    }

    fn add(&mut self, mut work: Pending<'a, Result<(), StateError>>) {
        let waker = Waker::from(Arc::new(Note(self.pending.len(), self.note.clone())));
        assert!(work.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        self.pending.push(work);
    }

    fn order(&self) -> Vec<usize> {
        self.answers.iter().take(self.pending.len()).collect()
    }
}

#[tokio::test]
async fn who_lets_too_much_wait_is_refused_and_nobody_else() {
    let disk = Disk::default();
    let store = store_on(&disk);
    let quota = Quota { waiting: u64::try_from(2 * MAX_VALUE_BYTES).unwrap(), ..Quota::default() };
    let (hostile, neighbour) = (with_quota(&store, "hostile", quota), namespace(&store, "neighbour"));
    let large = || vec![put("large", &vec![0; MAX_VALUE_BYTES])];
    disk.hold_syncs();
    let first = super::started(hostile.commit(large()));
    disk.wait_for_held_sync();
    // What is being done holds memory, too.
    assert_eq!(hostile.commit(large()).await, Err(StateError::Busy { limit: quota.waiting }));
    let little = super::started(hostile.commit(vec![put("little", b"")]));
    let other = super::started(neighbour.commit(large()));
    disk.release_syncs();
    for commit in [first, little, other] {
        super::finished(commit).await.unwrap();
    }
    hostile.commit(large()).await.unwrap();
    assert_eq!(hostile.used().await.unwrap().keys, 2, "what was refused was not done");
}

#[tokio::test]
async fn one_commit_of_the_largest_size_is_never_refused_for_what_waits() {
    let store = store_on(&Disk::default());
    let space = with_quota(&store, "a", Quota { waiting: 1, ..Quota::default() });
    let value = vec![0; MAX_COMMIT_BYTES / 4 - 1];
    space.commit(["a", "b", "c", "d"].map(|key| put(key, &value)).into()).await.unwrap();
}

/// Fills a namespace with so many MiB.
async fn fill(space: &Namespace, mebibytes: usize, byte: u8) {
    for number in 0..mebibytes {
        space.commit(vec![put(&format!("{number:03}"), &vec![byte; MAX_VALUE_BYTES])]).await.unwrap();
    }
}

#[tokio::test]
async fn a_copy_gives_way_to_commits_and_is_of_one_moment() {
    let disk = Disk::default();
    let store = store_on(&disk);
    let (source, target) = (namespace(&store, "a"), namespace(&store, "copy"));
    fill(&source, 8, 1).await;
    target.commit(vec![put("old", b"")]).await.unwrap();
    let before = store.durable_transactions();
    disk.hold_syncs();
    let mut queued = Queued::new();
    queued.add(Box::pin(source.copy_to(&target)));
    disk.wait_for_held_sync();
    // The first piece is under way: these come between it and the last.
    queued.commit(&source, "000", b"changed");
    queued.commit(&target, "behind", b"");
    disk.release_syncs();
    assert_eq!(queued.order(), [1, 0, 2], "the copy gives way, and its target's commits wait for it");
    for work in queued.pending {
        work.await.unwrap();
    }
    assert_eq!(store.durable_transactions() - before, 8 + 2, "a piece for each MiB");
    assert_eq!(target.get("000").await.unwrap().unwrap(), vec![1; MAX_VALUE_BYTES], "as it was when the copy began");
    let keys = [("old", false), ("007", true), ("behind", true)];
    for (key, is_there) in keys {
        assert_eq!(target.get(key).await.unwrap().is_some(), is_there, "{key}");
    }
    assert_eq!(target.used().await.unwrap().keys, 9);
}

#[tokio::test]
async fn a_copy_that_a_power_cut_ends_leaves_its_target_as_it_was() {
    let mut ended = Vec::new();
    for fuse in [0, 3, 6, 10, 15, 20, 30, 1_000] {
        let disk = Disk::default();
        let store = store_on(&disk);
        let (source, target) = (namespace(&store, "a"), namespace(&store, "copy"));
        fill(&source, 4, 1).await;
        fill(&target, 2, 2).await;
        disk.light_fuse(fuse);
        let copied = source.copy_to(&target).await;
        let left = Disk::with_image(disk.image_after_power_cut(|| true));
        let store = super::reopened(&left);
        let target = namespace(&store, "copy");
        let used = target.used().await.unwrap();
        let (keys, byte) = if used.keys == 4 { (4, 1) } else { (2, 2) };
        assert!(used.keys == keys && (copied.is_err() || keys == 4), "{fuse}: {used:?} {copied:?}");
        for number in 0..keys {
            let value = target.get(&format!("{number:03}")).await.unwrap().unwrap();
            assert!(value.iter().all(|found| *found == byte), "{fuse}: {number} is torn");
        }
        ended.push(copied.is_ok());
        // What it left is gone, and it can be done again.
        namespace(&store, "a").copy_to(&target).await.unwrap();
        assert_eq!(target.used().await.unwrap().keys, 4);
    }
    assert!(ended.iter().filter(|is_done| !**is_done).count() >= 4 && ended.contains(&true), "{ended:?}");
}
