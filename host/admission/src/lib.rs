//! Admission: whether a call may start now. Owns the locks on objects, the budget of concurrent
//! calls and the reading of deadlines; knows nothing of gRPC or of components.
//!
//! Everything here answers at once (a client repeats an ABORTED call by itself, so queueing would
//! only hide who is waiting for whom); the one exception is a short wait for a background step. The background waits a
//! little for calls in turn.

pub mod budget;
pub mod courtesy;
pub mod deadline;
pub mod locks;

pub use budget::{Budget, Slot};
pub use deadline::Deadline;
pub use locks::{Access, Conflict, Guard, Holder, LockSet, LockTable, ObjectKey, ObjectKind};
