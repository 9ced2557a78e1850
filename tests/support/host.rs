//! The program as a process with a directory of its own. Starts it as an operator does, stops it as
//! an init system does. A process that a test forgot is killed.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::AtomicU64;

use drivebay_proto::pb::csi::v1::ProbeRequest;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::{Guest, Log, Options, PATIENCE};

/// A running host with one backend, called `under-test`.
#[derive(Debug)]
pub struct TestHost {
    /// What this run of the program has said so far.
    pub log: Log,
    /// Numbers for control requests.
    pub(super) next: AtomicU64,
    child: Child,
    directory: TempDir,
    configuration: TempDir,
    options: Options,
}

impl TestHost {
    /// Starts a host; it listens and, unless the options say otherwise, is ready.
    pub async fn start(guest: Guest, options: Options) -> Self {
        let directory = tempfile::tempdir().expect("a directory can be made");
        // Not beside the sockets: where the host writes nobody believes a configuration.
        let configuration = tempfile::tempdir().expect("a directory can be made");
        std::fs::write(configuration.path().join("host.toml"), options.file(guest, directory.path())).unwrap();
        Self::start_in(directory, configuration, options).await
    }

    /// Starts the test backend's host with all defaults.
    pub async fn tester() -> Self {
        Self::start(Guest::TESTER, Options::default()).await
    }

    async fn start_in(directory: TempDir, configuration: TempDir, options: Options) -> Self {
        let (child, log) = serve(configuration.path(), &options);
        let host = Self { log, next: AtomicU64::new(0), child, directory, configuration, options };
        host.wait_until_it_serves().await;
        host
    }

    /// Starts the same host again: configuration, state and socket stay, the log begins anew.
    pub async fn start_again(&mut self) {
        assert!(self.child.try_wait().unwrap().is_some(), "the host still runs");
        (self.child, self.log) = serve(self.configuration.path(), &self.options);
        self.wait_until_it_serves().await;
    }

    /// Starts the same host again where it cannot start; gives what it said.
    pub async fn start_in_vain(&mut self) -> String {
        assert!(self.child.try_wait().unwrap().is_some(), "the host still runs");
        (self.child, self.log) = serve(self.configuration.path(), &self.options);
        let status = ended(&mut self.child, &self.log).await;
        assert_eq!(status.code(), Some(1), "{}", self.log.tail());
        self.log.text()
    }

    async fn wait_until_it_serves(&self) {
        self.log.wait("listening", self.options.sockets()).await;
        self.identity().await.probe(ProbeRequest {}).await.expect("a socket that listens is served");
        if self.options.waits_for_ready() {
            self.ready().await;
        }
    }

    /// Waits for the first good probe of this run.
    pub async fn ready(&self) {
        self.log.wait(if self.options.format() == "json" { "\"to\":\"Ready\"" } else { "to=Ready" }, 1).await;
    }

    /// Asks it to stop, as init systems do, and expects that it ends well. Its directory stays.
    pub async fn stop(&mut self) {
        self.signal(Signal::TERM);
        let status = ended(&mut self.child, &self.log).await;
        assert_eq!(status.code(), Some(0), "{}", self.log.tail());
        assert!(!self.socket().exists(), "a stopped host leaves no socket behind");
    }

    /// Sends its process a signal.
    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.process()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    /// Kills it, as a power failure does.
    pub async fn kill(&mut self) {
        self.child.start_kill().unwrap();
        ended(&mut self.child, &self.log).await;
    }

    /// From its next start on it is waited for only until it listens.
    #[must_use]
    pub fn recovering(mut self) -> Self {
        self.options = self.options.clone().recovering();
        self
    }

    /// The number of the program's process.
    pub fn process(&self) -> u32 {
        self.child.id().expect("the host runs")
    }

    /// The CSI socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("csi.sock")
    }

    /// The configuration file.
    pub fn file(&self) -> PathBuf {
        self.configuration.path().join("host.toml")
    }

    /// The csi-addons socket, where the options ask for one.
    pub fn addons_socket(&self) -> PathBuf {
        self.directory.path().join("addons.sock")
    }

    /// The node's CSI socket, where the options ask for one of its own.
    pub fn node_socket(&self) -> PathBuf {
        self.directory.path().join("node.sock")
    }

    /// Where the host keeps its state.
    pub fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }
}

impl Drop for TestHost {
    fn drop(&mut self) {
        // What the program said is what explains a failed test.
        if std::thread::panicking() {
            println!("--- the host's log\n{}\n---", self.log.tail());
        }
    }
}

/// Runs the program until it ends by itself; gives its exit status and its words.
pub async fn run_to_end(arguments: &[&str], paths: &[&Path]) -> (i32, String) {
    let (mut child, log) = spawn(arguments, paths, &Options::default());
    let status = ended(&mut child, &log).await;
    let code = status.code().unwrap_or_else(|| panic!("ended by a signal: {status}\n{}", log.tail()));
    (code, log.text())
}

fn serve(configuration: &Path, options: &Options) -> (Child, Log) {
    let arguments = ["--log", options.filter(), "--log-format", options.format(), "serve", "--config"];
    spawn(&arguments, &[&configuration.join("host.toml")], options)
}

async fn ended(child: &mut Child, log: &Log) -> ExitStatus {
    let status = tokio::time::timeout(PATIENCE, child.wait()).await;
    let status = status.unwrap_or_else(|_| panic!("the program did not end:\n{}", log.tail()));
    log.closed().await;
    status.unwrap()
}

fn spawn(arguments: &[&str], paths: &[&Path], options: &Options) -> (Child, Log) {
    let program = env!("CARGO_BIN_EXE_drivebay").to_owned();
    let line: Vec<_> = options.prefix().iter().cloned().chain([program]).collect();
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).args(arguments).args(paths).env_remove("CSI_ENDPOINT").env_remove("DRIVEBAY_LOG");
    command.envs(options.environment().iter().map(|(key, value)| (key, value)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let started = match &options.tap {
        Some(tap) => tap.over(move || command.spawn()),
        None => command.spawn(),
    };
    let mut child = started.expect("the program can be started");
    let stderr = child.stderr.take().expect("it is piped").into_owned_fd().unwrap();
    // The runtime made the pipe non-blocking; a thread reads it.
    rustix::io::ioctl_fionbio(&stderr, false).unwrap();
    (child, Log::of(stderr))
}
