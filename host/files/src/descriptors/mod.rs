//! What a component does with granted directories itself: the system's side of `wasi:filesystem`.
//!
//! Every path is resolved by the kernel beneath a descriptor (`openat2`), so no check can be outrun by a
//! rename. Only regular files and directories are opened, never waiting for another process; a FIFO, a
//! socket or a device is refused. Links are followed as long as they stay beneath.
//!
//! Nothing here waits unless it is told that it may: with [`Patience::Cached`] an operation is done only
//! if the kernel has all it needs in memory, and says [`OpError::Waits`] otherwise. Knows no engine.

mod beneath;
mod directory;
mod entries;
mod file;
mod held;
mod local;
mod root;
mod standing;
mod stat;

pub use directory::{Directory, Opened, Opening};
pub use entries::{Entries, Entry};
pub use file::{File, Modes};
pub use held::OpenFiles;
pub(super) use local::is_local;
pub use root::Root;
pub use stat::{Identity, Kind, Moment, NewTime, Stat};

use crate::reach::Reach;
pub use rustix::fs::Advice;
pub use rustix::io::Errno;

/// Whether an operation may wait for a disk or a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// It must not: what is not in the kernel's memory is [`OpError::Waits`].
    Cached,
    /// It may.
    Any,
}

/// Why an operation was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpError {
    /// It may have to wait. Nothing was done: ask again where waiting is allowed.
    #[error("it may have to wait")]
    Waits,
    /// The system's word, or that of a rule which has the same meaning.
    #[error("{0}")]
    Refused(Errno),
    /// The granted directory is not there.
    #[error("the granted directory {0} cannot be opened")]
    Absent(String),
}

impl From<Errno> for OpError {
    fn from(errno: Errno) -> Self {
        Self::Refused(errno)
    }
}

/// What an operation gives.
pub type OpResult<T> = Result<T, OpError>;

/// Does work that may wait. Where it may hang and is not needed (see the `guard`s), there is an end to the waiting, and it
/// failed.
///
/// # Errors
/// Its own; `EIO` where it hangs.
pub fn in_time<T: Send + 'static>(
    guard: Option<Reach>,
    work: impl FnOnce() -> OpResult<T> + Send + 'static,
) -> OpResult<T> {
    match guard {
        None => work(),
        Some(reach) => reach.try_to(work).unwrap_or(Err(OpError::Refused(Errno::IO))),
    }
}

#[cfg(test)]
mod tests;
