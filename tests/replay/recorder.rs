//! `drivebay record` as an operator runs it beside a host, and `drivebay replay` on what it wrote.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::support::{PATIENCE, TestHost};

/// A recording of a host, under way or whole.
pub struct Recorder {
    process: Child,
    directory: TempDir,
}

impl Recorder {
    /// Begins, and waits until it is recorded.
    pub async fn begin(host: &TestHost, more: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_drivebay"));
        command.args(["record", "under-test"]).arg(directory.path().join("r.jsonl")).args(more);
        command.env("DRIVEBAY_ADMIN", host.admin()).stderr(Stdio::piped()).kill_on_drop(true);
        let this = Self { process: command.spawn().unwrap(), directory };
        let begun = std::time::Instant::now();
        while !std::fs::read(this.file()).is_ok_and(|text| text.contains(&b'\n')) {
            assert!(begun.elapsed() < PATIENCE, "nothing is written");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        this
    }

    /// Where it is written.
    pub fn file(&self) -> PathBuf {
        self.directory.path().join("r.jsonl")
    }

    /// Interrupts it, as Ctrl-C does. Its exit status and words.
    pub async fn interrupt(&mut self) -> (i32, String) {
        let id = i32::try_from(self.process.id().unwrap()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), Signal::INT).unwrap();
        self.ended().await
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> (i32, String) {
        let mut words = String::new();
        if let Some(mut stderr) = self.process.stderr.take() {
            let reading = tokio::io::AsyncReadExt::read_to_string(&mut stderr, &mut words);
            tokio::time::timeout(PATIENCE, reading).await.expect("it ends").unwrap();
        }
        let status = tokio::time::timeout(PATIENCE, self.process.wait()).await.expect("it ends").unwrap();
        (status.code().unwrap(), words)
    }

    /// What was recorded.
    pub fn text(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap()
    }

    /// Replays it: exit status, and the report in JSON.
    pub async fn replay(&self, component: &Path) -> (i32, Value) {
        let (code, words) = replay(&[self.file().as_path(), component, Path::new("--json")]).await;
        let report = serde_json::from_str(&words).unwrap_or_else(|error| panic!("{error}: {words}"));
        (code, report)
    }

    /// Replays it on what was recorded, of which nothing may differ.
    pub async fn is_the_same(&self, component: &Path) -> Value {
        let (code, report) = self.replay(component).await;
        assert_eq!((code, &report["same"]), (0, &Value::Bool(true)), "{:#}", report["differences"][0]);
        report
    }
}

/// Runs `drivebay replay`: exit status and words.
pub async fn replay(arguments: &[&Path]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drivebay"));
    command.arg("replay").args(arguments).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.expect("it ends").unwrap();
    let words = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code().unwrap(), words)
}

/// The component with some words in it changed: another version of it.
pub fn changed(component: &Path, from: &str, to: &str) -> tempfile::NamedTempFile {
    assert_eq!(from.len(), to.len(), "the module keeps its form");
    let mut bytes = std::fs::read(component).unwrap();
    let places: Vec<_> =
        bytes.windows(from.len()).enumerate().filter(|(_, it)| *it == from.as_bytes()).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "{from} is in the component");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    file
}
