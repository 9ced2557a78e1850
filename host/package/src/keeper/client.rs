//! The host's side of the keeper: its process, and one question at a time.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::sync::Mutex;

use super::words::{Answer, Order, Request, ResolvedPackage};
use super::{KEEPER_SUBCOMMAND, READY};

/// The keeper of a host. When this is dropped, it ends.
#[derive(Debug)]
pub struct Keeper {
    /// Before the runtime is there, the socket is not its.
    socket: Arc<Mutex<Line>>,
    process: Child,
}

#[derive(Debug)]
enum Line {
    Closed(std::os::unix::net::UnixStream),
    Open(BufReader<UnixStream>),
    Gone,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // A question under way holds the socket; it ends with the runtime, and the keeper with it.
        if let Ok(mut line) = self.socket.try_lock() {
            *line = Line::Gone;
        }
        let _ = self.process.try_wait();
    }
}

impl Keeper {
    /// Starts it. To be called before this process gives up its rights and before it loads anything.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(program: &Path, order: &Order) -> Result<Self> {
        use std::io::{Read as _, Write as _};
        let (mut ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let mut command = Command::new(program);
        command
            .args([KEEPER_SUBCOMMAND, "0"])
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .stdout(Stdio::null());
        // A Ctrl-C meant for the host is not meant for it: it ends with the host.
        command.process_group(0);
        let process = command.spawn().with_context(|| format!("starting {}", program.display()))?;
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        ours.write_all(&line)?;
        let mut ready = [0; READY.len()];
        ours.read_exact(&mut ready).context("it ended at once; it says why above")?;
        Ok(Self { socket: Arc::new(Mutex::new(Line::Closed(ours))), process })
    }

    /// Has what is configured for a backend shown. With `now`, a tag is looked up though something is shown for it, and
    /// signatures are looked for again.
    ///
    /// # Errors
    /// Why not, in words for the operator.
    #[expect(clippy::disallowed_methods, reason = "the answer is heard though nobody waits for it any more")]
    pub async fn look(&self, backend: &str, now: bool) -> Result<ResolvedPackage, String> {
        let request = Request { backend: backend.to_owned(), now, again: now };
        // Whoever asks may go away meanwhile; the answer has to be heard all the same, or the next would get it.
        let asked = tokio::spawn(ask(Arc::clone(&self.socket), request));
        match asked.await.map_err(anyhow::Error::from).flatten() {
            Ok(Answer::Done(looked)) => Ok(looked),
            Ok(Answer::Failed(words)) => Err(words),
            Err(error) => Err(format!("the process that keeps packages is gone; restart the host: {error:#}")),
        }
    }
}

async fn ask(socket: Arc<Mutex<Line>>, request: Request) -> Result<Answer> {
    let mut line = socket.lock().await;
    // What fails between question and answer is not asked again.
    let mut socket = match std::mem::replace(&mut *line, Line::Gone) {
        Line::Open(socket) => socket,
        Line::Closed(socket) => {
            socket.set_nonblocking(true)?;
            BufReader::new(UnixStream::from_std(socket)?)
        }
        Line::Gone => anyhow::bail!("it has ended"),
    };
    let mut text = serde_json::to_vec(&request)?;
    text.push(b'\n');
    socket.write_all(&text).await?;
    let mut answer = String::new();
    socket.read_line(&mut answer).await?;
    let answer = serde_json::from_str(&answer).context("what it said")?;
    *line = Line::Open(socket);
    Ok(answer)
}
