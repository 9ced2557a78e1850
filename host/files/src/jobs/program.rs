//! Runs one program of the distribution on an open file.
//!
//! Owns its environment (none), its end and what it said. The file is its standard input, and it is
//! told to open that: so it works on the very file that was checked, and the file's lock lives as
//! long as the program, even if the host is killed and a new one comes.

use super::stop::Stop;
use crate::error::{FileError, FileErrorCode};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{MemfdFlags, memfd_create},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open},
};
use std::{
    fs::File,
    os::{fd::OwnedFd, unix::fs::FileExt, unix::process::CommandExt},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
};

/// What a program opens to get at its standard input.
const INPUT: &str = "/proc/self/fd/0";
/// How much of what a program said is looked at.
const LONGEST_WORDS: usize = 4096;

/// Runs `program` with `arguments` and then the file. What it says on failure names the file `path`.
pub(super) fn run(program: &Path, arguments: &[&str], file: &File, path: &str, stop: &Stop) -> Result<(), FileError> {
    let refuse = |e: &std::io::Error| FileError::io(e, "run the program for", path);
    let words = memfd_create("words", MemfdFlags::CLOEXEC).map_err(|e| FileError::system(e, "prepare", path))?;
    let words = File::from(words);
    let mut child = Command::new(program)
        .args(arguments)
        .arg(INPUT)
        .env_clear()
        .env("LC_ALL", "C")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(file.try_clone().map_err(|e| refuse(&e))?)))
        .stdout(Stdio::null())
        .stderr(Stdio::from(OwnedFd::from(words.try_clone().map_err(|e| refuse(&e))?)))
        .spawn()
        .map_err(|e| refuse(&e))?;
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

enum Ended {
    Itself,
    Stopped,
}

fn wait(child: &Child, stop: &Stop) -> rustix::io::Result<Ended> {
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        if stop.why().is_some() {
            return Ok(Ended::Stopped);
        }
        let event = stop.event();
        let mut awaited = [PollFd::new(&process, PollFlags::IN), PollFd::new(&event, PollFlags::IN)];
        let left = stop.left().and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut awaited, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
        if awaited.first().is_some_and(|process| !process.revents().is_empty()) {
            return Ok(Ended::Itself);
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
