//! The requests that the handle makes by itself, and the answer that fits no request.
//!
//! Pure words. It must not know the handle, which all the others here are about.

use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Answer, Caller, Operation, Request};

/// The host itself, outside of any call.
pub(super) fn nobody(backend: &str) -> Caller {
    Caller { backend: backend.to_owned(), call: String::new(), volumes: Vec::new(), paths: Vec::new() }
}

/// Compares ledger and system.
pub(super) fn recovery() -> Request {
    Request { caller: nobody(""), operation: Operation::Recover }
}

/// Has the operator's configuration read again, for a backend.
pub(super) fn rereading(backend: &str) -> Request {
    Request { caller: nobody(backend), operation: Operation::Reread }
}

/// Both ends are the same binary, so this is a mistake of ours.
pub(super) fn unexpected(answer: &Answer) -> NodeError {
    let kind = std::mem::discriminant(answer);
    NodeError::new(ErrorCode::Failed, format!("the node helper gave an answer of another kind: {kind:?}"))
}
