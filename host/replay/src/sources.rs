//! Clocks, random bytes and standard output of a guest that is replayed: all of them are the recording's.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use rand_core::TryRng;
use rand_core::utils::next_word_via_fill;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxBuilder};

use super::player::Player;
use drivebay_recording::line::Clock;
use drivebay_sandbox::unfinished_line::UnfinishedLine;

/// The player, for those who ask it.
#[derive(Debug, Clone)]
pub(super) struct Shared(Arc<Mutex<Player>>);

impl Shared {
    pub(super) fn new(player: Player) -> Self {
        Self(Arc::new(Mutex::new(player)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Player> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a guest may say at once, as a host has it. 4 KiB.
const ONE_WRITE: usize = 4096;

/// WASI of one instance, and its unfinished lines.
pub(super) fn wasi(player: &Shared, seed: u64) -> (WasiCtx, [Spoken; 2]) {
    let spoken = [(); 2].map(|()| Spoken { player: player.clone(), line: UnfinishedLine::default() });
    let [output, error] = spoken.clone();
    let random = Random(player.clone());
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdout(output)
        .stderr(error)
        .wall_clock(Wall(player.clone()))
        .monotonic_clock(Monotonic(player.clone()))
        .secure_random(random.clone())
        .insecure_random(random)
        .insecure_random_seed(seed.into());
    (wasi.build(), spoken)
}

struct Wall(Shared);

impl HostWallClock for Wall {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.lock().clock(Clock::Wall))
    }
}

struct Monotonic(Shared);

impl HostMonotonicClock for Monotonic {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        self.0.lock().clock(Clock::Monotonic)
    }
}

#[derive(Clone)]
struct Random(Shared);

impl TryRng for Random {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.lock().random(bytes);
        Ok(())
    }
}

/// Standard output or error, line by line.
#[derive(Debug, Clone)]
pub(super) struct Spoken {
    player: Shared,
    line: UnfinishedLine,
}

impl Spoken {
    /// What there is of an unfinished line is said when the call ends.
    pub(super) fn end(&self) {
        self.line.end(|text| self.say(text));
    }

    fn say(&self, text: &str) {
        self.player.lock().wrote(text);
    }
}

impl IsTerminal for Spoken {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Spoken {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        // Of WASI 0.3, which no backend imports.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Pollable for Spoken {
    async fn ready(&mut self) {}
}

impl OutputStream for Spoken {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.line.take(&bytes, |text| self.say(text));
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(ONE_WRITE)
    }
}
