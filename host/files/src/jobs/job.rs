//! What jobs are, say and hold. Types only.
//!
//! Owns the words of the contract for jobs; whether one may run, and when, is decided elsewhere.

use crate::{
    error::{FileError, FileErrorCode},
    extents::Extent,
};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::{fmt, io, sync::Arc, time::Duration};

/// The most ranges of one copy job: 1 MiB of them.
const MOST_RANGES: usize = 65_536;
/// The longest text of a job, in bytes: as long as a path can be. A job is kept while it waits.
const LONGEST_TEXT: usize = 4_095;

/// Copies `ranges` of `source` (none: all of it) to the same offsets of `target`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CopyJob {
    /// Read only.
    pub source: String,
    /// Made if it does not exist, and then named only when it is whole. An existing one is written
    /// in place; if all of the source is copied it gets the source's length.
    pub target: String,
    /// In any order.
    pub ranges: Vec<Extent>,
}

/// Makes a file system in an image file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileSystemJob {
    /// A regular file whose first 128 KiB read as zeros.
    pub image: String,
    /// One of those offered.
    pub file_system: String,
    /// As long as the file system allows.
    pub label: Option<String>,
}

/// Work that may take longer than a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Job {
    /// Copies.
    Copy(CopyJob),
    /// Makes a file system.
    MakeFileSystem(FileSystemJob),
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobProgress {
    /// Holes count as done when they are passed.
    pub done_bytes: u64,
    /// Zero while the job waits its turn.
    pub total_bytes: u64,
}

/// What came of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobResult {
    /// The bytes of all ranges, or of the image.
    pub bytes: u64,
    /// SHA-256 over what was copied, in hexadecimal; empty for other jobs. It depends on contents
    /// and ranges only, not on holes.
    pub checksum: String,
}

/// A job as a call finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobState {
    /// Waiting its turn, or running.
    Running(JobProgress),
    /// Remembered until it is cancelled or newer ones take its place.
    Done(JobResult),
    /// Told once; after that, running it again starts it anew.
    Failed(FileError),
}

/// Who starts a job.
#[derive(Default)]
pub struct Origin {
    /// The call, if it is one.
    pub call: Option<String>,
    /// What the job keeps until it has ended: the call's locks.
    pub hold: Option<Box<dyn Send>>,
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin").field("call", &self.call).field("holds", &self.hold.is_some()).finish()
    }
}

/// The limits of one backend's jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// How many run at once; each has a thread. As many more may run that work in a directory which may hang and which
    /// the component can do without: those take nobody's place.
    pub running: usize,
    /// How many more wait their turn.
    pub waiting: usize,
    /// How long one runs.
    pub time: Duration,
    /// How many ended ones are remembered.
    pub remembered: usize,
    /// How long results are kept on disk for a host that starts anew; looked at with a job now and then.
    pub kept: Duration,
    /// After how many copied bytes they are put on disk and the journal is told.
    pub checkpoint_bytes: u64,
}

impl Default for JobLimits {
    /// Four use a disk well and leave it to others too; an hour copies a terabyte from a fast one;
    /// clients repeat a call for hours, not for days; 64 MiB are copied again at most after a kill.
    fn default() -> Self {
        Self {
            running: 4,
            waiting: 64,
            time: Duration::from_hours(1),
            remembered: 1024,
            kept: Duration::from_hours(24),
            checkpoint_bytes: 64 * 1024 * 1024,
        }
    }
}

impl Job {
    /// Refuses what can never work, before anything is opened.
    pub(super) fn check(&self) -> Result<(), FileError> {
        match self {
            Self::Copy(copy) if copy.ranges.len() > MOST_RANGES => {
                let words = format!("{} ranges; a copy job takes {MOST_RANGES} at most", copy.ranges.len());
                Err(FileError::new(FileErrorCode::Limit, words))
            }
            _ if self.texts().into_iter().any(|text| text.len() > LONGEST_TEXT) => {
                let words = format!("a path or a word of a job is longer than {LONGEST_TEXT} bytes");
                Err(FileError::new(FileErrorCode::Invalid, words))
            }
            Self::Copy(_) | Self::MakeFileSystem(_) => Ok(()),
        }
    }

    fn texts(&self) -> [&str; 3] {
        match self {
            Self::Copy(copy) => [&copy.source, &copy.target, ""],
            Self::MakeFileSystem(make) => [&make.image, &make.file_system, make.label.as_deref().unwrap_or_default()],
        }
    }

    /// The hash of what it is to do, by which it is known when it has ended, and after a restart.
    pub(super) fn description(&self) -> Result<Arc<str>, FileError> {
        let mut text = HashWriter(Sha256::new());
        serde_json::to_writer(&mut text, self)
            .map_err(|e| FileError::new(FileErrorCode::Failed, format!("the job cannot be written down: {e}")))?;
        Ok(hex::encode(text.0.finalize()).into())
    }

    /// The files that it works on.
    pub(super) fn paths(&self) -> Vec<&str> {
        match self {
            Self::Copy(copy) => vec![&copy.source, &copy.target],
            Self::MakeFileSystem(make) => vec![&make.image],
        }
    }

    /// The file that it changes.
    pub(super) fn target(&self) -> &str {
        match self {
            Self::Copy(copy) => &copy.target,
            Self::MakeFileSystem(make) => &make.image,
        }
    }
}

/// Hashes what is written to it, so that a description of a megabyte is never in memory.
struct HashWriter(Sha256);

impl io::Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
