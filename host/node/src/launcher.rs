//! The launcher: a small process that keeps the right to start helpers and to mount, for a host that gives its own rights
//! up. Owns that process, which knows two requests; the mandate of its helpers and what the host is to see, which it
//! hears once, before the host loads anything. It must not do any node work itself. Why: a program that a confined
//! process starts is confined as well, so the helper that takes the place of a dead one must be started by somebody else,
//! and what that one may do must not be asked of a host that may be broken by then. The same holds for what the host is to
//! see later: the launcher reads that in the operator's configuration itself.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use crate::error::NodeError;
use crate::permissions::Mandate;
use crate::process::{self, HELPER_SUBCOMMAND};
use crate::protocol::{LONGEST_LAUNCH_ANSWER, Order, SHOW};
use crate::view::Showroom;
use crate::visible::ReadVisible;
use crate::{frames, sealed};

/// The program as the kernel runs it, also when its file was replaced by a newer one meanwhile.
const PROGRAM: &str = "/proc/self/exe";

/// Runs the launcher on the inherited descriptor until the host is gone. `read` is how what is to be seen is found in
/// the operator's configuration.
pub fn launcher_main(descriptor: RawFd, read: ReadVisible) -> ExitCode {
    let served = process::adopt(descriptor).and_then(|socket| {
        process::ignore_group_signals()?;
        let unreadable = |error: std::io::Error| NodeError::io("hearing the node launcher's mandate", &error);
        let Some(order) = frames::receive::<Order>(&socket).map_err(unreadable)? else {
            return Ok(());
        };
        let Order { mandate, visible } = order;
        let sealed = sealed::seal(&mandate)?;
        let Mandate { state_dir, file, .. } = mandate;
        serve(&socket, &sealed, &Showroom::new(state_dir, file, visible, read))
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            process::log(&error.message);
            ExitCode::FAILURE
        }
    }
}

fn serve(socket: &OwnedFd, mandate: &OwnedFd, showroom: &Showroom) -> Result<(), NodeError> {
    let mandate = sealed::number(mandate)?;
    let failed = |errno| NodeError::system("hearing the host", errno);
    let mut request = [0; 16];
    loop {
        let (length, descriptors) = frames::receive_with(socket, &mut request).map_err(failed)?;
        let (words, namespace) = match request.get(..length) {
            // The host is gone.
            None | Some([]) => return Ok(()),
            Some(SHOW) => match showroom.show() {
                Ok((paths, namespace)) => (paths.to_string(), namespace),
                Err(error) => (error.message, None),
            },
            Some(_) => match start(descriptors, &mandate) {
                Ok(process) => (process.to_string(), None),
                Err(error) => (format!("cannot start it: {error}"), None),
            },
        };
        let words = words.as_bytes();
        let words = words.get(..LONGEST_LAUNCH_ANSWER).unwrap_or(words);
        let along: Vec<BorrowedFd<'_>> = namespace.iter().map(AsFd::as_fd).collect();
        frames::send_with(socket, words, &along).map_err(failed)?;
    }
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
