//! The launcher: a small process that keeps the right to start helpers, for a host that gives its own rights
//! up. Owns both ends of that: the process, which knows one request and runs no work itself, and the host's
//! handle to it. Why: a program that a confined process starts is confined as well, so the helper that takes
//! the place of a dead one must be started by somebody else.

use std::fmt::Write as _;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, Shutdown, SocketFlags, SocketType,
};

use super::ops::syscalls;
use super::{HELPER_SUBCOMMAND, NodeError, helper};

/// The program as the kernel runs it, also when its file was replaced by a newer one meanwhile.
const PROGRAM: &str = "/proc/self/exe";
/// The only request: start a helper with the two descriptors that come along.
const START: &[u8] = b"start";
/// The longest answer: a process id, or words.
const LONGEST: usize = 1024;

/// The host's handle to its launcher. When it is dropped, the launcher ends.
#[derive(Debug)]
pub struct Launcher {
    /// One request at a time.
    socket: Mutex<OwnedFd>,
    process: Child,
}

impl Drop for Launcher {
    fn drop(&mut self) {
        let socket = self.socket.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The end of the stream is how it learns that nobody needs it any more. If both fail, it is gone already.
        let _ = rustix::net::shutdown(&*socket, Shutdown::Both);
        let _ = self.process.wait();
    }
}

impl Launcher {
    /// Starts the launcher. To be called before this process gives up its rights.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(exe: &Path) -> Result<Self, NodeError> {
        let failed = |errno| NodeError::system("making the node launcher's socket", errno);
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(failed)?;
        let mut command = Command::new(exe);
        command.args([super::LAUNCHER_SUBCOMMAND, "0"]).stdin(Stdio::from(theirs)).stdout(Stdio::null());
        // A Ctrl-C meant for the host must not end it before the host's calls have ended.
        command.process_group(0);
        let attempt = format!("starting the node launcher from {}", exe.display());
        let process = command.spawn().map_err(|error| NodeError::io(attempt, &error))?;
        Ok(Self { socket: Mutex::new(ours), process })
    }

    /// Starts a helper with this socket and this place for its log; gives its process id.
    pub(super) fn launch(&self, socket: &OwnedFd, log: &OwnedFd) -> Result<u32, NodeError> {
        let gone = |what: &str| NodeError::gone(&format!("its launcher {what}; restart the host"));
        let ours = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        send_with(&ours, START, &[socket.as_fd(), log.as_fd()]).map_err(|errno| gone(&errno.to_string()))?;
        let mut answer = [0; LONGEST];
        let received = rustix::io::retry_on_intr(|| rustix::net::recv(&*ours, &mut answer[..], RecvFlags::empty()));
        let length = received.map_err(|errno| gone(&errno.to_string()))?.0;
        let words = String::from_utf8_lossy(answer.get(..length).unwrap_or_default()).into_owned();
        match words.parse() {
            Ok(process) => Ok(process),
            Err(_) if words.is_empty() => Err(gone("has ended")),
            Err(_) => Err(gone(&words)),
        }
    }
}

fn send_with(socket: &OwnedFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut along = SendAncillaryBuffer::new(&mut space);
    along.push(SendAncillaryMessage::ScmRights(descriptors));
    rustix::io::retry_on_intr(|| {
        rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut along, SendFlags::NOSIGNAL)
    })?;
    Ok(())
}

/// Runs the launcher on the inherited descriptor until the host is gone.
pub fn launcher_main(descriptor: RawFd) -> ExitCode {
    let served = helper::adopt(descriptor).and_then(|socket| {
        syscalls::ignore_group_signals()?;
        serve(&socket)
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            helper::log(&error.message);
            ExitCode::FAILURE
        }
    }
}

fn serve(socket: &OwnedFd) -> Result<(), NodeError> {
    let failed = |errno| NodeError::system("hearing the host", errno);
    while let Some(descriptors) = receive(socket).map_err(failed)? {
        let mut answer = String::new();
        let written = match start(descriptors) {
            Ok(process) => write!(answer, "{process}"),
            Err(error) => write!(answer, "cannot start it: {error}"),
        };
        let words = answer.as_bytes();
        let words = words.get(..LONGEST).unwrap_or(words);
        if written.is_ok() {
            rustix::net::send(socket, words, SendFlags::NOSIGNAL).map_err(failed)?;
        }
    }
    Ok(())
}

/// What came along with a request; none: the host is gone.
fn receive(socket: &OwnedFd) -> rustix::io::Result<Option<Vec<OwnedFd>>> {
    let mut bytes = [0; 16];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut along = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        let flags = RecvFlags::CMSG_CLOEXEC;
        rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut along, flags)
    })?;
    let descriptors = along.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let descriptors = descriptors.flatten().collect();
    Ok((received.bytes > 0).then_some(descriptors))
}

fn start(descriptors: Vec<OwnedFd>) -> std::io::Result<u32> {
    let [socket, log] = <[OwnedFd; 2]>::try_from(descriptors).map_err(|_| std::io::Error::other("no descriptors"))?;
    let mut command = Command::new(PROGRAM);
    command.arg0("drivebay").args([HELPER_SUBCOMMAND, "0"]);
    command.stdin(Stdio::from(socket)).stdout(Stdio::null()).stderr(Stdio::from(log)).process_group(0);
    let mut child = command.spawn()?;
    let process = child.id();
    // Its end is known from its socket; somebody must hear of it all the same, or it stays as a zombie.
    thread::Builder::new().name("helper-end".to_owned()).spawn(move || child.wait())?;
    Ok(process)
}
