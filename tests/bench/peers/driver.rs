//! A driver as a process: started, asked for its processor time, ended.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use drivebay_proto::pb::csi::v1::ProbeRequest;
use drivebay_proto::pb::csi::v1::identity_client::IdentityClient;
use tonic::transport::{Channel, Endpoint};

/// How often a driver that begins is looked at, and how long.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS: usize = 1_200;
/// Of the clock that the kernel tells processor time by, a second: a part of its interface.
const TICKS: f64 = 100.0;

/// A driver that runs. Ends when it is dropped.
pub(crate) struct Driver {
    process: Child,
    socket: PathBuf,
    /// Where volumes are mounted.
    pub(crate) pods: PathBuf,
    /// Parameters of volumes that are directories.
    pub(crate) parameters: &'static [(&'static str, &'static str)],
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(id) = i32::try_from(self.process.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let _ = self.process.wait();
    }
}

impl Driver {
    /// The reference backend in a host.
    pub(crate) async fn local(work: &Path) -> Result<Self> {
        let root = work.join("local");
        std::fs::create_dir_all(root.join("pool"))?;
        std::fs::create_dir_all(root.join("pods"))?;
        let root = root.canonicalize()?;
        let path = |name: &str| root.join(name).display().to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_drivebay"));
        command.args(["serve", "local", "--node-id", "node", "--csi", &format!("unix://{}", path("csi.sock"))]);
        command.args(["--state", &path("state"), "--set", "pool=/pool"]);
        command.args(["--directory", &format!("{}:/pool", path("pool"))]);
        if rustix::process::geteuid().is_root() {
            command.args(["--node", "--targets", &path("pods")]);
        }
        Self::start(command, &root, &[("kind", "directory")]).await
    }

    /// The driver of directories in Go, as its own deployment starts it.
    pub(crate) async fn host_path(program: &Path, work: &Path) -> Result<Self> {
        let root = work.join("host-path");
        std::fs::create_dir_all(root.join("pods"))?;
        let root = root.canonicalize()?;
        let path = |name: &str| root.join(name).display().to_string();
        let mut command = Command::new(program);
        command.args(["--drivername=hostpath.csi.k8s.io", "--nodeid=node", "--enable-attach=true", "--v=2"]);
        command.args([format!("--endpoint=unix://{}", path("csi.sock")), format!("--statedir={}", path("state"))]);
        Self::start(command, &root, &[]).await
    }

    async fn start(mut command: Command, root: &Path, parameters: &'static [(&str, &str)]) -> Result<Self> {
        let log = std::fs::File::create(root.join("log"))?;
        // With it every error that a guest is told would cost a look at the whole stack.
        command.env_remove("RUST_BACKTRACE");
        let process = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn();
        let process = process.with_context(|| format!("{}", command.get_program().display()))?;
        let driver = Self { process, socket: root.join("csi.sock"), pods: root.join("pods"), parameters };
        for _ in 0..LOOKS {
            if let Ok(channel) = driver.connect().await
                && IdentityClient::new(channel).probe(ProbeRequest {}).await.is_ok()
            {
                return Ok(driver);
            }
            tokio::time::sleep(LOOK).await;
        }
        anyhow::bail!("{} is not served: {}", driver.socket.display(), std::fs::read_to_string(root.join("log"))?)
    }

    /// A connection of its own.
    pub(crate) async fn connect(&self) -> Result<Channel> {
        Ok(Endpoint::from_shared(format!("unix://{}", self.socket.display()))?.connect().await?)
    }

    /// The processor time of the driver's processes so far.
    pub(crate) fn used(&self) -> Result<Duration> {
        self.processes().into_iter().map(used_by).sum()
    }

    /// The memory of the driver's processes.
    pub(crate) fn memory(&self) -> Result<Memory> {
        self.processes().into_iter().map(memory_of).sum()
    }

    /// The process, and those that it has started.
    fn processes(&self) -> Vec<u32> {
        let (mut found, mut left) = (Vec::new(), vec![self.process.id()]);
        while let Some(id) = left.pop() {
            found.push(id);
            // A process has the children of all its threads.
            for thread in std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten() {
                let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
                left.extend(children.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
            }
        }
        found
    }
}

/// Memory of processes, in KiB.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Memory {
    /// What they hold, of pages that several hold a part each: code is there once.
    pub(crate) proportional: u64,
    /// What of it is no file's: it is theirs alone, and is never given up under pressure.
    pub(crate) anonymous: u64,
}

impl std::iter::Sum for Memory {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            proportional: sum.proportional + one.proportional,
            anonymous: sum.anonymous + one.anonymous,
        })
    }
}

fn memory_of(process: u32) -> Result<Memory> {
    let text = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()).and_then(|word| word.parse().ok()).context("no memory")
    };
    Ok(Memory { proportional: number("Pss:")?, anonymous: number("Pss_Anon:")? })
}

/// What a process and its children that ended have used, in ticks of the clock: a round is long beside one.
fn used_by(process: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // Behind the name, which may hold anything: user and system time are the 12th and 13th words, those of children
    // that were waited for the two after them.
    let words = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().skip(11).take(4)).context("no times")?;
    let ticks: u64 = words.filter_map(|word| word.parse::<u64>().ok()).sum();
    Ok(Duration::from_secs_f64(to_f64(ticks) / TICKS))
}

/// A number that is far from where precision is lost.
#[allow(clippy::cast_precision_loss, reason = "figures for people")]
pub(crate) const fn to_f64(number: u64) -> f64 {
    number as f64
}
