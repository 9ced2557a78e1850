//! The launcher: a small process that keeps the right to start helpers and to mount, for a host that gives its own rights
//! up. Owns that process, which knows two requests; the mandate of its helpers and what the host is to see, which it
//! hears once, before the host loads anything. It must not do any node work itself. Why: a program that a confined
//! process starts is confined as well, so the helper that takes the place of a dead one must be started by somebody else,
//! and what that one may do must not be asked of a host that may be broken by then. The same holds for what the host is to
//! see later: the launcher reads that in the operator's configuration itself.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::error::NodeError;
use crate::permissions::Mandate;
use crate::process::{self, HELPER_SUBCOMMAND};
use crate::protocol::{LONGEST_LAUNCH_ANSWER, Order, SHOW, START_HELPER};
use crate::view::LiveView;
use crate::visible::{ReadVisible, Visibility, Visible};
use crate::{frames, ledger_directory, sealed};

/// The program as the kernel runs it, also when its file was replaced by a newer one meanwhile.
const PROGRAM: &str = "/proc/self/exe";

/// Helpers at once. One works, and those before it may still be ending; a host that was broken into may want a thousand.
const MOST_HELPERS: usize = 8;

/// Runs the launcher on the inherited descriptor until the host is gone. `read` is how what is to be seen is found in
/// the operator's configuration.
pub fn launcher_main(descriptor: RawFd, read: ReadVisible) -> ExitCode {
    let served = process::adopt(descriptor).and_then(|socket| {
        process::ignore_group_signals()?;
        let unreadable = |error: std::io::Error| NodeError::io("hearing the node launcher's mandate", &error);
        let Some(order) = frames::receive::<Order>(&socket).map_err(unreadable)? else {
            return Ok(());
        };
        let Order { mut mandate, mut visible } = order;
        // Links on the way are the operator's now; a broken host could change those that it may write to.
        mandate.state_dir = mandate.state_dir.canonicalize().map_err(|error| unusable(&mandate.state_dir, &error))?;
        let path = ledger_directory::prepare(&mandate.state_dir)?;
        visible.push(Visible { path, how: Visibility::Hidden });
        let sealed = sealed::seal(&mandate)?;
        let Mandate { state_dir, file, .. } = mandate;
        serve(&socket, &sealed, &LiveView::new(state_dir, file, visible, read))
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            process::log(&error.message);
            ExitCode::FAILURE
        }
    }
}

fn unusable(state_dir: &Path, error: &std::io::Error) -> NodeError {
    NodeError::io(format!("looking for the state directory {}", state_dir.display()), error)
}

fn serve(socket: &OwnedFd, mandate: &OwnedFd, live: &LiveView) -> Result<(), NodeError> {
    let mandate = sealed::number(mandate)?;
    let helpers = Arc::new(AtomicUsize::new(0));
    let failed = |errno| NodeError::system("hearing the host", errno);
    let mut request = [0; 16];
    loop {
        let (length, descriptors) = frames::receive_with(socket, &mut request).map_err(failed)?;
        let (words, namespace) = match request.get(..length) {
            // The host is gone.
            None | Some([]) => return Ok(()),
            Some(SHOW) => match live.show() {
                Ok((paths, namespace)) => (paths.to_string(), namespace),
                Err(error) => (error.message, None),
            },
            Some(START_HELPER) => match start(descriptors, &mandate, &helpers) {
                Ok(process) => (process.to_string(), None),
                Err(error) => (format!("cannot start it: {error}"), None),
            },
            // Not from a host as it was started.
            Some(_) => ("this is no request".to_owned(), None),
        };
        let words = words.as_bytes();
        let words = words.get(..LONGEST_LAUNCH_ANSWER).unwrap_or(words);
        let along: Vec<BorrowedFd<'_>> = namespace.iter().map(AsFd::as_fd).collect();
        frames::send_with(socket, words, &along).map_err(failed)?;
    }
}

fn start(descriptors: Vec<OwnedFd>, mandate: &str, helpers: &Arc<AtomicUsize>) -> std::io::Result<u32> {
    let [socket, log] = <[OwnedFd; 2]>::try_from(descriptors).map_err(|_| std::io::Error::other("no descriptors"))?;
    if helpers.load(Ordering::Relaxed) >= MOST_HELPERS {
        return Err(std::io::Error::other("too many have not ended"));
    }
    let mut command = Command::new(PROGRAM);
    command.arg0("drivebay").args([HELPER_SUBCOMMAND, "0", mandate]);
    command.stdin(Stdio::from(socket)).stdout(Stdio::null()).stderr(Stdio::from(log)).process_group(0);
    let mut child = command.spawn()?;
    let (process, helpers) = (child.id(), Arc::clone(helpers));
    helpers.fetch_add(1, Ordering::Relaxed);
    // Its end is known from its socket; somebody must hear of it all the same, or it stays as a zombie.
    thread::Builder::new().name("helper-end".to_owned()).spawn(move || {
        // An error says that it is gone.
        let _ = child.wait();
        helpers.fetch_sub(1, Ordering::Relaxed);
    })?;
    Ok(process)
}

#[cfg(test)]
mod tests;
