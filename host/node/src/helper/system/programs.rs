//! Running the distribution's file-system programs.
//!
//! No shell, a fixed environment, no input, limits on time and memory, and they die with the thread that runs
//! them. What they print goes to the log in part and never into an error, because it is not ours to vouch
//! for. It must not be used for what a system call does.

use std::env;
use std::fs;
use std::io::{PipeReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::io::{Errno, FdFlags};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::super::log_budget::say;
use super::covered::Covered;
use super::told::Told;
use crate::error::{ErrorCode, NodeError};

/// A check of a large file system takes minutes.
const TIME_LIMIT: Duration = Duration::from_mins(10);
/// What was killed ends at once, but where the kernel waits for a server or a disk.
const KILL_LIMIT: Duration = Duration::from_secs(2);
const NO_CAPABILITIES: CapabilitySets = CapabilitySets {
    effective: CapabilitySet::empty(),
    permitted: CapabilitySet::empty(),
    inheritable: CapabilitySet::empty(),
};
/// The kernel's highest niceness.
const LEAST_PRIORITY: i32 = 19;
/// What a program may map, in bytes. Images say how much their file systems need, and backends write images: what is
/// made of them may not leave the machine without memory. A check of 16 TiB takes a quarter of it.
const MOST_MEMORY: u64 = 2 << 30;
const MOST_OUTPUT: usize = 64 * 1024;
const MOST_LOGGED: usize = 2_000;
/// For a helper that was started without one.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    program: String,
    /// None: by a signal.
    status: Option<i32>,
    output: String,
}

impl Outcome {
    /// What it printed, as far as it is kept.
    pub(crate) fn output(&self) -> &str {
        &self.output
    }

    /// The status that it ended with; none: a signal.
    pub(crate) const fn status(&self) -> Option<i32> {
        self.status
    }

    /// Whether these words are in what it printed.
    pub(crate) fn says(&self, words: &str) -> bool {
        self.output.contains(words)
    }

    /// As it was recorded of the real program.
    #[cfg(test)]
    pub(crate) fn recorded(program: &str, status: i32, output: &str) -> Self {
        Self { program: program.to_owned(), status: Some(status), output: output.to_owned() }
    }

    /// An error, and the program's words in the log, unless it ended with one of these statuses.
    pub(crate) fn expect_success(&self, good: &[i32]) -> Result<(), NodeError> {
        if self.status.is_some_and(|status| good.contains(&status)) {
            return Ok(());
        }
        let end = match self.status {
            Some(status) => format!("ended with status {status}"),
            None => "was killed by a signal".to_owned(),
        };
        say(&format!("{} {end}: {}", self.program, in_a_line(&self.output)));
        let message = format!("{} {end}; the log has what it log_budget", self.program);
        Err(NodeError::new(ErrorCode::Failed, message))
    }
}

/// A program's words; some are those of an image.
fn in_a_line(output: &str) -> String {
    let one = |c: char| if c.is_control() { ' ' } else { c };
    output.replace('\n', " | ").chars().take(MOST_LOGGED).map(one).collect()
}

/// What a program may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rights {
    /// All that the helper may: for work on what is mounted, and where a program needs them.
    Ours,
    /// No capability, and no way to one: for programs that parse what a backend wrote, on a device that is not mounted.
    /// They open the device because it is their user's.
    None,
}

/// How a program is run.
#[derive(Debug)]
struct How<'a> {
    limit: Duration,
    rights: Rights,
    cue: Option<&'a Cue>,
    /// Its standard input; none: nothing.
    input: Option<OwnedFd>,
    /// What it finds besides, by its path.
    told: Option<Told>,
    /// More of its environment.
    variable: Option<(&'static str, &'static str)>,
    /// Where it sees a file system in memory.
    covered: Option<Covered>,
}

impl How<'_> {
    fn within(limit: Duration, rights: Rights) -> Self {
        Self { limit, rights, cue: NOTHING.as_ref(), input: None, told: None, variable: None, covered: None }
    }
}

/// Runs a program to its end, with all rights.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<Outcome, NodeError> {
    execute(program, arguments, How::within(TIME_LIMIT, Rights::Ours))
}

/// Runs a program to its end, without any right.
pub(crate) fn run_without_rights(program: &str, arguments: &[&str]) -> Result<Outcome, NodeError> {
    execute(program, arguments, How::within(TIME_LIMIT, Rights::None))
}

/// Runs a program that may wait for a server to its end, or kills it: when its time is over, or when nobody needs to know
/// any more ([`wait_for_no_server`]).
pub(crate) fn run_within(
    program: &str,
    arguments: &[&str],
    limit: Duration,
    rights: Rights,
) -> Result<Outcome, NodeError> {
    execute(program, arguments, How { cue: NO_SERVER.as_ref(), ..How::within(limit, rights) })
}

/// As [`run_within`] with all rights, for a program that sees a file system in memory in some places.
pub(crate) fn run_covered(
    program: &str,
    arguments: &[&str],
    limit: Duration,
    covered: Covered,
) -> Result<Outcome, NodeError> {
    let how = How { cue: NO_SERVER.as_ref(), covered: Some(covered), ..How::within(limit, Rights::Ours) };
    execute(program, arguments, how)
}

