//! What bodies are held against: how much one call may still move, and the record of it. Knows no body.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::audit::Record;

/// What one call may still send and receive, all its requests together.
#[derive(Debug)]
pub struct Allowance {
    bytes: AtomicU64,
    requests: AtomicU64,
}

impl Allowance {
    /// So many bytes and requests.
    pub const fn new(bytes: u64, requests: u64) -> Self {
        Self { bytes: AtomicU64::new(bytes), requests: AtomicU64::new(requests) }
    }

    /// Takes so many bytes; whether they were left.
    fn take(&self, bytes: u64) -> bool {
        let left = |left: u64| left.checked_sub(bytes);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok()
    }

    /// Takes a request; how many were left before it.
    pub(super) fn request(&self) -> u64 {
        let less = |left: u64| left.checked_sub(1);
        self.requests.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).unwrap_or(0)
    }
}

/// What every part of a body is held against.
#[derive(Debug)]
pub(super) struct Bounds {
    pub allowance: Arc<Allowance>,
    pub record: Arc<Record>,
}

/// What is left of a limit after so many bytes; none: it is passed.
pub(super) fn after(left: u64, bytes: usize, allowance: &Allowance) -> Option<u64> {
    let bytes = u64::try_from(bytes).ok()?;
    left.checked_sub(bytes).filter(|_| allowance.take(bytes))
}
