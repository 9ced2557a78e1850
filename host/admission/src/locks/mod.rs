//! Locks on objects: which calls may run at the same time. Pure bookkeeping under one short
//! mutex; it never waits and holds nothing across an await.
//!
//! A lock is taken by a call as a whole set or not at all, so two calls can never wait for each
//! other. The holder's operation is remembered, because ABORTED must name what is pending (E-07).

mod guard;
mod set;
mod table;
#[cfg(test)]
mod tests;

pub use guard::Guard;
pub use set::{LockSet, ObjectKey, ObjectKind};
pub use table::LockTable;

/// How a call uses an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// It reads it (the source of a clone): others may read it too.
    Shared,
    /// It changes it: nobody else may use it.
    Exclusive,
}

/// What kind of work holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HolderKind {
    /// A client's call: a conflicting call is told at once.
    Call,
    /// A background step: short by contract, so a call may wait for it a moment.
    Step,
}

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The operation, for example `CreateVolume`.
    pub operation: &'static str,
    /// The id of the call or step, as it stands in the log.
    pub call: String,
    /// Whether it is a call or a step.
    pub kind: HolderKind,
}

/// Why a lock set was not granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pending} is pending for {object}")]
pub struct Conflict {
    /// The object that is in use.
    pub object: ObjectKey,
    /// The operation that uses it.
    pub pending: &'static str,
    /// What kind of work it is.
    pub kind: HolderKind,
}
