//! Jobs that make a file system in an image.
//!
//! Owns the checks that keep data from being lost: the image must be a regular file, free, large
//! enough and blank at its head, unless the journal says that this very job was interrupted in it.

use super::{
    FileSystemJob, JobResult, Work,
    identity::{FileIdentity, JobFile, lock},
    journal::{HEAD, Journal},
    kinds::Kind,
    program,
    record::{Record, State},
};
use crate::{
    allocated::read_exact,
    directories::Access,
    error::{FileError, FileErrorCode},
    place::{Intent, Place, size_of, stat},
};
use rustix::fs::FlockOperation;
use std::{os::unix::fs::MetadataExt, path::Path};

/// Where the system lists block devices, loop devices among them.
const BLOCK_DEVICES: &str = "/sys/block";

/// Runs the job to its end, or to where it is told to stop.
pub(super) fn run(work: &Work<'_>, job: &FileSystemJob) -> Result<JobResult, FileError> {
    let kind = Kind::named(&job.file_system)
        .ok_or_else(|| FileError::at(FileErrorCode::Invalid, &job.file_system, "is no file system known here"))?;
    check_label(kind, job.label.as_deref())?;
    let place = work.directories.place(&job.image, Access::ReadWrite)?;
    let journal = Journal::new(place.grant(), work.key)?;
    let image = Image::open(&place, kind)?;
    let before = journal.read().filter(|record| record.file == image.identity);
    if let Some(result) = before.as_ref().and_then(|record| finished(record, work.job)) {
        return Ok(result);
    }
    image.check_free()?;
    if !before.is_some_and(|record| record.state == State::MakingFileSystem) {
        image.check_blank()?;
    }
    image.make(work, kind, job, &journal)
}

fn finished(record: &Record, job: &str) -> Option<JobResult> {
    match &record.state {
        State::Done { bytes, checksum } if record.job == job => {
            Some(JobResult { bytes: *bytes, checksum: checksum.clone() })
        }
        State::Done { .. } | State::Copying { .. } | State::MakingFileSystem => None,
    }
}

fn check_label(kind: &Kind, label: Option<&str>) -> Result<(), FileError> {
    let Some(label) = label else { return Ok(()) };
    if label.is_empty() || label.len() > kind.longest_label || label.chars().any(char::is_control) {
        let words = format!("a label of {} has 1 to {} bytes, no control characters", kind.name, kind.longest_label);
        return Err(FileError::new(FileErrorCode::Invalid, words));
    }
    Ok(())
}

struct Image<'a> {
    place: &'a Place,
    file: JobFile,
    size: u64,
    identity: FileIdentity,
}

impl<'a> Image<'a> {
    fn open(place: &'a Place, kind: &Kind) -> Result<Self, FileError> {
        let file = JobFile::from(place.open(Intent::Write)?);
        let size = size_of(&file, place.guest())?;
        if size < kind.minimum_bytes {
            let words = format!("{size} bytes; {} needs at least {}", kind.name, kind.minimum_bytes);
            return Err(FileError::at(FileErrorCode::Invalid, place.guest(), &words));
        }
        let identity = FileIdentity::of(&file, place.guest())?;
        Ok(Self { place, file, size, identity })
    }

    /// Nobody may use it: no job, no program that an earlier host left, no loop device.
    fn check_free(&self) -> Result<(), FileError> {
        lock(&self.file, FlockOperation::NonBlockingLockExclusive, self.place.guest())?;
        let image = stat(&self.file, self.place.guest())?;
        if is_behind_loop_device(image.st_dev, image.st_ino) {
            return Err(FileError::at(FileErrorCode::Busy, self.place.guest(), "is attached to a loop device"));
        }
        Ok(())
    }

    fn check_blank(&self) -> Result<(), FileError> {
        let mut head = vec![0_u8; usize::try_from(HEAD.min(self.size)).unwrap_or_default()];
        read_exact(&self.file, &mut head, 0, self.place.guest())?;
        if head.iter().any(|byte| *byte != 0) {
            let words = "holds a file system or other data; give its blocks back first if they are not wanted";
            return Err(FileError::at(FileErrorCode::AlreadyExists, self.place.guest(), words));
        }
        Ok(())
    }

    fn make(
        &self,
        work: &Work<'_>,
        kind: &Kind,
        job: &FileSystemJob,
        journal: &Journal,
    ) -> Result<JobResult, FileError> {
        let program = work
            .programs
            .find(kind)
            .ok_or_else(|| FileError::new(FileErrorCode::Unsupported, format!("this host has no {}", kind.program)))?;
        let record = Record::making(self.place, work.job, self.identity);
        journal.write(&record)?;
        work.progress.begin(0, self.size);
        let mut arguments = kind.options.to_vec();
        if let Some(label) = &job.label {
            arguments.extend(["-L", label]);
        }
        program::run(&program, &arguments, &self.file, self.place.guest(), work.stop)?;
        self.file.sync_all().map_err(|e| FileError::io(&e, "sync", self.place.guest()))?;
        let result = JobResult { bytes: self.size, checksum: String::new() };
        journal.write(&record.done(&result))?;
        Ok(result)
    }
}

/// Asks every loop device for its file. Unreadable entries count as free: a device that this process
/// cannot see is not over a file that it can.
fn is_behind_loop_device(device: u64, inode: u64) -> bool {
    let Ok(devices) = Path::new(BLOCK_DEVICES).read_dir() else {
        return false;
    };
    devices.flatten().any(|entry| {
        let Ok(backing) = std::fs::read_to_string(entry.path().join("loop/backing_file")) else {
            return false;
        };
        let file = std::fs::metadata(backing.trim_end_matches('\n'));
        file.is_ok_and(|file| (file.dev(), file.ino()) == (device, inode))
    })
}
