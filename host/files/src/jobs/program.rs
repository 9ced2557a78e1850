//! Runs one program of the distribution on an open file.
//!
//! Owns its environment (none), its limits, its end and what it said. The file is its standard input, and it is
//! told to open that: so it works on the very file that was checked, and the file's lock lives as
//! long as the program, even if the host is killed and a new one comes.

use super::stop::Stop;
use crate::error::{FileError, FileErrorCode};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{MemfdFlags, memfd_create},
    io::Errno,
    process::{
        Pid, PidfdFlags, Resource, Rlimit, Signal, kill_process_group, pidfd_open, setpriority_process, setrlimit,
    },
};
use std::{
    fs::File,
    os::{fd::OwnedFd, unix::fs::FileExt, unix::process::CommandExt},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// What a program opens to get at its standard input.
const INPUT: &str = "/proc/self/fd/0";
/// What a program may map, in bytes: a file system of a petabyte takes half of it. An image of many petabytes costs a
/// backend nothing where files may be so long, and what is made of it may not leave the machine without memory.
const MOST_MEMORY: u64 = 1 << 30;
/// How long one works as calls do. All but the largest are made by then.
const QUICK: Duration = Duration::from_secs(1);
/// How nice it is from then on.
const NICE: i32 = 10;
/// How much of what a program said is looked at.
const LONGEST_WORDS: usize = 4096;

/// Runs `program` with `arguments` and then the file. What it says on failure names the file `path`.
pub(super) fn run(program: &Path, arguments: &[&str], file: &File, path: &str, stop: &Stop) -> Result<(), FileError> {
    let refuse = |e: &std::io::Error| FileError::io(e, "run the program for", path);
    let words = memfd_create("words", MemfdFlags::CLOEXEC).map_err(|e| FileError::system(e, "prepare", path))?;
    let words = File::from(words);
    let mut command = Command::new(program);
    command
        .args(arguments)
        .arg(INPUT)
        .env_clear()
        .env("LC_ALL", "C")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(file.try_clone().map_err(|e| refuse(&e))?)))
        .stdout(Stdio::null())
        .stderr(Stdio::from(OwnedFd::from(words.try_clone().map_err(|e| refuse(&e))?)));
    bound(&mut command);
    let mut child = command.spawn().map_err(|e| refuse(&e))?;
    let waited = wait(&child, stop);
    if !matches!(waited, Ok(Ended::Itself)) {
        kill(&child);
    }
    let status = child.wait().map_err(|e| refuse(&e))?;
    match waited.map_err(|e| FileError::system(e, "wait for the program for", path))? {
        Ended::Itself if status.success() => Ok(()),
        Ended::Itself => Err(FileError::at(FileErrorCode::Failed, path, &said(&words, status, path))),
        Ended::Stopped => stop.check(),
    }
}

/// Limits its memory, from before its first instruction.
#[allow(unsafe_code, reason = "there is no safe way to act between fork and exec")]
fn bound(command: &mut Command) {
    // SAFETY: the closure makes one system call and allocates nothing, as is allowed after a fork.
    unsafe {
        command.pre_exec(|| {
            setrlimit(Resource::As, Rlimit { current: Some(MOST_MEMORY), maximum: Some(MOST_MEMORY) })?;
            Ok(())
        });
    }
}

enum Ended {
    Itself,
    Stopped,
}

fn wait(child: &Child, stop: &Stop) -> rustix::io::Result<Ended> {
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let mut quick = Some(Instant::now() + QUICK);
    loop {
        if stop.why().is_some() {
            return Ok(Ended::Stopped);
        }
        let event = stop.event();
        let mut awaited = [PollFd::new(&process, PollFlags::IN), PollFd::new(&event, PollFlags::IN)];
        let left = [stop.left(), quick.map(|until| until.saturating_duration_since(Instant::now()))];
        let left = left.into_iter().flatten().min().and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut awaited, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
        if awaited.first().is_some_and(|process| !process.revents().is_empty()) {
            return Ok(Ended::Itself);
        }
        if quick.is_some_and(|until| until <= Instant::now()) {
            quick = None;
            // Without it, it is only less polite.
            let _ = setpriority_process(Some(Pid::from_child(child)), NICE);
        }
    }
}

fn kill(child: &Child) {
    // It has not been waited for, so its number cannot be another's yet.
    if let Err(error) = kill_process_group(Pid::from_child(child), Signal::KILL) {
        tracing::warn!(%error, "a program cannot be killed");
    }
}

fn said(words: &File, status: ExitStatus, path: &str) -> String {
    let mut bytes = vec![0; LONGEST_WORDS];
    let count = words.read_at(&mut bytes, 0).unwrap_or_default();
    bytes.truncate(count);
    let text = String::from_utf8_lossy(&bytes).replace(INPUT, path);
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line: String = first.unwrap_or_default().chars().filter(|c| !c.is_control()).take(200).collect();
    if line.is_empty() { format!("the program ended with {status} and said nothing") } else { line }
}
