//! Ids of calls: what client and log share. Unique within a host's life and, by their random
//! beginning, among the lives of all hosts.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

static LIFE: OnceLock<u32> = OnceLock::new();
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A new id, for example `3f2a9c1b-17`.
pub fn next() -> String {
    let life = LIFE.get_or_init(|| getrandom::u32().unwrap_or_else(|_| std::process::id()));
    format!("{life:08x}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
