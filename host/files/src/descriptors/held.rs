//! How many files and directories a backend holds open, all its calls together. The process has one table of
//! descriptors: without a bound one backend could leave none for connections.

use super::{Errno, OpError, OpResult};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// The descriptors of one backend.
#[derive(Debug, Clone)]
pub struct OpenFiles(Arc<Count>);

#[derive(Debug)]
struct Count {
    open: AtomicUsize,
    most: AtomicUsize,
}

/// One descriptor, counted until this is dropped.
#[derive(Debug)]
pub(super) struct Held(Arc<Count>);

impl OpenFiles {
    /// At most this many at once.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Count { open: AtomicUsize::new(0), most: AtomicUsize::new(most) }))
    }

    /// From now on this many. What is open stays open.
    pub fn allow(&self, most: usize) {
        self.0.most.store(most, Ordering::Relaxed);
    }

    /// How many are open now.
    pub fn open(&self) -> usize {
        self.0.open.load(Ordering::Relaxed)
    }

    /// Counts one more. None left is `ENOMEM`: `wasi:filesystem` has no code for a full table of descriptors.
    pub(super) fn take(&self) -> OpResult<Held> {
        let most = self.0.most.load(Ordering::Relaxed);
        let room = |open| (open < most).then_some(open + 1);
        match self.0.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room) {
            Ok(_) => Ok(Held(Arc::clone(&self.0))),
            Err(_) => Err(OpError::Refused(Errno::NOMEM)),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
