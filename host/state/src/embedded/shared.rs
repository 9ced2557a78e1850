//! What callers and the writer's thread share: the work that was handed in, and who has ended.
//!
//! Owns the handing over; the order is `fair_queue`'s. Work for which there is no room is refused and does not wait: what waits
//! holds memory wherever it does so, and the memory that a backend can make the host hold has to be bounded.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::fair_queue::FairQueue;
use super::work::Job;
use crate::StateError;

/// Why nothing is done any more.
pub(super) const STOPPED: &str = "its writer has ended; restart the host";

/// What callers and the writer's thread share.
pub(super) struct Shared {
    inside: Mutex<Inside>,
    changed: Condvar,
}

struct Inside {
    fair_queue: FairQueue<Job>,
    /// A reader met a failure: see whether the store has to be reopened.
    is_failing: bool,
    /// No caller comes any more.
    is_closing: bool,
    /// The writer has ended, so nothing is done any more.
    has_ended: bool,
}

/// What the writer is to do next.
pub(super) struct Next {
    /// A reader met a failure.
    pub(super) is_failing: bool,
    /// The work of the next transaction; may be empty when a reader met a failure.
    pub(super) group: Vec<Job>,
}

impl Shared {
    pub(super) fn new() -> Self {
        let inside = Inside { fair_queue: FairQueue::new(), is_failing: false, is_closing: false, has_ended: false };
        Self { inside: Mutex::new(inside), changed: Condvar::new() }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands work in, where there is room.
    pub(super) fn submit(&self, job: Job) -> Result<(), StateError> {
        let mut inside = self.inside();
        if inside.has_ended {
            return Err(StateError::Unavailable(STOPPED.to_owned()));
        }
        let most = job.work.most_held();
        if inside.fair_queue.push(job, most).is_some() {
            return Err(StateError::Busy { limit: most });
        }
        drop(inside);
        self.changed.notify_one();
        Ok(())
    }

    /// A reader met a failure; many before the writer looks after it count as one.
    pub(super) fn is_failing(&self) {
        self.notify(|inside| inside.is_failing = true);
    }

    /// No caller comes any more.
    pub(super) fn close(&self) {
        self.notify(|inside| inside.is_closing = true);
    }

    fn notify(&self, change: impl FnOnce(&mut Inside)) {
        change(&mut self.inside());
        self.changed.notify_one();
    }

    /// Waits until there is something to do. None: all callers are gone and all work is taken.
    pub(super) fn next(&self) -> Option<Next> {
        let idle = |inside: &mut Inside| inside.fair_queue.is_empty() && !inside.is_failing && !inside.is_closing;
        let waited = self.changed.wait_while(self.inside(), idle);
        let mut inside = waited.unwrap_or_else(PoisonError::into_inner);
        let is_failing = std::mem::take(&mut inside.is_failing);
        let group = inside.fair_queue.next_group();
        (is_failing || !group.is_empty()).then_some(Next { is_failing, group })
    }

    /// Makes room, then answers: who hears of the end of its commit finds room for the next. A
    /// caller that has gone does not mind.
    pub(super) fn finish(&self, job: Job, verdict: Result<(), StateError>) {
        self.inside().fair_queue.release(&job);
        drop(job.answer.send(verdict));
    }

    /// A piece of the work was done; the next one's turn comes again.
    pub(super) fn put_back(&self, job: Job) {
        self.inside().fair_queue.put_back(job);
    }

    /// The writer has ended: all waiters are told.
    pub(super) fn end(&self) {
        let mut inside = self.inside();
        inside.has_ended = true;
        inside.fair_queue = FairQueue::new();
    }
}
