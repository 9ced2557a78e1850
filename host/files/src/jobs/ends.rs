//! The two ends of a copy: what is read, and what is written from which byte on.
//!
//! Owns the decision between going on and starting anew. It goes on only where everything can be
//! shown to be as it was left: the job, the source, the file written to, and the journal itself.

use super::{
    CopyJob, Work,
    checksum::Checksum,
    identity::{ContentIdentity, FileIdentity, JobFile, lock},
    journal::{Journal, found},
    record::{Destination, Record, State},
};
use crate::{
    directories::Access,
    error::{FileError, FileErrorCode},
    extents::{Extent, merged},
    place::{Intent, Place, size_of, stat},
};
use rustix::fs::FlockOperation;
use std::fs::File;

/// What is copied from.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) file: JobFile,
    pub(super) path: String,
    pub(super) identity: ContentIdentity,
    /// In rising order, neither overlapping nor touching.
    pub(super) ranges: Vec<Extent>,
    /// Whether all of it is copied, so that the target becomes as long as it.
    whole: bool,
}

/// What is copied to, and from where on.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) file: JobFile,
    pub(super) place: Place,
    pub(super) into: Destination,
    pub(super) position: u64,
    pub(super) checksum: Checksum,
    pub(super) record: Record,
}

impl Source {
    /// Opens it and checks the ranges.
    pub(super) fn open(work: &Work<'_>, job: &CopyJob) -> Result<Self, FileError> {
        let place = work.directories.place(&job.source, Access::ReadOnly)?;
        let (file, path) = (JobFile::from(place.open(Intent::Read)?), place.guest().to_owned());
        let identity = ContentIdentity::of(&file, &path)?;
        let size = identity.size();
        for range in &job.ranges {
            range.check(size, &path)?;
        }
        let whole = job.ranges.is_empty();
        let ranges = if whole { vec![Extent::between(0, size)] } else { merged(job.ranges.clone()) };
        Ok(Self { file, path, identity, ranges, whole })
    }

    /// Where the last range ends.
    pub(super) fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |range| range.end())
    }

    fn lock(&self) -> Result<(), FileError> {
        lock(&self.file, FlockOperation::NonBlockingLockShared, &self.path)
    }
}

impl Target {
    /// Goes on with what an earlier run left, if that can still be told to be right.
    pub(super) fn resume(
        record: Record,
        journal: &Journal,
        source: &Source,
        target: &Place,
    ) -> Result<Option<Self>, FileError> {
        let State::Copying { source: identity, position, ref checksum, into } = record.state else {
            return Ok(None);
        };
        let place = match into {
            Destination::Target => target.beside(target.name())?,
            Destination::Part if target.exists()? => return Ok(None),
            Destination::Part => journal.part(target)?,
        };
        let checksum = Checksum::restore(checksum);
        let (Some(checksum), Some(file)) = (checksum, found(place.open(Intent::Write))?) else {
            return Ok(None);
        };
        let file = JobFile::from(file);
        let same = FileIdentity::of(&file, place.guest())? == record.file && identity == source.identity;
        if !same || position > source.end() {
            return Ok(None);
        }
        source.lock()?;
        lock(&file, FlockOperation::NonBlockingLockExclusive, place.guest())?;
        // The previous holder of the lock may have gone on, or have ended.
        if journal.read().as_ref() != Some(&record) {
            return Err(FileError::at(FileErrorCode::Busy, place.guest(), "another job has just worked on this file"));
        }
        set_length(source, into, &file, &place)?;
        Ok(Some(Self { file, place, into, position, checksum, record }))
    }

    /// Starts anew, undoing what an earlier run left.
    pub(super) fn begin(
        work: &Work<'_>,
        journal: &Journal,
        source: &Source,
        target: &Place,
    ) -> Result<Self, FileError> {
        journal.discard()?;
        let (into, place, file) = if let Some(file) = found(target.open(Intent::Write))? {
            (Destination::Target, target.beside(target.name())?, file.into())
        } else {
            let part = journal.part(target)?;
            (Destination::Part, part.beside(part.name())?, new_part(&part)?)
        };
        let identity = check_distinct(source, &file, &place)?;
        source.lock()?;
        lock(&file, FlockOperation::NonBlockingLockExclusive, place.guest())?;
        let record = Record::copying(target, work.job, identity, source.identity, into);
        if let Err(error) = journal.note(&record) {
            if into == Destination::Part {
                part_is_of_no_use(work, &place);
            }
            return Err(error);
        }
        set_length(source, into, &file, &place)?;
        Ok(Self { file, place, into, position: 0, checksum: Checksum::default(), record })
    }
}

/// A part without a journal is what a host left that was killed between making the two.
fn new_part(part: &Place) -> Result<JobFile, FileError> {
    if let Some(left) = found(part.open(Intent::Write))?.map(JobFile::from) {
        lock(&left, FlockOperation::NonBlockingLockExclusive, part.guest())?;
        part.remove()?;
    }
    part.open(Intent::Create).map(JobFile::from)
}

fn part_is_of_no_use(work: &Work<'_>, part: &Place) {
    if let Err(error) = part.remove() {
        work.shared.complain(&error, "an unfinished copy stays behind");
    }
}

fn check_distinct(source: &Source, file: &File, place: &Place) -> Result<FileIdentity, FileError> {
    let (one, other) = (stat(&source.file, &source.path)?, stat(file, place.guest())?);
    if (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino) {
        return Err(FileError::at(FileErrorCode::Invalid, place.guest(), "is the source itself"));
    }
    FileIdentity::of(file, place.guest())
}

/// All of the source, or a new file: as long as the source. Ranges of a file that exists: long
/// enough for them.
fn set_length(source: &Source, into: Destination, file: &File, place: &Place) -> Result<(), FileError> {
    let length = match into {
        Destination::Target if !source.whole => source.end().max(size_of(file, place.guest())?),
        Destination::Target | Destination::Part => source.identity.size(),
    };
    file.set_len(length).map_err(|e| FileError::io(&e, "set the length of", place.guest()))
}
