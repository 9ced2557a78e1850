//! Starts a driver again that has ended, by the command that the caller gave, and waits until all its sockets answer.

use std::io;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;

use super::{sockets, who_is_there};
use crate::pause::Pause;
use crate::site::Site;
use crate::with::WithFile;

/// A driver that ends more often is not tried any longer.
const MOST: usize = 50;
/// The answers of all sockets come within so many deadlines, as at the beginning of a run.
const WITHIN: u32 = 3;

/// How a driver is started again, and how often it was.
#[derive(Debug, Default)]
pub(crate) struct Restarter(AtomicUsize);

impl Restarter {
    /// Whether the driver is back.
    pub(crate) async fn start(&self, sites: &[Site], with: &WithFile) -> bool {
        let Some(command) = &with.restart else { return false };
        if self.0.fetch_add(1, Ordering::Relaxed) >= MOST {
            return false;
        }
        // Standard output is the report's. The process is the driver's own, and outlives this one.
        let told = Stdio::from(io::stderr());
        let started = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).stdout(told).spawn();
        if started.is_err() {
            return false;
        }
        are_back(sites, with).await
    }
}

/// Waits until all sockets say who they are; false: they do not.
pub(crate) async fn are_back(sites: &[Site], with: &WithFile) -> bool {
    let mut pause = Pause::new(with.deadline * WITHIN);
    loop {
        let asked = join_all(sockets(sites).map(|(socket, who)| who_is_there(socket, with.deadline, who))).await;
        if asked.iter().all(Result::is_ok) {
            return true;
        }
        if !pause.rest().await {
            return false;
        }
    }
}
