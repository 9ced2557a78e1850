//! Counts what one instance holds, all its memories together and all its tables together, and what all instances of a
//! backend do. The engine's own limiter counts each memory alone, which a component of many modules gets around.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::ResourceLimiter;

use drivebay_policy::limits::Limits;

/// Which limit a guest ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LimitHit {
    /// More linear memory than `limits.memory`.
    #[error("more than {0} bytes of memory")]
    Memory(u64),
    /// More memory of all instances together than `limits.memory-total`.
    #[error("more than {0} bytes of memory of all the backend's calls together")]
    Together(u64),
    /// More table elements than `limits.table-elements`.
    #[error("more than {0} table elements")]
    Tables(u64),
    /// More bytes through host calls than `limits.crossing-total`.
    #[error("more than {0} bytes in host calls")]
    Crossing(u64),
}

/// Memory that all instances of a backend hold together, in bytes. One for all its generations.
#[derive(Debug, Clone, Default)]
pub struct MemoryInUse(Arc<AtomicU64>);

impl MemoryInUse {
    /// Adds so much, if the sum stays within the limit.
    fn take(&self, bytes: u64, limit: u64) -> bool {
        let sum = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= limit);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum).is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The running sums of one instance.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory: Gauge,
    tables: Gauge,
    together: MemoryInUse,
    most_together: u64,
}

impl Drop for Limiter {
    fn drop(&mut self) {
        self.together.give_back(self.memory.used);
    }
}

#[derive(Debug)]
struct Gauge {
    used: u64,
    limit: u64,
}

impl Gauge {
    /// Adds the growth from `current` to `desired`, if the sum stays within the limit.
    fn grow(&mut self, current: usize, desired: usize) -> bool {
        let growth = u64::try_from(desired.saturating_sub(current)).unwrap_or(u64::MAX);
        match self.used.checked_add(growth) {
            Some(sum) if sum <= self.limit => {
                self.used = sum;
                true
            }
            _ => false,
        }
    }
}

impl Limiter {
    /// Nothing used yet.
    pub(crate) fn new(limits: &Limits, together: &MemoryInUse) -> Self {
        Self {
            memory: Gauge { used: 0, limit: limits.memory },
            tables: Gauge { used: 0, limit: limits.table_elements },
            together: together.clone(),
            most_together: limits.memory_total,
        }
    }

    /// Counts memory that the host takes for the guest.
    pub(crate) fn hold(&mut self, bytes: u64) -> wasmtime::Result<()> {
        self.take(0, usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// Bytes of memory that it holds now.
    pub(crate) const fn held(&self) -> u64 {
        self.memory.used
    }

    /// The host has given it back.
    pub(crate) fn release(&mut self, bytes: u64) {
        let bytes = bytes.min(self.memory.used);
        self.memory.used -= bytes;
        self.together.give_back(bytes);
    }

    fn take(&mut self, current: usize, desired: usize) -> wasmtime::Result<()> {
        let before = self.memory.used;
        if !self.memory.grow(current, desired) {
            return Err(LimitHit::Memory(self.memory.limit).into());
        }
        if !self.together.take(self.memory.used - before, self.most_together) {
            self.memory.used = before;
            return Err(LimitHit::Together(self.most_together).into());
        }
        Ok(())
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        // An error, and not `false`: the trap then says which limit it was.
        self.take(current, desired).map(|()| true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        if self.tables.grow(current, desired) { Ok(true) } else { Err(LimitHit::Tables(self.tables.limit).into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_memories_count_as_one_large_one() {
        let limits = Limits { memory: 100, ..Limits::default() };
        let mut limiter = Limiter::new(&limits, &MemoryInUse::default());
        assert!(limiter.memory_growing(0, 60, None).is_ok());
        assert!(limiter.memory_growing(0, 40, None).is_ok());
        let error = limiter.memory_growing(0, 1, None).unwrap_err();
        assert_eq!(error.downcast_ref::<LimitHit>(), Some(&LimitHit::Memory(100)));
        assert!(limiter.memory_growing(0, 0, None).is_ok(), "a refused growth is not counted");
    }

    #[test]
    fn instances_share_what_they_may_hold_together() {
        let limits = Limits { memory: 100, memory_total: 150, ..Limits::default() };
        let together = MemoryInUse::default();
        let [mut first, mut second] = [(); 2].map(|()| Limiter::new(&limits, &together));
        assert!(first.memory_growing(0, 90, None).is_ok() && second.memory_growing(0, 50, None).is_ok());
        let error = second.memory_growing(50, 61, None).unwrap_err();
        assert_eq!(error.downcast_ref::<LimitHit>(), Some(&LimitHit::Together(150)));
        assert!(second.memory_growing(50, 60, None).is_ok(), "a refused growth is not counted");
        drop(first);
        assert!(second.hold(40).is_ok(), "what has ended holds nothing");
        second.release(40);
        drop(second);
        assert_eq!(together.0.load(Ordering::Relaxed), 0);
    }
}
