//! Work for the writer, and the one who waits for it. Owns what work weighs in the queue; does none of it.

use tokio::sync::oneshot;

use super::fair_queue::Piece;
use crate::limits::commit_size;
use crate::{Change, Quota, StateError};

/// What work costs whose size is only found out when it is done.
const LARGE: u64 = 1024 * 1024;
/// What a change costs beside its bytes: the page that it is written to.
const PAGE: u64 = 4096;
/// What a commit and each of its changes hold beside their bytes.
const HELD_PER_COMMIT: u64 = 1024;
const HELD_PER_CHANGE: u64 = 64;

/// Something to do in one step.
#[derive(Debug)]
pub(super) enum Work {
    Commit { namespace: String, quota: Quota, changes: Vec<Change> },
    Copy { from: String, to: String, quota: Quota },
    DeleteAll { namespace: String },
}

impl Work {
    /// Bytes that the namespace's work may hold; none: as many as it takes, since only the host asks for it.
    pub(super) fn most_held(&self) -> u64 {
        match self {
            Self::Commit { quota, .. } => quota.waiting,
            Self::Copy { .. } | Self::DeleteAll { .. } => u64::MAX,
        }
    }
}

impl Piece for Work {
    fn namespace(&self) -> &str {
        match self {
            Self::Commit { namespace, .. } | Self::DeleteAll { namespace } => namespace,
            Self::Copy { to, .. } => to,
        }
    }

    fn cost(&self) -> u64 {
        match self {
            Self::Commit { changes, .. } => bytes(commit_size(changes)).saturating_add(each(changes, PAGE)),
            Self::Copy { .. } | Self::DeleteAll { .. } => LARGE,
        }
    }

    fn held(&self) -> u64 {
        let held = match self {
            Self::Commit { changes, .. } => bytes(commit_size(changes)).saturating_add(each(changes, HELD_PER_CHANGE)),
            Self::Copy { .. } | Self::DeleteAll { .. } => 0,
        };
        held.saturating_add(HELD_PER_COMMIT)
    }

    fn has_parts(&self) -> bool {
        matches!(self, Self::Copy { .. })
    }
}

/// So many bytes for each of the changes.
fn each(changes: &[Change], so_many: u64) -> u64 {
    bytes(changes.len()).saturating_mul(so_many)
}

fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Work with the one who waits for it.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) answer: oneshot::Sender<Result<(), StateError>>,
}

impl Piece for Job {
    fn namespace(&self) -> &str {
        self.work.namespace()
    }

    fn cost(&self) -> u64 {
        self.work.cost()
    }

    fn held(&self) -> u64 {
        self.work.held()
    }

    fn has_parts(&self) -> bool {
        self.work.has_parts()
    }
}
