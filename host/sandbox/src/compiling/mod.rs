//! Compiling in a process of its own: what a vendor's file makes of the compiler, a crash, all memory, no end,
//! ends there. Owns that process from its start to its end; the code that comes out is the caller's.
//! The process is this program started anew, never a fork, so it holds nothing of the host's: no secrets, no
//! descriptors, no locks that another thread had.
//!
//! ```text
//! host --bytes, then silence (stdin)--> compiler: gives up its rights, reads, compiles
//!      <--code in a sealed file (stdout), words on failure (stderr), exit status--'
//! ```

mod child;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

pub use child::{Order, main};

use super::lane;
use super::load_error::LoadError;
use drivebay_confine::Bounds;
use drivebay_observe::text::tame;
use drivebay_policy::limits::Limits;

/// The hidden subcommand that turns this program into the compiler.
pub const SUBCOMMAND: &str = "compile-component";
/// The program as the kernel runs it, also when its file was replaced by a newer one meanwhile.
const PROGRAM: &str = "/proc/self/exe";
/// How much of what it says is looked at.
const LONGEST_WORDS: u64 = 4096;
/// Bytes of the largest compiled code: several times those of the largest component of the slowest toolchain.
const LARGEST: u64 = 1 << 30;
/// It ended by itself and said why: the component is at fault.
const REFUSED: u8 = 3;
/// The same: something else is.
const FAILED: u8 = 1;

/// How much a compiler may use, and for how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    memory: u64,
    time: Duration,
    threads: usize,
}

impl Allowance {
    pub(super) fn of(limits: &Limits) -> Self {
        Self { memory: limits.compile_memory, time: limits.compile_time, threads: lane::all_but_one() }
    }

    /// What the kernel watches over.
    fn bounds(self) -> Bounds {
        let threads = u64::try_from(self.threads).unwrap_or(1);
        let cpu = self.time.as_secs().max(1).saturating_mul(threads).saturating_add(1);
        Bounds { memory: self.memory, cpu, output: LARGEST }
    }
}

/// Ends a compiler that nobody waits for any more, when it is dropped.
#[derive(Debug)]
pub(super) struct CancelOnDrop(Arc<OwnedFd>);

/// How a compiler learns that nobody waits any more.
#[derive(Debug, Clone)]
pub(super) struct CancelSignal(Arc<OwnedFd>);

