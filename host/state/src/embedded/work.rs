//! Work for the writer, and the one who waits for it. Owns what work weighs in the queue; does none of it.

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::limits::commit_size;
use crate::{Change, Quota, StateError};

/// Most KiB in one transaction: it has to fit well into redb's write buffer.
pub(super) const MAX_GROUP_KIB: u32 = 8 * 1024;

/// Something to do in one step.
#[derive(Debug)]
pub(super) enum Work {
    Commit { namespace: String, quota: Quota, changes: Vec<Change> },
    Copy { from: String, to: String, quota: Quota },
    DeleteAll { namespace: String },
}

impl Work {
    /// KiB that the work holds in memory, at least one.
    pub(super) fn weight(&self) -> u32 {
        let bytes = match self {
            Self::Commit { changes, .. } => commit_size(changes),
            Self::Copy { .. } | Self::DeleteAll { .. } => 0,
        };
        u32::try_from(bytes.div_ceil(1024)).map_or(MAX_GROUP_KIB, |kib| kib.clamp(1, MAX_GROUP_KIB))
    }
}

/// Work with the one who waits for it.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) answer: oneshot::Sender<Result<(), StateError>>,
    pub(super) room: OwnedSemaphorePermit,
}

/// What the writer's thread receives.
pub(super) enum Message {
    Job(Box<Job>),
    /// A reader met a failure: see whether the store has to be reopened.
    Recover,
}

impl Job {
    /// Makes room in the queue, then answers. A caller that has gone does not mind.
    pub(super) fn finish(self, verdict: Result<(), StateError>) {
        drop(self.room);
        drop(self.answer.send(verdict));
    }
}
