//! Processes that are ended together with what they have started: each begins a group of its own, so the terminal's
//! Ctrl-C reaches `dev` alone, which ends them in its order.

use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// A process and all that it has started. Dropped, they are killed.
#[derive(Debug)]
pub(super) struct Group {
    child: Child,
    leader: Option<Pid>,
}

impl Group {
    /// Starts the command, without input.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        let child = command.process_group(0).stdin(std::process::Stdio::null()).spawn();
        let child = child.with_context(|| format!("{program} cannot be started"))?;
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Self { child, leader })
    }

    /// The process itself.
    pub(super) const fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits until the process has ended by itself.
    ///
    /// # Errors
    /// When nobody knows.
    pub(super) async fn ended(&mut self) -> std::io::Result<ExitStatus> {
        let ended = self.child.wait().await;
        self.leader = None;
        ended
    }

    /// Whether the process runs.
    pub(super) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks the process to end, and ends it when it takes too long.
    pub(super) async fn end(mut self, within: Duration) {
        self.signal(Signal::TERM);
        if tokio::time::timeout(within, self.child.wait()).await.is_ok() {
            self.leader = None;
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // They may have ended meanwhile.
            let _ = kill_process_group(leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
