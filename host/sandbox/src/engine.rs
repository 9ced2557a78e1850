//! The engine of one backend: every setting of the WebAssembly engine, with its reason. Owns no
//! component and no call.
//!
//! One engine and pool a backend, because pooled instances have leaked into each other in the
//! past; what shares a pool shares its fate.

use std::hash::Hash as _;
use std::num::NonZeroUsize;

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, WasmBacktraceDetails,
};

use super::epoch;
use drivebay_admission::Budget;
use drivebay_observe::drill::{self, Defence};
use drivebay_policy::limits::Limits;

/// Bytes of stack that guest code may use; deeper recursion traps.
const GUEST_STACK: usize = 512 * 1024;
/// Bytes of a fiber: the guest's stack, and what is left for host functions running on it.
const FIBER_STACK: usize = 2 * 1024 * 1024;
/// Both where the limit is not to be seen: more than its attack takes.
const LARGE_STACK: usize = 8 * 1024 * 1024;
/// Two generations are alive during a swap.
const GENERATIONS: usize = 2;
/// A component is made of several core modules (the code, adapters, shims).
const CORE_INSTANCES_EACH: u32 = 16;
/// Memories and tables one component may have; the greediest toolchain uses three of each.
const MEMORIES_EACH: u32 = 4;
const TABLES_EACH: u32 = 8;
/// Bytes of each memory and table that stay resident between calls: zeroing them is cheaper than
/// faulting them in again (three quarters of the cost of a fresh instance).
const KEEP_RESIDENT: usize = 1024 * 1024;

/// The same of a memory. A kernel before 6.7 does not tell which pages a guest has written, and the first ones are nearly
/// always the far end of its stack: zeroing them costs twice what all else of a call does, and spares no fault.
fn keep_resident() -> usize {
    if PoolingAllocationConfig::is_pagemap_scan_available() { KEEP_RESIDENT } else { 0 }
}

/// Makes the engine for a backend with these limits.
///
/// # Errors
/// When the pool cannot be reserved: too little address space for so many calls.
pub(crate) fn build(limits: &Limits) -> wasmtime::Result<Engine> {
    let mut config = base();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(limits)));
    let engine = Engine::new(&config).map_err(|error| {
        error.context(format!(
            "memory for {} calls at once cannot be set aside; where a process has few addresses, lower `calls` in \
             [backend.limits], for example to 2",
            limits.calls
        ))
    })?;
    epoch::register(&engine)?;
    Ok(engine)
}

/// Makes an engine that compiles for those above and runs nothing: it has no pool, which would take as much
/// address space as many calls.
///
/// # Errors
/// When this processor is not one that the engine knows.
pub(super) fn for_compiling() -> wasmtime::Result<Engine> {
    Engine::new(&base())
}

/// What decides how code is compiled; equal in every process that shares a cache of compiled code.
fn base() -> Config {
    let (guest, fiber) = if drill::stands(Defence::Stack) {
        (GUEST_STACK, FIBER_STACK)
    } else {
        (LARGE_STACK, LARGE_STACK + FIBER_STACK)
    };
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .max_wasm_stack(guest)
        .async_stack_size(fiber)
        .cranelift_opt_level(OptLevel::Speed)
        .wasm_backtrace_details(WasmBacktraceDetails::Enable)
        .wasm_backtrace_max_frames(NonZeroUsize::new(20))
        // Backends are called one call an instance: without this every call pays for machinery
        // that only asynchronous components use.
        .concurrency_support(false)
        .wasm_memory64(false);
    config
}

fn pool(limits: &Limits) -> PoolingAllocationConfig {
    let instances = Budget::instances(limits.calls) * GENERATIONS;
    let count = u32::try_from(instances).unwrap_or(u32::MAX);
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(count)
        .total_core_instances(count.saturating_mul(CORE_INSTANCES_EACH / 2))
        .total_memories(count.saturating_mul(2))
        .total_tables(count.saturating_mul(4))
        .total_stacks(count)
        .max_core_instances_per_component(CORE_INSTANCES_EACH)
        .max_memories_per_component(MEMORIES_EACH)
        .max_tables_per_component(TABLES_EACH)
        .max_memories_per_module(2)
        .max_tables_per_module(2)
        .max_core_instance_size(1024 * 1024)
        .max_component_instance_size(1024 * 1024)
        .table_elements(usize::try_from(limits.table_elements).unwrap_or(usize::MAX))
        .max_memory_size(usize::try_from(limits.memory).unwrap_or(usize::MAX))
        .max_unused_warm_slots(16)
        .linear_memory_keep_resident(keep_resident())
        .table_keep_resident(KEEP_RESIDENT)
        // What a call used stays resident, so there is next to nothing to give back, and a slot that
        // waits for a batch is cold when it comes round: batches of 64 cost a fifth of a call.
        .decommit_batch_size(1)
        .pagemap_scan(Enabled::Auto);
    pool
}

/// An engine's word on which compiled code it can run.
pub(super) fn compatibility(engine: &Engine) -> String {
    let mut hasher = sha2_hasher::Sha2Hasher::default();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.hex()
}

mod sha2_hasher {
    use std::hash::Hasher;

    use sha2::{Digest, Sha256};

    #[derive(Default)]
    pub(super) struct Sha2Hasher(Sha256);

    impl Sha2Hasher {
        pub(super) fn hex(self) -> String {
            hex::encode(self.0.finalize().get(..16).unwrap_or_default())
        }
    }

    impl Hasher for Sha2Hasher {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }

        fn finish(&self) -> u64 {
            0
        }
    }
}
