//! What a process has used, and what of it was the client's: the benchmark's client runs on the thread that asks, all else is
//! the server. Times are the kernel's own in nanoseconds; the counts say the same on a busy machine.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::time::{ClockId, clock_gettime};

/// So far, or between two looks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// Processor time of client and server.
    pub(crate) all: Duration,
    /// Of the server alone.
    pub(crate) server: Duration,
    /// How often the server's threads waited.
    pub(crate) waits: u64,
    /// Pages that were mapped into the server.
    pub(crate) faults: u64,
}

impl Usage {
    /// So far. To be asked on the client's thread, which is the process's first.
    pub(crate) fn now() -> Result<Self> {
        let (all, client) = (time(ClockId::ProcessCPUTime), time(ClockId::ThreadCPUTime));
        let mut usage = Self { all, server: all.saturating_sub(client), ..Self::default() };
        for thread in fs::read_dir("/proc/self/task")? {
            let thread = thread?.path();
            if thread.file_name().and_then(|name| name.to_str()) == Some(&std::process::id().to_string()) {
                continue;
            }
            // One that ends meanwhile is no longer counted; those that serve do not end.
            let Ok(status) = fs::read_to_string(thread.join("status")) else { continue };
            usage.waits += number(&status, "voluntary_ctxt_switches:").context("no switches")?;
            let Ok(stat) = fs::read_to_string(thread.join("stat")) else { continue };
            // Behind the name, which may hold anything, the 8th word.
            let words = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
            usage.faults += words.split_whitespace().nth(7).and_then(|word| word.parse().ok()).unwrap_or(0_u64);
        }
        Ok(usage)
    }

    /// What was used since an earlier look.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            all: self.all.saturating_sub(earlier.all),
            server: self.server.saturating_sub(earlier.server),
            waits: self.waits.saturating_sub(earlier.waits),
            faults: self.faults.saturating_sub(earlier.faults),
        }
    }
}

fn time(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or_default())
}

fn number(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}
