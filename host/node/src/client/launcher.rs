//! The host's handle to its launcher: the process that starts a helper whenever one is needed, and shows the host
//! what it is to see.
//!
//! Owns the process and the host's end of its socket. It must not speak to helpers. Why there is a
//! launcher: see [`crate::launcher`].

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::{ErrorCode, NodeError};
use crate::frames;
use crate::permissions::Mandate;
use crate::process::LAUNCHER_SUBCOMMAND;
use crate::protocol::{LONGEST_LAUNCH_ANSWER, Order, SHOW, START_HELPER};
use crate::visible::Visible;

/// The host's handle to its launcher. When it is dropped, the launcher ends.
#[derive(Debug)]
pub struct Launcher {
    /// One request at a time.
    socket: Mutex<OwnedFd>,
    process: Child,
    mandate: Mandate,
    /// Paths in the namespace of this process; 0: it has none of its own.
    shown: AtomicUsize,
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
    /// Starts the launcher, and says once what its helpers may do and what this process is to see. To be called before this process gives up its
    /// rights and before it loads anything.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(exe: &Path, mandate: Mandate, visible: Vec<Visible>) -> Result<Self, NodeError> {
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
        let order = Order { mandate, visible };
        frames::send(&ours, &order).map_err(|error| NodeError::io("telling the node launcher its mandate", &error))?;
        Ok(Self { socket: Mutex::new(ours), process, mandate: order.mandate, shown: AtomicUsize::new(0) })
    }

    /// What its helpers may do, as it was said at the start.
    pub(super) fn mandate(&self) -> &Mandate {
        &self.mandate
    }

    /// Starts a helper with this socket and this place for its log; gives its process id.
    pub(super) fn launch(&self, socket: &OwnedFd, log: &OwnedFd) -> Result<u32, NodeError> {
        let (words, _) = self.ask(START_HELPER, &[socket.as_fd(), log.as_fd()])?;
        words.parse().map_err(|_| gone(&words))
    }

    /// Leaves the system's mounts for a namespace in which nothing is but what was to be seen. To be called while this
    /// process has its rights and one thread. Gives the number of paths.
    ///
    /// # Errors
    /// What the system says: nothing has changed.
    pub fn enter(&self) -> Result<usize, NodeError> {
        let failed = |errno| NodeError::system("entering a mount namespace", errno);
        let (words, namespace) = self.ask(SHOW, &[])?;
        let refused = || NodeError::new(ErrorCode::Failed, words.clone());
        let (paths, namespace) = words.parse().ok().zip(namespace).ok_or_else(refused)?;
        let working = std::env::current_dir();
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount)).map_err(failed)?;
        // What is relative on the command line means the directory that it was written in.
        if let Ok(working) = working {
            rustix::process::chdir(&working).map_err(failed)?;
        }
        self.shown.store(paths, Ordering::Relaxed);
        Ok(paths)
    }

    /// Has the launcher read the operator's configuration and show what it names by now. Blocks. Gives the number of
    /// paths; none: this process sees all of the system.
    ///
    /// # Errors
    /// What cannot be shown, and why; all else is.
    pub fn show(&self) -> Result<Option<usize>, NodeError> {
        if self.shown.load(Ordering::Relaxed) == 0 {
            return Ok(None);
        }
        let (words, _) = self.ask(SHOW, &[])?;
        let paths = words.parse().map_err(|_| NodeError::new(ErrorCode::Failed, words))?;
        self.shown.store(paths, Ordering::Relaxed);
        Ok(Some(paths))
    }

    /// How many paths the namespace of this process has; none: it has none of its own.
    pub fn shown(&self) -> Option<usize> {
        Some(self.shown.load(Ordering::Relaxed)).filter(|paths| *paths > 0)
    }

    /// One request and its answer, with the descriptor that came along.
    fn ask(&self, request: &[u8], along: &[BorrowedFd<'_>]) -> Result<(String, Option<OwnedFd>), NodeError> {
        let failed = |errno: Errno| gone(&errno.to_string());
        let ours = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        frames::send_with(&*ours, request, along).map_err(failed)?;
        let mut answer = [0; LONGEST_LAUNCH_ANSWER];
        let (length, mut descriptors) = frames::receive_with(&*ours, &mut answer).map_err(failed)?;
        let words = String::from_utf8_lossy(answer.get(..length).unwrap_or_default()).into_owned();
        if words.is_empty() { Err(gone("has ended")) } else { Ok((words, descriptors.pop())) }
    }
}

fn gone(what: &str) -> NodeError {
    NodeError::gone(&format!("its launcher {what}; restart the host"))
}
