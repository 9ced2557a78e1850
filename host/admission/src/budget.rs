//! The budget of concurrent calls of one backend. Owns counting only; what a refused call answers
//! is `error/status.rs`' decision. Reads keep a share of their own, so that a backlog of slow
//! changes never makes a backend look dead.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::courtesy::{self, Serving};

/// Which share of the budget a call draws from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// Calls that change something, and long reads.
    Change,
    /// Calls that only read.
    Read,
    /// The host's own calls: probe, recovery, background.
    Own,
}

/// A place in the budget, given back when dropped. The background gives way to a call that has one.
#[derive(Debug)]
#[expect(dead_code, reason = "held for their Drop")]
pub struct Slot(OwnedSemaphorePermit, Option<Serving<'static>>);

/// Counts the calls of one backend.
#[derive(Debug, Clone)]
pub struct Budget {
    change: Arc<Semaphore>,
    read: Arc<Semaphore>,
    own: Arc<Semaphore>,
}

/// Places that only the host itself may use: one probe, one recovery, and the background steps.
pub const OWN_SLOTS: usize = 16;

impl Budget {
    /// A budget of `calls` concurrent calls; a quarter of them (at least one) is for reads alone.
    pub fn new(calls: usize) -> Self {
        let read = (calls / 4).max(1);
        let change = calls.saturating_sub(read).max(1);
        Self {
            change: Arc::new(Semaphore::new(change)),
            read: Arc::new(Semaphore::new(read)),
            own: Arc::new(Semaphore::new(OWN_SLOTS)),
        }
    }

    /// How many instances can be alive at once under a budget of `calls`.
    pub const fn instances(calls: usize) -> usize {
        calls + 1 + OWN_SLOTS
    }

    /// Takes a place, or says that there is none now. A read that finds its own share used up may
    /// use the other one.
    pub fn take(&self, share: Share) -> Option<Slot> {
        let first = match share {
            Share::Change => &self.change,
            Share::Read => &self.read,
            Share::Own => &self.own,
        };
        let permit = Arc::clone(first).try_acquire_owned().ok();
        let permit = match (permit, share) {
            (None, Share::Read) => Arc::clone(&self.change).try_acquire_owned().ok(),
            (permit, _) => permit,
        };
        let is_call = share != Share::Own;
        permit.map(|permit| Slot(permit, is_call.then(courtesy::serving)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_cannot_use_up_what_reads_need() {
        let budget = Budget::new(4);
        let changes: Vec<_> = std::iter::from_fn(|| budget.take(Share::Change)).collect();
        assert_eq!(changes.len(), 3);
        assert!(budget.take(Share::Read).is_some());
    }

    #[test]
    fn reads_overflow_into_the_common_share() {
        let budget = Budget::new(4);
        let reads: Vec<_> = std::iter::from_fn(|| budget.take(Share::Read)).collect();
        assert_eq!(reads.len(), 4);
        assert!(budget.take(Share::Own).is_some(), "the host's own calls are never starved");
    }

    #[test]
    fn a_dropped_slot_can_be_taken_again() {
        let budget = Budget::new(1);
        let slot = budget.take(Share::Change);
        assert!(slot.is_some() && budget.take(Share::Change).is_none());
        drop(slot);
        assert!(budget.take(Share::Change).is_some());
    }
}
