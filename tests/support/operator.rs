//! An operator of the host under test: the program's own commands against its admin socket, and its
//! configuration file.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tokio::process::Command;

use super::{PATIENCE, TestHost};

impl TestHost {
    /// The admin socket.
    pub fn admin(&self) -> PathBuf {
        self.socket().with_file_name("admin.sock")
    }

    /// Waits until the host finds at a path what is there: it has a mount namespace of its own, which follows.
    pub async fn sees_as_it_is(&self, path: &Path) {
        let begin = std::time::Instant::now();
        let of = |path: &Path| std::fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
        let inside = Path::new(&format!("/proc/{}/root", self.process())).join(path.strip_prefix("/").unwrap());
        while of(path) != of(&inside) {
            assert!(begin.elapsed() < PATIENCE, "{}", path.display());
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }

    /// Runs a command of the program against this host: its exit status and its words.
    pub async fn operate(&self, arguments: &[&str]) -> (i32, String) {
        let Output { status, stdout, stderr } = self.run(arguments).await;
        let words = [stdout, stderr].concat();
        (status.code().expect("it ends by itself"), String::from_utf8(words).unwrap())
    }

    /// The same for a command that must be done.
    pub async fn told(&self, arguments: &[&str]) -> String {
        let (code, words) = self.operate(arguments).await;
        assert_eq!(code, 0, "{arguments:?}: {words}\n{}", self.log.tail());
        words
    }

    /// The same for a command that must be refused, with this id.
    pub async fn refused(&self, arguments: &[&str], id: &str) -> String {
        let (code, words) = self.operate(arguments).await;
        assert_eq!(code, 1, "{arguments:?}: {words}");
        assert!(words.contains(&format!("({id})")), "{id} is not in: {words}");
        words
    }

    /// The backend as `status --json` tells it.
    pub async fn status(&self) -> Value {
        let output = self.run(&["status", "--json"]).await;
        let all: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
        all["backends"].as_array().unwrap().iter().find(|row| row["name"] == "under-test").unwrap().clone()
    }

    /// The attempts as `history --json` tells them, newest first.
    pub async fn history(&self) -> Vec<Value> {
        let output = self.run(&["history", "under-test", "--json"]).await;
        serde_json::from_slice(&output.stdout).expect("it prints JSON")
    }

    async fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_drivebay"));
        command.args(arguments).env("DRIVEBAY_ADMIN", self.admin()).kill_on_drop(true);
        tokio::time::timeout(PATIENCE, command.output()).await.expect("it ends").expect("it can be started")
    }
}
