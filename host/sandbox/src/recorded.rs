//! What of an instance is recorded that is no import of the contract's: calls of its exports, clocks and random bytes. What
//! passes through imports, `imports::recorded` notes. Without a recording there is no tape, and nothing of this runs.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand_core::TryRng;
use rand_core::utils::next_word_via_fill;
use serde::Serialize;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};

use super::boundary::Boundary;
use super::context::CallContext;
use super::store::HostState;
use super::surroundings::Surroundings;
use drivebay_contract::Interface;
use drivebay_contract::engine::Watch;
use drivebay_recording::Tape;
use drivebay_recording::line::Clock;

/// The tape of an instance that is made for a call; none: its backend is not recorded.
pub(super) fn tape(around: &Surroundings, call: &CallContext) -> Option<Tape> {
    let recorder = around.recording.current()?;
    let seed = getrandom::u64().unwrap_or(0);
    Some(Tape::new(recorder, &call.id, seed, &around.log.known(&call.secrets)))
}

impl Watch for HostState {
    fn enters<A: Serialize + ?Sized>(&mut self, (interface, function): (Interface, &'static str), arguments: &A) {
        if let Some(tape) = &self.tape {
            tape.call(&self.call.id, (interface.name(), function), arguments);
        }
    }

    fn returns<A: Serialize + ?Sized>(&mut self, answer: &A) {
        if let Some(tape) = &self.tape {
            tape.returned(answer);
        }
    }
}

/// The clocks and the random bytes of an instance: those of its world, noted where it is recorded.
pub(super) fn sources(wasi: &mut WasiCtxBuilder, world: Option<&Arc<dyn Boundary>>, tape: Option<&Tape>) {
    if let Some(tape) = tape {
        let random = Random(tape.clone());
        wasi.monotonic_clock(Monotonic { tape: tape.clone(), began: Instant::now() })
            .secure_random(random.clone())
            .insecure_random(random)
            .insecure_random_seed(tape.seed().into());
    }
    if tape.is_some() || world.is_some() {
        wasi.wall_clock(Wall { world: world.cloned(), tape: tape.cloned() });
    }
}

struct Wall {
    world: Option<Arc<dyn Boundary>>,
    tape: Option<Tape>,
}

impl HostWallClock for Wall {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        let now = match &self.world {
            Some(world) => world.now(),
            None => std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default(),
        };
        if let Some(tape) = &self.tape {
            tape.clock(Clock::Wall, nanoseconds(now));
        }
        now
    }
}

struct Monotonic {
    tape: Tape,
    began: Instant,
}

impl HostMonotonicClock for Monotonic {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        let now = nanoseconds(self.began.elapsed());
        self.tape.clock(Clock::Monotonic, now);
        now
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The system's random bytes, noted.
#[derive(Clone)]
struct Random(Tape);

impl TryRng for Random {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        // The engine's own source ends the process where the system has none; the host has drawn from it when it started.
        if getrandom::fill(bytes).is_err() {
            std::process::abort();
        }
        self.0.random(bytes);
        Ok(())
    }
}
