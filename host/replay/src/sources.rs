//! Clocks, random bytes and standard output of a guest that is replayed: all of them are the recording's.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use rand_core::TryRng;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxBuilder};

use super::player::Player;
use drivebay_recording::line::Clock;

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
    let spoken = [(); 2].map(|()| Spoken { player: player.clone(), line: Arc::default() });
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
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
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
    line: Arc<Mutex<Vec<u8>>>,
}

impl Spoken {
    fn take(&self, bytes: &[u8]) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            // As long as a host's log keeps, and one more, so that it shows that it is cut.
            let room = (ONE_WRITE + 1).saturating_sub(line.len());
            line.extend(piece.iter().take(room));
            if piece.ends_with(b"\n") {
                self.say(&line);
                line.clear();
            }
        }
    }

    /// What there is of an unfinished line is said when the call ends.
    pub(super) fn end(&self) {
        let line = std::mem::take(&mut *self.line.lock().unwrap_or_else(PoisonError::into_inner));
        self.say(&line);
    }

    fn say(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line.trim_ascii_end());
        if !text.is_empty() {
            self.player.lock().wrote(&text);
        }
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
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(ONE_WRITE)
    }
}