impl CancelOnDrop {
    pub(super) fn new() -> std::io::Result<(Self, CancelSignal)> {
        let event = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        Ok((Self(Arc::clone(&event)), CancelSignal(event)))
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        // It fails only if the counter is full, and then it is readable already.
        let _readable = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// Compiles and gives the code. Blocks; `engine` is the word on which code the caller can run.
///
/// # Errors
/// What is wrong with the component, that it takes too much, or that no compiler can be started.
pub(super) fn run(
    bytes: &[u8],
    engine: &str,
    allowance: Allowance,
    cancelled: &CancelSignal,
) -> Result<Vec<u8>, LoadError> {
    let ends = Instant::now() + allowance.time;
    let failed = |error: std::io::Error| LoadError::Engine(format!("no process to compile in: {error}"));
    let (code, words) = (memory("code").map_err(failed)?, memory("words").map_err(failed)?);
    let mut child = start(engine, allowance, &code, &words).map_err(failed)?;
    let ended = feed(&mut child, bytes).and_then(|held| {
        let ended = wait(&child, ends, cancelled);
        // Held open until here: its end tells the compiler that the host is gone.
        drop(held);
        ended
    });
    if !matches!(ended, Ok(Ended::Itself)) {
        // It may have ended meanwhile.
        let _ = child.kill();
    }
    let status = child.wait().map_err(failed)?;
    match ended.map_err(failed)? {
        Ended::Itself if status.success() => take(code).map_err(failed),
        Ended::Itself => Err(refusal(status, &said(words), allowance)),
        Ended::Late => Err(LoadError::Costly(format!("it was not done after {:?} (compile-time)", allowance.time))),
        Ended::Cancelled => Err(LoadError::Cancelled),
    }
}

fn memory(name: &str) -> std::io::Result<File> {
    Ok(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?.into())
}

fn start(engine: &str, allowance: Allowance, code: &File, words: &File) -> std::io::Result<Child> {
    let Bounds { memory, cpu, output } = allowance.bounds();
    let mut numbers = vec![engine.to_owned()];
    numbers.extend([memory, cpu, output].map(|number| number.to_string()));
    numbers.push(allowance.threads.to_string());
    program(&numbers)
        .arg0("drivebay")
        .current_dir("/")
        // A Ctrl-C meant for the host is told to it by the host.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::from(code.try_clone()?))
        .stderr(Stdio::from(words.try_clone()?))
        .spawn()
}

#[cfg(not(test))]
fn program(order: &[String]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.env_clear().arg(SUBCOMMAND).args(order);
    command
}

/// The library's tests are another program: one of them becomes the compiler.
#[cfg(test)]
fn program(order: &[String]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.env_clear().env(tests::ORDER, order.join(" "));
    command.args(["compiling::tests::compiler_entry", "--exact", "--nocapture"]);
    command
}

/// Gives it the component, and what keeps it alive.
fn feed(child: &mut Child, bytes: &[u8]) -> std::io::Result<impl Sized + use<>> {
    let mut input = child.stdin.take().ok_or_else(|| std::io::Error::other("no way to its input"))?;
    let length = u64::try_from(bytes.len()).map_err(std::io::Error::other)?;
    match input.write_all(&length.to_le_bytes()).and_then(|()| input.write_all(bytes)) {
        // It has ended before it read everything; its status says why.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(input),
        written => written.map(|()| input),
    }
}

enum Ended {
    Itself,
    Late,
    Cancelled,
}

fn wait(child: &Child, deadline: Instant, cancelled: &CancelSignal) -> std::io::Result<Ended> {
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut awaited = [PollFd::new(&process, PollFlags::IN), PollFd::new(&*cancelled.0, PollFlags::IN)];
        match poll(&mut awaited, Timespec::try_from(left).ok().as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut heard = awaited.iter().map(|one| !one.revents().is_empty());
        match (heard.next(), heard.next()) {
            (Some(true), _) => return Ok(Ended::Itself),
            (_, Some(true)) => return Ok(Ended::Cancelled),
            _ if left.is_zero() => return Ok(Ended::Late),
            _ => {}
        }
    }
}

/// The code, which nobody can change any more.
fn take(mut code: File) -> std::io::Result<Vec<u8>> {
    fcntl_add_seals(&code, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    let length = code.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(length).map_err(std::io::Error::other)?);
    code.rewind()?;
    code.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn said(mut words: File) -> String {
    let mut bytes = Vec::new();
    // Words that cannot be read are no words.
    let _ = words.rewind().and_then(|()| words.take(LONGEST_WORDS).read_to_end(&mut bytes));
    tame(String::from_utf8_lossy(&bytes).trim(), 512)
}

/// What its end means: words of its own, or a limit.
fn refusal(status: ExitStatus, words: &str, allowance: Allowance) -> LoadError {
    let mebibytes = allowance.memory >> 20;
    match (status.code(), status.signal()) {
        (Some(code), _) if code == i32::from(REFUSED) => LoadError::Broken(words.to_owned()),
        (Some(code), _) if code == i32::from(FAILED) => LoadError::Engine(format!("its compiler says: {words}")),
        (_, Some(libc::SIGXCPU | libc::SIGKILL)) => {
            LoadError::Costly("it took more processor time than `compile-time` allows".to_owned())
        }
        (_, Some(libc::SIGABRT)) if words.contains("memory allocation") => {
            LoadError::Costly(format!("it took more than {mebibytes} MiB of memory (compile-memory)"))
        }
        _ => LoadError::Broken(format!("the compiler ended with {status}: {words}")),
    }
}