/// As [`run_within`] with all rights, for a program of the device mapper and the secrets that it is told: one at its standard input,
/// one where [`Told::path`] says. It does without udev: in a container it would wait for ever for an answer that udev gives
/// in another namespace, and nothing here needs udev's names.
pub(crate) fn run_told(
    program: &str,
    arguments: &[&str],
    limit: Duration,
    first: Option<Told>,
    second: Option<Told>,
) -> Result<Outcome, NodeError> {
    let variable = Some(("DM_DISABLE_UDEV", "1"));
    let how = How { cue: NO_SERVER.as_ref(), variable, told: second, ..How::within(limit, Rights::Ours) };
    execute(program, arguments, How { input: first.map(OwnedFd::from), ..how })
}

/// As [`run_within`] with all rights, with a directory that the program knows as [`HERE`], and whatever rights the helper has.
pub(crate) fn run_in(
    directory: OwnedFd,
    program: &str,
    arguments: &[&str],
    limit: Duration,
) -> Result<Outcome, NodeError> {
    let how = How { cue: NO_SERVER.as_ref(), input: Some(directory), ..How::within(limit, Rights::Ours) };
    execute(program, arguments, how)
}

/// As [`run_within`] with all rights, for this program itself as one of its parts, with its words at standard input.
pub(crate) fn run_ourselves(part: &str, words: Told, limit: Duration) -> Result<Outcome, NodeError> {
    let how = How { cue: NO_SERVER.as_ref(), input: Some(words.into()), ..How::within(limit, Rights::Ours) };
    // As the kernel runs it, also when its file was replaced by a newer one meanwhile.
    execute("/proc/self/exe", &[part], how)
}

/// What a program calls the directory of [`run_in`]: its standard input.
pub(crate) const HERE: &str = "/proc/self/fd/0";

/// From now on no program is waited for that may wait for a server: the next helper waits for this one's end.
pub(crate) fn wait_for_no_server() {
    NO_SERVER.iter().for_each(Cue::give);
}

/// From now on no program is waited for at all. One that is killed leaves what it was at as a crash of the machine would:
/// it is checked before the next mount.
pub(crate) fn wait_for_nothing() {
    NOTHING.iter().for_each(Cue::give);
}

static NO_SERVER: LazyLock<Option<Cue>> = LazyLock::new(Cue::new);
static NOTHING: LazyLock<Option<Cue>> = LazyLock::new(Cue::new);

/// Given once, and seen by all who wait from then on.
#[derive(Debug)]
struct Cue(OwnedFd);

impl Cue {
    fn new() -> Option<Self> {
        rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok().map(Self)
    }

    fn give(&self) {
        // It fails only where it was given already, over and over.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    fn is_given(&self) -> bool {
        let mut asked = [PollFd::new(&self.0, PollFlags::IN)];
        rustix::event::poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|count| count > 0)
    }
}

fn execute(program: &str, arguments: &[&str], how: How<'_>) -> Result<Outcome, NodeError> {
    let How { limit, rights, cue, input, told, variable, covered } = how;
    if cue.is_some_and(Cue::is_given) {
        return Err(NodeError::new(ErrorCode::Limit, format!("the host has ended, so {program} is not run any more")));
    }
    let failed = |error: std::io::Error| NodeError::io(format!("running {program}"), &error);
    let (path, search) = locate(program)?;
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    let mut command = Command::new(path);
    command
        .args(arguments)
        .env_clear()
        .env("PATH", search)
        .env("LC_ALL", "C")
        .envs(variable)
        .current_dir("/")
        .stdin(input.map_or_else(Stdio::null, Stdio::from))
        .stdout(writer.try_clone().map_err(failed)?)
        .stderr(writer)
        .process_group(0);
    bound(&mut command, rights, covered, told);
    let mut child = command.spawn().map_err(failed)?;
    // The command holds the pipe's far end.
    drop(command);
    let collected = collect(&child, reader, Instant::now() + limit, cue);
    if collected.is_err() {
        kill(&mut child);
        if !ends(&child, KILL_LIMIT) {
            return Err(left_behind(child, program));
        }
    }
    let status = child.wait().map_err(failed)?;
    let output = collected.map_err(|errno| match errno {
        Errno::CANCELED => NodeError::new(ErrorCode::Limit, format!("{program} was killed: the host has ended")),
        Errno::TIMEDOUT => {
            let message = format!("{program} did not end within {} s and was killed", limit.as_secs());
            NodeError::new(ErrorCode::Limit, message)
        }
        errno => NodeError::system(format!("running {program}"), errno),
    })?;
    Ok(Outcome { program: program.to_owned(), status: status.code(), output })
}

