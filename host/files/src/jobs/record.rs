//! What a job writes down of itself: its name on disk, and how far it is. Types only.
//!
//! Owns the form of the journals. It is versioned, because a new host reads what an older one left;
//! what it cannot read counts as not there, and the job starts anew.

use super::{
    JobResult,
    checksum::Checksum,
    identity::{ContentIdentity, FileIdentity},
};
use crate::place::Place;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The form of the journals that this code writes, and the only one that it reads.
const VERSION: u32 = 1;
/// What the names of journals begin with; part of the names that the host keeps to itself.
pub(super) const PREFIX: &str = ".drivebay-job-";
/// The name of a job on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyHash(String);

impl KeyHash {
    /// Of a key of `owner`, whose name keeps backends that share a directory apart.
    pub(super) fn new(owner: &str, key: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(owner.as_bytes());
        hash.update([0]);
        hash.update(key.as_bytes());
        let mut name = hex::encode(hash.finalize());
        name.truncate(32);
        Self(name)
    }

    /// Of the journal.
    pub(super) fn file_name(&self) -> String {
        format!("{PREFIX}{}", self.0)
    }

    /// Of the journal's next version, until it takes its place.
    pub(super) fn temporary_name(&self) -> String {
        format!("{PREFIX}{}.new", self.0)
    }
}

/// What a journal says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    /// The hash of the job's description.
    pub(super) job: String,
    /// The target or image, beneath the granted directory.
    path: String,
    /// The file that is written: a copy's part or target, or the image.
    pub(super) file: FileIdentity,
    pub(super) state: State,
}

/// How far the job is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    /// Copied and on disk up to `position`.
    Copying { source: ContentIdentity, position: u64, checksum: String, into: Destination },
    /// A program may have written some of a file system into the image.
    MakingFileSystem,
    /// Done, with this result.
    Done { bytes: u64, checksum: String },
}

/// Where a copy writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Destination {
    /// A file of its own, named when it is whole.
    Part,
    /// The target, which was there before.
    Target,
}

impl Record {
    /// Whether this code can read it.
    pub(super) fn is_current(&self) -> bool {
        self.version == VERSION
    }

    /// The target or image, beneath the granted directory.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// A copy at its beginning.
    pub(super) fn copying(
        work: &Place,
        job: &str,
        file: FileIdentity,
        source: ContentIdentity,
        into: Destination,
    ) -> Self {
        let checksum = Checksum::default().save();
        let state = State::Copying { source, position: 0, checksum, into };
        Self { version: VERSION, job: job.to_owned(), path: work.below().to_owned(), file, state }
    }

    /// A file system about to be made.
    pub(super) fn making(image: &Place, job: &str, file: FileIdentity) -> Self {
        let state = State::MakingFileSystem;
        Self { version: VERSION, job: job.to_owned(), path: image.below().to_owned(), file, state }
    }

    /// The same job with its result.
    pub(super) fn done(self, result: &JobResult) -> Self {
        Self { state: State::Done { bytes: result.bytes, checksum: result.checksum.clone() }, ..self }
    }
}
