//! The host that serves while a vendor works: `drivebay serve` in a process of its own, as operators run it. Owns its
//! start and end, and what is shown of its log.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::task::JoinSet;

use super::group::Group;
use super::plan::{BACKEND, Place};
use super::say;
use super::show::{self, Shown};

/// What is logged: all that is shown, and little else.
const LOG: &str = "info,guest=debug,calls=debug";
/// Longer than a host takes that lets its calls end.
const END: Duration = Duration::from_secs(10);

/// Between two looks at a socket.
const LOOK: Duration = Duration::from_millis(20);

/// A host, running or not.
#[derive(Debug)]
pub(super) struct Host {
    /// This program.
    program: PathBuf,
    place: Place,
    /// Where it is recorded.
    record: Option<PathBuf>,
    running: Option<Group>,
    /// What shows the log. Dropped with it.
    lines: JoinSet<()>,
}

impl Host {
    /// Not running yet.
    pub(super) fn new(program: PathBuf, place: Place, record: Option<PathBuf>) -> Self {
        Self { program, place, record, running: None, lines: JoinSet::new() }
    }

    /// Lets it serve a component: by a swap where it runs, else from its start.
    ///
    /// # Errors
    /// When it cannot be started or asked. What it says of the component is shown.
    pub(super) async fn serve(&mut self, component: &Path, configuration: &str) -> Result<()> {
        if self.running.as_mut().is_some_and(Group::runs) {
            return self.swap(component).await;
        }
        std::fs::write(self.place.configuration(), configuration)?;
        self.start()
    }

    async fn swap(&self, component: &Path) -> Result<()> {
        let mut reload = Command::new(&self.program);
        reload.args(["reload", BACKEND, "--force", "--wait", "--admin"]).arg(self.place.admin());
        let done = reload.arg("--component").arg(component).stdin(Stdio::null()).output().await;
        let done = done.context("the host cannot be asked")?;
        for text in [done.stdout, done.stderr] {
            for line in String::from_utf8_lossy(&text).lines() {
                say(line);
            }
        }
        Ok(())
    }

    fn start(&mut self) -> Result<()> {
        let mut serve = Command::new(&self.program);
        serve.args(["serve", "--log-format", "json", "--log", LOG, "--config"]).arg(self.place.configuration());
        let mut running = Group::start(serve.stderr(Stdio::piped()))?;
        let lines = running.child().stderr.take().context("the host has no log")?;
        let (csi, admin) = (self.place.csi(), self.place.admin());
        // Of a host that is started again the recording goes on nowhere: a recording is of one.
        let mut record = self.record.take().map(|file| self.recording(&file));
        self.lines.spawn(async move {
            let mut recording = None;
            let mut lines = BufReader::new(lines).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                match show::line(&line) {
                    Shown::Words(words) => say(&words),
                    Shown::Listening(socket) if Path::new(&socket) == csi => {
                        if let Some(mut record) = record.take() {
                            listens(&admin).await;
                            recording = record.spawn().ok();
                        }
                        say(&format!("serving: unix://{socket}"));
                    }
                    Shown::Listening(_) | Shown::Nothing => {}
                }
            }
            // It ends with its host, and says how much it has.
            if let Some(mut recording) = recording {
                let _ = recording.wait().await;
            }
        });
        self.running = Some(running);
        Ok(())
    }

    /// The operator's command that records it.
    fn recording(&self, file: &Path) -> Command {
        let mut record = Command::new(&self.program);
        record.args(["record", BACKEND]).arg(file).arg("--admin").arg(self.place.admin()).stdin(Stdio::null());
        record
    }

    /// Ends it.
    pub(super) async fn end(mut self) {
        if let Some(running) = self.running {
            running.end(END).await;
            let said = async { while self.lines.join_next().await.is_some() {} };
            let _ = tokio::time::timeout(END, said).await;
        }
    }
}

/// Waits until somebody listens at a socket, for as long as a host may take from one of its sockets to the next.
async fn listens(socket: &Path) {
    let until = tokio::time::Instant::now() + END;
    while tokio::net::UnixStream::connect(socket).await.is_err() && tokio::time::Instant::now() < until {
        tokio::time::sleep(LOOK).await;
    }
}