/// An executable file in an absolute directory of PATH, and that PATH.
pub(crate) fn locate(program: &str) -> Result<(PathBuf, String), NodeError> {
    let search = env::var("PATH").unwrap_or_else(|_| USUAL_PATH.to_owned());
    let executable = |path: &PathBuf| {
        let metadata = fs::metadata(path);
        metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    let candidates = env::split_paths(&search).filter(|directory| directory.is_absolute());
    let found = candidates.map(|directory| directory.join(program)).find(executable);
    let path = found.ok_or_else(|| {
        let message = format!("the program {program} is not installed on this host");
        NodeError::new(ErrorCode::Unsupported, message)
    })?;
    Ok((path, search))
}

/// A program that outlived the helper would work on a device that recovery is detaching. It gives way to everybody
/// else: on processors, and from its niceness also on disks.
#[allow(unsafe_code, reason = "there is no safe way to act between fork and exec")]
fn bound(command: &mut Command, rights: Rights, covered: Option<Covered>, told: Option<Told>) {
    // SAFETY: the closure makes some system calls and allocates nothing, as is allowed after a fork.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            rustix::process::setpriority_process(None, LEAST_PRIORITY)?;
            setrlimit(Resource::As, Rlimit { current: Some(MOST_MEMORY), maximum: Some(MOST_MEMORY) })?;
            if let Some(covered) = &covered {
                covered.enter()?;
            }
            if let Some(told) = &told {
                // Here, where no other program can be started that would inherit it, too.
                rustix::io::fcntl_setfd(told, FdFlags::empty())?;
            }
            if rights == Rights::None {
                // With the first, the program of a root's process does not get back what the second gives up.
                rustix::thread::set_no_new_privs(true)?;
                rustix::thread::set_capabilities(None, NO_CAPABILITIES)?;
            }
            Ok(())
        });
    }
}

/// Reads what the program prints until it ends.
fn collect(child: &Child, mut reader: PipeReader, deadline: Instant, cue: Option<&Cue>) -> Result<String, Errno> {
    let process = watch(child)?;
    let mut output = Vec::new();
    let mut open = true;
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(Errno::TIMEDOUT);
        }
        let (readable, ended, cancelled) = wait(&process, open.then_some(&reader), cue, rest)?;
        if cancelled && !ended {
            return Err(Errno::CANCELED);
        }
        if readable {
            open = read_some(&mut reader, &mut output)?;
        } else if ended {
            return Ok(String::from_utf8_lossy(&output).into_owned());
        }
    }
}

/// Whether a program ends within this time.
fn ends(child: &Child, limit: Duration) -> bool {
    watch(child).is_ok_and(|process| wait(&process, None, None, limit).is_ok_and(|(_, ended, _)| ended))
}

/// Lets a program that cannot be killed end in its own time: nobody waits for it but a thread that does nothing else.
fn left_behind(mut child: Child, program: &str) -> NodeError {
    let message =
        format!("{program} did not end in time and cannot be killed: the kernel waits for a server or a disk");
    if thread::Builder::new().name("program-end".to_owned()).spawn(move || child.wait()).is_err() {
        say(&format!("{program}, once it ends, stays as a zombie until this process ends"));
    }
    NodeError::new(ErrorCode::Limit, message)
}

fn watch(child: &Child) -> Result<OwnedFd, Errno> {
    rustix::process::pidfd_open(Pid::from_child(child), PidfdFlags::empty())
}

/// Whether there is something to read, whether the program has ended, and whether it is to be given up.
fn wait(
    process: &OwnedFd,
    reader: Option<&PipeReader>,
    cue: Option<&Cue>,
    rest: Duration,
) -> Result<(bool, bool, bool), Errno> {
    let timeout = Timespec::try_from(rest).map_err(|_| Errno::INVAL)?;
    let mut watched = vec![PollFd::new(process, PollFlags::IN)];
    watched.extend(cue.map(|cue| PollFd::new(&cue.0, PollFlags::IN)));
    watched.extend(reader.map(|reader| PollFd::new(reader, PollFlags::IN)));
    let (of_cue, of_reader) = (cue.map(|_| 1), reader.map(|_| watched.len() - 1));
    match rustix::event::poll(&mut watched, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(errno),
    }
    let happened = |at: Option<usize>| at.and_then(|at| watched.get(at)).is_some_and(|it| !it.revents().is_empty());
    Ok((happened(of_reader), happened(Some(0)), happened(of_cue)))
}

/// False at the end of the output. What is over the limit is read and dropped, so that the program
/// does not wait for us.
fn read_some(reader: &mut PipeReader, output: &mut Vec<u8>) -> Result<bool, Errno> {
    let mut chunk = [0; 4096];
    let length = reader.read(&mut chunk).map_err(|it| Errno::from_io_error(&it).unwrap_or(Errno::IO))?;
    let room = MOST_OUTPUT.saturating_sub(output.len());
    output.extend_from_slice(chunk.get(..length.min(room)).unwrap_or_default());
    Ok(length > 0)
}

/// The whole group, since some of these programs are scripts.
fn kill(child: &mut Child) {
    let group = Pid::from_child(child);
    if rustix::process::kill_process_group(group, Signal::KILL).is_err() {
        // It may have ended this moment; the caller awaits it either way.
        let _ = child.kill();
    }
}
