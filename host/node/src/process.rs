//! What the helper and the launcher share as processes that this binary starts anew.
//!
//! Owns their subcommands and the first things that each of them does: taking over its socket,
//! ignoring signals, writing to the host's log. It must not know what either of them is for.

use std::ffi::c_int;
use std::io::Write;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

use rustix::io::Errno;

use crate::error::{ErrorCode, NodeError};

/// The hidden subcommand that turns the host's binary into the helper. Its arguments are the numbers
/// of two inherited descriptors: the socket's, and the mandate's.
pub const HELPER_SUBCOMMAND: &str = "node-helper";

/// The same for the launcher, which inherits a socket alone.
pub const LAUNCHER_SUBCOMMAND: &str = "node-launcher";

/// The same for one connection of NVMe over Fabrics, whose words come by standard input: they may hold secrets.
pub const FABRICS_SUBCOMMAND: &str = "node-fabrics";

const SIG_BLOCK: c_int = 0;
/// SIGHUP, SIGINT and SIGTERM as bits of a signal set.
const GROUP_SIGNALS: u64 = 1 | 1 << 1 | 1 << 14;

#[allow(unsafe_code, reason = "the C library's own symbol; the standard library links it anyway")]
// SAFETY: declared as in the C library; `SignalSet` is at least as large as its `sigset_t`.
unsafe extern "C" {
    fn pthread_sigmask(how: c_int, set: *const SignalSet, old: *mut SignalSet) -> c_int;
}

/// 1024 bits, as in glibc and musl; the kernel reads the first 64.
type SignalSet = [u64; 16];

/// One line for the host's log. Nobody can be told if it cannot be written.
pub(super) fn log(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Takes over the socket that the host left for us; programs must not inherit it.
pub(super) fn adopt(descriptor: RawFd) -> Result<OwnedFd, NodeError> {
    let socket = inherited(descriptor)?;
    rustix::net::sockopt::socket_type(&socket)
        .map_err(|errno| NodeError::system("taking over the node helper's socket", errno))?;
    Ok(socket)
}

/// Takes over a descriptor that our parent left for us; programs must not inherit it.
#[allow(unsafe_code, reason = "a descriptor's number arrives as text; no crate can check its owner")]
pub(super) fn inherited(descriptor: RawFd) -> Result<OwnedFd, NodeError> {
    if descriptor < 0 {
        return Err(NodeError::new(ErrorCode::Invalid, "the descriptor's number is negative"));
    }
    // SAFETY: this process was started with that descriptor open and nothing else here closes it; it
    // is only borrowed for copying, and a number that is not open is refused by the system.
    let inherited = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let refused = |errno| NodeError::system("taking over what the node helper was left", errno);
    rustix::io::fcntl_setfd(inherited, rustix::io::FdFlags::CLOEXEC).map_err(refused)?;
    rustix::io::fcntl_dupfd_cloexec(inherited, 3).map_err(refused)
}

/// Blocks the signals that go to a whole group of processes. Threads started later inherit it,
/// programs do not: the standard library clears the mask for them.
#[allow(unsafe_code, reason = "no crate at hand sets a signal mask")]
pub(super) fn ignore_group_signals() -> Result<(), NodeError> {
    let mut set: SignalSet = [0; 16];
    set[0] = GROUP_SIGNALS;
    // SAFETY: the call reads one signal set; no old one is asked for.
    let result = unsafe { pthread_sigmask(SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    if result == 0 {
        return Ok(());
    }
    Err(NodeError::system("blocking signals", Errno::from_raw_os_error(result)))
}
