//! Counts what one instance holds: all its memories together, all its tables together. The
//! engine's own limiter counts each memory alone, which a component of many modules gets around.

use wasmtime::ResourceLimiter;

use drivebay_policy::limits::Limits;

/// Which limit a guest ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LimitHit {
    /// More linear memory than `limits.memory`.
    #[error("more than {0} bytes of memory")]
    Memory(u64),
    /// More table elements than `limits.table-elements`.
    #[error("more than {0} table elements")]
    Tables(u64),
    /// More bytes through host calls than `limits.crossing-total`.
    #[error("more than {0} bytes in host calls")]
    Crossing(u64),
}

/// The running sums of one instance.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory: Gauge,
    tables: Gauge,
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
    pub(crate) const fn new(limits: &Limits) -> Self {
        Self {
            memory: Gauge { used: 0, limit: limits.memory },
            tables: Gauge { used: 0, limit: limits.table_elements },
        }
    }
}

impl Limiter {
    /// Counts memory that the host takes for the guest.
    pub(crate) fn hold(&mut self, bytes: u64) -> wasmtime::Result<()> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        if self.memory.grow(0, bytes) { Ok(()) } else { Err(LimitHit::Memory(self.memory.limit).into()) }
    }

    /// The host has given it back.
    pub(crate) const fn release(&mut self, bytes: u64) {
        self.memory.used = self.memory.used.saturating_sub(bytes);
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        // An error, and not `false`: the trap then says which limit it was.
        if self.memory.grow(current, desired) { Ok(true) } else { Err(LimitHit::Memory(self.memory.limit).into()) }
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
        let mut limiter = Limiter::new(&limits);
        assert!(limiter.memory_growing(0, 60, None).is_ok());
        assert!(limiter.memory_growing(0, 40, None).is_ok());
        let error = limiter.memory_growing(0, 1, None).unwrap_err();
        assert_eq!(error.downcast_ref::<LimitHit>(), Some(&LimitHit::Memory(100)));
        assert!(limiter.memory_growing(0, 0, None).is_ok(), "a refused growth is not counted");
    }
}
