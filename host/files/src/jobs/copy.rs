//! Copy jobs: what a run begins with, and what makes its result whole.
//!
//! Owns the order journal, data, name. Where it begins is decided in `ends`, and the data are moved
//! by `transfer`. A new target gets its name only when it is whole; an
//! existing one is written in place, so a copy that fails there leaves it half-written.

use super::{
    CopyJob, JobResult, Work,
    ends::{Source, Target},
    identity::{ContentIdentity, FileIdentity},
    journal::{Journal, found},
    record::{Destination, Record, State},
    transfer::Transfer,
};
use crate::{
    directories::Access,
    error::{FileError, FileErrorCode},
    place::{Intent, Place},
};

/// Runs a copy job to its end, or to where it is told to stop.
pub(super) fn run(work: &Work<'_>, job: &CopyJob) -> Result<JobResult, FileError> {
    let place = work.directories.place(&job.target, Access::ReadWrite)?;
    let journal = Journal::new(place.grant(), work.key)?;
    let before = journal.read().filter(|record| record.job == work.job);
    if let Some(result) = before.as_ref().map(|record| finished(record, &journal, &place)).transpose()?.flatten() {
        return Ok(result);
    }
    let source = Source::open(work, job)?;
    let resumed = match before {
        Some(record) => Target::resume(record, &journal, &source, &place)?,
        None => None,
    };
    let target = match resumed {
        Some(target) => target,
        None => Target::begin(work, &journal, &source, &place)?,
    };
    let into = target.into;
    let (record, result) = Transfer::new(work, &journal, &source, target).run()?;
    if ContentIdentity::of(&source.file, &source.path)? != source.identity {
        return Err(FileError::at(FileErrorCode::Failed, &source.path, "changed while it was copied"));
    }
    // A checkpoint that comes back after a power failure would vouch for bytes that another job has written over meanwhile.
    let is_checkpointed = matches!(record.state, State::Copying { into: Destination::Target, position: 1.., .. });
    let record = record.done(&result);
    // The data are on disk. Without this record they are copied once more.
    let told = if is_checkpointed { journal.write(&record) } else { journal.note(&record) };
    told?;
    if into == Destination::Part {
        name_part(&record, &journal.part(&place)?, &place)?;
    }
    Ok(result)
}

/// The result of an earlier run, if its target is still there; a part that was whole and had no name
/// yet gets it.
fn finished(record: &Record, journal: &Journal, place: &Place) -> Result<Option<JobResult>, FileError> {
    let State::Done { bytes, checksum } = &record.state else {
        return Ok(None);
    };
    let result = JobResult { bytes: *bytes, checksum: checksum.clone() };
    if is(record, place)? {
        return Ok(Some(result));
    }
    let part = journal.part(place)?;
    if is(record, &part)? && !place.exists()? {
        part.rename_to(place)?;
        return Ok(Some(result));
    }
    Ok(None)
}

fn name_part(record: &Record, part: &Place, place: &Place) -> Result<(), FileError> {
    if !is(record, part)? {
        return Err(FileError::at(FileErrorCode::Failed, part.guest(), "was replaced while it was written"));
    }
    part.rename_to(place)
}

fn is(record: &Record, place: &Place) -> Result<bool, FileError> {
    let Some(file) = found(place.open(Intent::Read))? else {
        return Ok(false);
    };
    Ok(FileIdentity::of(&file, place.guest())? == record.file)
}
