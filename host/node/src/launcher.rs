//! The launcher: a small process that keeps the right to start helpers, for a host that gives its own rights
//! up. Owns that process, which knows one request, and the mandate of its helpers, which it hears once, before the
//! host loads anything; it must not do any work itself. Why: a program that a confined process starts is confined
//! as well, so the helper that takes the place of a dead one must be started by somebody else, and what that one
//! may do must not be asked of a host that may be broken by then.

use std::fmt::Write as _;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags};

use crate::error::NodeError;
use crate::permissions::Mandate;
use crate::process::{self, HELPER_SUBCOMMAND};
use crate::protocol::LONGEST_LAUNCH_ANSWER;
use crate::{frames, sealed};

/// The program as the kernel runs it, also when its file was replaced by a newer one meanwhile.
const PROGRAM: &str = "/proc/self/exe";

/// Runs the launcher on the inherited descriptor until the host is gone.
pub fn launcher_main(descriptor: RawFd) -> ExitCode {
    let served = process::adopt(descriptor).and_then(|socket| {
        process::ignore_group_signals()?;
        let unreadable = |error: std::io::Error| NodeError::io("hearing the node launcher's mandate", &error);
        let Some(mandate) = frames::receive::<Mandate>(&socket).map_err(unreadable)? else {
            return Ok(());
        };
        serve(&socket, &sealed::seal(&mandate)?)
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            process::log(&error.message);
            ExitCode::FAILURE
        }
    }
}

fn serve(socket: &OwnedFd, mandate: &OwnedFd) -> Result<(), NodeError> {
    let mandate = sealed::number(mandate)?;
    let failed = |errno| NodeError::system("hearing the host", errno);
    while let Some(descriptors) = receive(socket).map_err(failed)? {
        let mut answer = String::new();
        let written = match start(descriptors, &mandate) {
            Ok(process) => write!(answer, "{process}"),
            Err(error) => write!(answer, "cannot start it: {error}"),
        };
        let words = answer.as_bytes();
        let words = words.get(..LONGEST_LAUNCH_ANSWER).unwrap_or(words);
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

fn start(descriptors: Vec<OwnedFd>, mandate: &str) -> std::io::Result<u32> {
    let [socket, log] = <[OwnedFd; 2]>::try_from(descriptors).map_err(|_| std::io::Error::other("no descriptors"))?;
    let mut command = Command::new(PROGRAM);
    command.arg0("drivebay").args([HELPER_SUBCOMMAND, "0", mandate]);
    command.stdin(Stdio::from(socket)).stdout(Stdio::null()).stderr(Stdio::from(log)).process_group(0);
    let mut child = command.spawn()?;
    let process = child.id();
    // Its end is known from its socket; somebody must hear of it all the same, or it stays as a zombie.
    thread::Builder::new().name("helper-end".to_owned()).spawn(move || child.wait())?;
    Ok(process)
}
