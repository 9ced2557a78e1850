//! Backends take turns at the disk: who commits much neither delays nor refuses who commits little.

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
        let changes = vec![put(key, value)];
        let mut commit: Pending<'a, _> = Box::pin(space.commit(changes));
        let waker = Waker::from(Arc::new(Note(self.pending.len(), self.note.clone())));
        assert!(commit.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        self.pending.push(commit);
    }

    fn order(&self) -> Vec<usize> {
        self.answers.iter().take(self.pending.len()).collect()
    }
}

#[test]
fn a_neighbour_is_answered_before_the_large_commits_that_came_first() {
    let disk = Disk::default();
    let store = store_on(&disk);
    let (hostile, neighbour) = (namespace(&store, "hostile"), namespace(&store, "neighbour"));
    disk.hold_syncs();
    let mut queued = Queued::new();
    queued.commit(&hostile, "first", b"");
    disk.wait_for_held_sync();
    for number in 0..12 {
        queued.commit(&hostile, &format!("{number}"), &vec![0; MAX_VALUE_BYTES]);
    }
    queued.commit(&neighbour, "key", b"value");
    disk.release_syncs();
    let order = queued.order();
    let place = order.iter().position(|number| *number == 13).unwrap();
    assert!(place <= 2, "one group that is under way, one in front: {order:?}");
    let of_hostile: Vec<_> = order.into_iter().filter(|number| *number != 13).collect();
    assert!(of_hostile.is_sorted(), "{of_hostile:?}");
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
