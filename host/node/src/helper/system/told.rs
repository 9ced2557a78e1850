//! Secrets on their way to a program: each in a pipe that holds all of it before the program starts.
//!
//! Owns the pipe. Nobody else can open it, and what was read is gone. It must not be used for more than a pipe takes at once.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::pipe::PipeFlags;

use crate::error::{ErrorCode, NodeError};
use crate::protocol::Secret;

/// What every pipe takes without waiting for a reader.
const MOST: usize = 4096;

/// The end of a pipe that a program reads.
#[derive(Debug)]
pub(crate) struct Told(OwnedFd);

impl Told {
    pub(crate) fn new(secret: &Secret) -> Result<Self, NodeError> {
        let words = secret.words().as_bytes();
        let failed = |errno| NodeError::system("handing a secret to a program", errno);
        if words.len() > MOST {
            return Err(NodeError::new(ErrorCode::Invalid, "a secret is longer than a pipe"));
        }
        let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
        let written = rustix::io::write(&writer, words).map_err(failed)?;
        if written == words.len() {
            return Ok(Self(reader));
        }
        Err(NodeError::new(ErrorCode::Failed, "a pipe did not take a secret at once"))
    }

    /// Where the program that is started with it finds it, unless it is its standard input.
    pub(crate) fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }
}

impl AsFd for Told {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<Told> for OwnedFd {
    fn from(told: Told) -> Self {
        told.0
    }
}
