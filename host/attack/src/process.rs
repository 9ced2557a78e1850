//! The host process of one attack, under limits of the system's: started, looked at, told to end. Judges nothing.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::ValueEnum as _;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit, test_kill_process_group};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};
use tonic::transport::{Channel, Endpoint};

use super::limits::Without;
use super::network::Network;
use super::place::Place;
use super::times::LOOK;
use crate::ATTACKED;
use drivebay_proto::pb::csi::v1::ProbeRequest;
use drivebay_proto::pb::csi::v1::identity_client::IdentityClient;

/// Limits of the host process, far above what it needs: bytes of memory, of a file, seconds of processor time,
/// descriptors.
const OUTER: [(Resource, u64); 4] =
    [(Resource::Data, 3 << 30), (Resource::Fsize, 256 << 20), (Resource::Cpu, 120), (Resource::Nofile, 2_048)];

/// The status of a host that had to end calls.
const CUT_SHORT: i32 = 1;

/// A host that runs.
pub(super) struct Process {
    child: Child,
}

/// What a process holds.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub(super) struct Held {
    /// Resident memory now, and the most there was, in KiB.
    pub(super) memory: u64,
    pub(super) peak: u64,
    pub(super) descriptors: usize,
    pub(super) threads: u64,
}

impl Held {
    /// Whether it holds no more descriptors and threads than before.
    pub(super) const fn is_within(&self, before: &Self) -> bool {
        self.descriptors <= before.descriptors && self.threads <= before.threads
    }
}

impl Process {
    /// Starts the host of a place, in a network of its own if there is one.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(place: &Place, network: Option<&Network>) -> Result<Self> {
        let log = std::fs::File::create(place.at("log"))?;
        let program = std::env::current_exe()?;
        let mut command = match network {
            None => Command::new(&program),
            Some(network) => {
                let prefix = network.prefix();
                let mut command = Command::new(prefix.first().context("no program")?);
                command.args(prefix.iter().skip(1)).arg(&program);
                command
            }
        };
        match place.without {
            Without::Defence(defence) => {
                let value = defence.to_possible_value().context("a defence without a name")?;
                command.args([ATTACKED, value.get_name()]).arg(place.at("host.toml"));
            }
            _ => drop(command.args(["serve", "--config"]).arg(place.at("host.toml"))),
        }
        let child = command
            .env_remove("DRIVEBAY_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let process = Self { child };
        let id = process.id().context("a process without an id")?;
        for (resource, most) in OUTER {
            prlimit(Some(id), resource, Rlimit { current: Some(most), maximum: Some(most) })?;
        }
        Ok(process)
    }

    fn id(&self) -> Option<Pid> {
        self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
    }

    /// Tells it something; it may have ended.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(id) = self.id() {
            let _ = kill_process(id, signal);
        }
    }

    /// What it holds at this moment.
    pub(super) fn held(&self) -> Held {
        let id = self.child.id().unwrap_or_default();
        let number = |name: &str| self.status(name).trim_end_matches(" kB").parse::<u64>().unwrap_or(0);
        let descriptors = std::fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count);
        Held { memory: number("VmRSS:"), peak: number("VmHWM:"), descriptors, threads: number("Threads:") }
    }

    /// The capabilities that the kernel lets it use.
    pub(super) fn capabilities(&self) -> String {
        self.status("CapEff:")
    }

    /// One line of what the kernel says of it.
    fn status(&self, name: &str) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap_or_default()));
        let status = status.unwrap_or_default();
        status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned()
    }

    /// How often it has a file open.
    pub(super) fn opened(&self, path: &Path) -> usize {
        let id = self.child.id().unwrap_or_default();
        let descriptors = std::fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
        descriptors.filter(|descriptor| std::fs::read_link(descriptor.path()).is_ok_and(|to| to == path)).count()
    }

    /// Tells it to stop, for which it has so long; what is wrong with how it did, if anything.
    pub(super) async fn end(&mut self, patience: Duration) -> Option<String> {
        self.ended(patience, ExitStatus::success).await
    }

    /// The same of one whose guests still compute: it ends them, and says so with its status.
    pub(super) async fn end_busy(&mut self, patience: Duration) -> Option<String> {
        self.ended(patience, |status| status.success() || status.code() == Some(CUT_SHORT)).await
    }

    async fn ended(&mut self, patience: Duration, is_well: impl Fn(&ExitStatus) -> bool) -> Option<String> {
        let Some(id) = self.id() else { return Some("the host ended by itself".to_owned()) };
        // It may have ended already, and then its status says how.
        let _ = kill_process(id, Signal::TERM);
        match timeout(patience, self.child.wait()).await {
            Ok(Ok(status)) if is_well(&status) => {}
            Ok(Ok(status)) => return Some(format!("the host ended with {status}")),
            Ok(Err(error)) => return Some(format!("the host: {error}")),
            Err(_) => return Some("the host did not end".to_owned()),
        }
        let begin = Instant::now();
        // Its children end with it, but nobody waits for them.
        while test_kill_process_group(id).is_ok() {
            if begin.elapsed() > patience {
                return Some("the host left a process".to_owned());
            }
            sleep(LOOK).await;
        }
        None
    }
}

/// A channel to a socket whose backend is there.
///
/// # Errors
/// When it is not served within so long.
pub(super) async fn client(socket: &Path, patience: Duration) -> Result<Channel> {
    let endpoint = Endpoint::from_shared(format!("unix://{}", socket.display()))?;
    let connected = timeout(patience, async {
        loop {
            if let Ok(channel) = endpoint.connect().await
                && IdentityClient::new(channel.clone()).probe(ProbeRequest {}).await.is_ok()
            {
                return channel;
            }
            sleep(LOOK).await;
        }
    });
    connected.await.with_context(|| format!("{} is not served", socket.display()))
}
