//! The files in which jobs write down what they are doing, so that a killed host can go on.
//!
//! Owns where they lie and what is undone by them. One lies in the granted directory itself, `.drivebay-job-` and a hash
//! of the key, so that cancelling finds it with the key alone; what a copy makes lies beside its
//! target under the same name and `.part`. Components can write there, so what is read back is
//! input: it is compared, and its path is opened beneath the grant like any other.

use super::{
    identity::{FileIdentity, JobFile, lock},
    record::{Destination, KeyHash, PREFIX, Record, State},
};
use crate::{
    error::{FileError, FileErrorCode},
    extents::Extent,
    granted::Granted,
    ops::write_zeros,
    path::GuestPath,
    place::{Intent, Place, open_beneath, size_of},
};
use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags};
use std::{
    fs::File,
    io::{Read, Write},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The largest journal that is read; a real one has a tenth of it at most.
const LARGEST: u64 = 65_536;
/// What must read as zeros before a file system is made: the places of the superblocks of ext4 (1
/// KiB), XFS (0) and Btrfs (64 KiB), of partition tables, LUKS and most others.
pub(super) const HEAD: u64 = 128 * 1024;

/// The journal of one key in one granted directory.
#[derive(Debug)]
pub(super) struct Journal {
    grant: Arc<Granted>,
    key: KeyHash,
    file: Place,
    new: Place,
}

impl Journal {
    /// Opens nothing but the directory; there need be no journal.
    pub(super) fn new(grant: &Arc<Granted>, key: &KeyHash) -> Result<Self, FileError> {
        let file = Place::reserved(grant, &[key.file_name()])?;
        let new = file.beside(&key.temporary_name())?;
        Ok(Self { grant: Arc::clone(grant), key: key.clone(), file, new })
    }

    /// Where a copy to `target` is made.
    pub(super) fn part(&self, target: &Place) -> Result<Place, FileError> {
        target.beside(&format!("{}.part", self.key.file_name()))
    }

    /// What it says; none if there is none, or none that can be understood.
    pub(super) fn read(&self) -> Option<Record> {
        read_record(&self.file)
    }

    /// Writes it, replacing what was there; on disk when this returns.
    pub(super) fn write(&self, record: &Record) -> Result<(), FileError> {
        let written = self.write_new(record)?.sync_data();
        written.map_err(|e| FileError::io(&e, "write", self.new.guest()))?;
        self.new.replace(&self.file)?;
        self.file.sync_directory()
    }

    /// Writes it, replacing what was there, for a host that is killed. A machine that loses its power may lose it, and
    /// then what stood there before counts, or nothing: for what may as well be done again.
    pub(super) fn note(&self, record: &Record) -> Result<(), FileError> {
        self.write_new(record)?;
        self.new.replace(&self.file)
    }

    fn write_new(&self, record: &Record) -> Result<File, FileError> {
        let text = serde_json::to_vec(record)
            .map_err(|e| FileError::at(FileErrorCode::Failed, self.file.guest(), &format!("cannot be written: {e}")))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NONBLOCK;
        let opened = open_beneath(self.new.directory(), &self.key.temporary_name(), flags, Mode::RUSR | Mode::WUSR)
            .map_err(|e| FileError::opening(e, self.new.guest()))?;
        let mut file = File::from(opened);
        file.write_all(&text).map_err(|e| FileError::io(&e, "write", self.new.guest()))?;
        Ok(file)
    }

    /// Undoes what the journal says is under way, and removes it. Success when there is none;
    /// `Busy` while somebody still works on the file, and nothing is undone then.
    pub(super) fn discard(&self) -> Result<(), FileError> {
        let state = self.read().map(|record| self.undo(&record).map(|()| record.state)).transpose()?;
        self.file.remove()?;
        self.new.remove()?;
        // Back after a power failure, it would vouch for bytes that another job has written over meanwhile. A part is
        // known by its identity.
        match state {
            Some(State::Copying { into: Destination::Target, .. }) => self.file.sync_directory(),
            _ => Ok(()),
        }
    }

    fn undo(&self, record: &Record) -> Result<(), FileError> {
        match record.state {
            State::Copying { into: Destination::Part, .. } => self.remove_part(record),
            State::MakingFileSystem => self.clear_image(record),
            State::Copying { into: Destination::Target, .. } | State::Done { .. } => Ok(()),
        }
    }

    fn remove_part(&self, record: &Record) -> Result<(), FileError> {
        let opened = self.place_of(record).and_then(|target| self.part(&target)).and_then(opened_for_undoing);
        let Some((file, part)) = usable(opened)? else {
            return Ok(());
        };
        lock(&file, FlockOperation::NonBlockingLockExclusive, part.guest())?;
        part.remove()
    }

    fn clear_image(&self, record: &Record) -> Result<(), FileError> {
        let opened = self.place_of(record).and_then(opened_for_undoing);
        let Some((file, image)) = usable(opened)? else {
            return Ok(());
        };
        if FileIdentity::of(&file, image.guest())? != record.file {
            return Ok(());
        }
        lock(&file, FlockOperation::NonBlockingLockExclusive, image.guest())?;
        let head = Extent::between(0, HEAD.min(size_of(&file, image.guest())?));
        write_zeros(&file, image.guest(), head)?;
        rustix::fs::fdatasync(&file).map_err(|e| FileError::system(e, "sync", image.guest()))
    }

    fn place_of(&self, record: &Record) -> Result<Place, FileError> {
        Place::reserved(&self.grant, &GuestPath::parse(&format!("/{}", record.path()))?.names)
    }
}

/// Removes the journals of finished jobs in a granted directory that are older than `age`, and those beyond
/// the newest `keep`. They are results that nobody asked for again; without this they would add up over
/// restarts, in a directory that belongs to others.
pub(super) fn sweep(grant: &Arc<Granted>, keep: usize, age: Duration) -> rustix::io::Result<()> {
    let oldest = SystemTime::now().checked_sub(age).and_then(|then| then.duration_since(UNIX_EPOCH).ok());
    let oldest = oldest.and_then(|then| i64::try_from(then.as_secs()).ok()).unwrap_or(0);
    let directory = open_beneath(grant.root(), ".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::read_from(&directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.strip_prefix(PREFIX).is_some_and(|hash| !hash.contains('.')) {
            // One that went meanwhile is not surplus.
            let Ok(stat) = rustix::fs::statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            names.push(((stat.st_mtime, stat.st_mtime_nsec), name));
        }
    }
    names.sort_unstable();
    let surplus = names.len().saturating_sub(keep);
    let swept = names.into_iter().enumerate().filter(|(n, ((written, _), _))| *n < surplus || *written < oldest);
    for (_, (_, name)) in swept {
        let Ok(place) = Place::reserved(grant, &[name]) else {
            continue;
        };
        if read_record(&place).is_some_and(|record| matches!(record.state, State::Done { .. })) {
            let _tried_again_at_the_next_sweep = place.remove();
        }
    }
    Ok(())
}

fn opened_for_undoing(place: Place) -> Result<(JobFile, Place), FileError> {
    Ok((place.open(Intent::Write)?.into(), place))
}

/// None for what is not there, and for what no journal of the host can name: somebody else has
/// written it, and there is nothing to undo.
fn usable<T>(result: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match result {
        Err(e) if matches!(e.code, FileErrorCode::NotAllowed | FileErrorCode::Invalid) => Ok(None),
        other => found(other),
    }
}

/// None instead of an error for what is not there.
pub(super) fn found<T>(result: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match result {
        Err(e) if e.code == FileErrorCode::NotFound => Ok(None),
        other => other.map(Some),
    }
}

fn read_record(file: &Place) -> Option<Record> {
    let mut text = Vec::new();
    file.open(Intent::Read).ok()?.take(LARGEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok().filter(Record::is_current)
}
