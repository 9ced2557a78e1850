//! A program that stops before it does its work: a file-system maker in a `PATH` of its own, which
//! tells that it was started and waits for a word. Knows nothing of volumes. Why named pipes: whoever
//! reads one waits for what happens, and nobody looks again and again.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe;

use super::PATIENCE;
use super::pool::run;

/// What every one of these programs is followed by: the real one, with the same arguments.
const SCRIPT: &str =
    "#!/bin/sh\necho $$ >DIR/entered\nread word <DIR/gate\n[ \"$word\" = go ] || exit 1\nexec REAL \"$@\"\n";

/// A program and its gate.
#[derive(Debug)]
pub struct Gate {
    directory: TempDir,
    entered: BufReader<pipe::Receiver>,
    answers: pipe::Sender,
}

impl Gate {
    /// Stands before the real program of this name.
    pub fn before(program: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // All of it in the directory of programs, which the host sees.
        let bin = directory.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let path = |name: &str| bin.join(name);
        for name in ["entered", "gate"] {
            run("mkfifo", &[path(name).to_str().unwrap()]);
        }
        let script = SCRIPT.replace("DIR", bin.to_str().unwrap()).replace("REAL", real(program).to_str().unwrap());
        std::fs::write(path(program), script).unwrap();
        std::fs::set_permissions(path(program), Permissions::from_mode(0o755)).unwrap();
        // Open at both ends, so that neither side finds the other one missing.
        let mut both = pipe::OpenOptions::new();
        let both = both.read_write(true);
        let entered = BufReader::new(both.open_receiver(path("entered")).unwrap());
        let answers = both.open_sender(path("gate")).unwrap();
        Self { directory, entered, answers }
    }

    /// The `PATH` for the program under test.
    pub fn path(&self) -> String {
        let own = self.directory.path().join("bin");
        format!("{}:{}", own.display(), std::env::var("PATH").unwrap_or_default())
    }

    /// Waits until the program was started once more; gives its process.
    pub async fn entered(&mut self) -> u32 {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.entered.read_line(&mut line)).await;
        assert!(read.is_ok(), "the program was not started");
        line.trim().parse().unwrap()
    }

    /// Whether it was started since it was last waited for.
    pub fn was_entered(&mut self) -> bool {
        use futures_util::FutureExt as _;
        self.entered.fill_buf().now_or_never().is_some()
    }

    /// Lets one of them go on.
    pub async fn open(&mut self) {
        self.answers.write_all(b"go\n").await.unwrap();
    }

    /// Lets one of them fail.
    pub async fn fail(&mut self) {
        self.answers.write_all(b"fail\n").await.unwrap();
    }
}

fn real(program: &str) -> PathBuf {
    let usual = ["/usr/sbin", "/sbin", "/usr/bin", "/bin", "/usr/local/sbin"].map(Path::new);
    let found = usual.iter().map(|directory| directory.join(program)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{program} is not installed"))
}
