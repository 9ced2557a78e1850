//! The host's handle to its launcher: the process that starts a helper whenever one is needed.
//!
//! Owns the process and the host's end of its socket. It must not speak to helpers. Why there is a
//! launcher: see [`crate::launcher`].

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType,
};

use crate::error::NodeError;
use crate::frames;
use crate::permissions::Mandate;
use crate::process::LAUNCHER_SUBCOMMAND;
use crate::protocol::{LONGEST_LAUNCH_ANSWER, START_HELPER};

/// The host's handle to its launcher. When it is dropped, the launcher ends.
#[derive(Debug)]
pub struct Launcher {
    /// One request at a time.
    socket: Mutex<OwnedFd>,
    process: Child,
    mandate: Mandate,
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
    /// Starts the launcher, and says once what its helpers may do. To be called before this process gives up its
    /// rights and before it loads anything.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(exe: &Path, mandate: Mandate) -> Result<Self, NodeError> {
        let failed = |errno| NodeError::system("making the node launcher's socket", errno);
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(failed)?;
        let mut command = Command::new(exe);
        command.args([LAUNCHER_SUBCOMMAND, "0"]).stdin(Stdio::from(theirs)).stdout(Stdio::null());
        // A Ctrl-C meant for the host must not end it before the host's calls have ended.
        command.process_group(0);
        let attempt = format!("starting the node launcher from {}", exe.display());
        let process = command.spawn().map_err(|error| NodeError::io(attempt, &error))?;
        frames::send(&ours, &mandate)
            .map_err(|error| NodeError::io("telling the node launcher its mandate", &error))?;
        Ok(Self { socket: Mutex::new(ours), process, mandate })
    }

    /// What its helpers may do, as it was said at the start.
    pub(super) fn mandate(&self) -> &Mandate {
        &self.mandate
    }

    /// Starts a helper with this socket and this place for its log; gives its process id.
    pub(super) fn launch(&self, socket: &OwnedFd, log: &OwnedFd) -> Result<u32, NodeError> {
        let gone = |what: &str| NodeError::gone(&format!("its launcher {what}; restart the host"));
        let ours = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        send_with(&ours, START_HELPER, &[socket.as_fd(), log.as_fd()]).map_err(|errno| gone(&errno.to_string()))?;
        let mut answer = [0; LONGEST_LAUNCH_ANSWER];
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
