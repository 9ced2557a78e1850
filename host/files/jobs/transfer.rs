//! Moves the bytes of a copy job.
//!
//! Owns the loop: data are read, hashed and written step by step, holes become holes, and every so
//! often what is written is put on disk and the journal told. It reads and writes rather than lets
//! the kernel copy, because the checksum needs the bytes anyway and the copy shall not share blocks.

use super::{
    JobResult, Work,
    ends::{Source, Target},
    journal::Journal,
    record::{Destination, Record, State},
    stop::Why,
    writeback::Writeback,
};
use crate::files::{
    allocated::{Seeking, read_exact},
    error::FileError,
    extents::Extent,
    layout::Kind,
    ops::clear,
};
use rustix::fs::Advice;
use std::{num::NonZeroU64, os::unix::fs::FileExt};

/// How much is read and written at once; a multiple of the checksum's block.
const STEP: u64 = 1024 * 1024;
/// Where data begin and end is rounded to this, so that the checksum sees the same blocks on every
/// file system.
const BLOCK: u64 = 4096;

/// A copy under way.
pub(super) struct Transfer<'a> {
    work: &'a Work<'a>,
    journal: &'a Journal,
    source: &'a Source,
    target: Target,
    /// Bytes since the journal was last told.
    since: u64,
    writeback: Writeback,
    buffer: Vec<u8>,
}

impl<'a> Transfer<'a> {
    /// From the target's position on.
    pub(super) fn new(work: &'a Work<'a>, journal: &'a Journal, source: &'a Source, target: Target) -> Self {
        let buffer = vec![0; usize::try_from(STEP).unwrap_or_default()];
        Self { work, journal, source, target, since: 0, writeback: Writeback::default(), buffer }
    }

    /// Copies what is left. Told to stop, it leaves the journal at the last byte that is on disk.
    pub(super) fn run(mut self) -> Result<(Record, JobResult), FileError> {
        let before = |range: &Extent| Extent::between(range.offset, range.end().min(self.target.position)).length;
        let done = self.source.ranges.iter().map(before).sum();
        let bytes = self.source.ranges.iter().map(|range| range.length).sum();
        self.work.progress.begin(done, bytes);
        for range in &self.source.ranges {
            if let Err(error) = self.work.stop.check().and_then(|()| self.range(*range)) {
                self.keep(*range)?;
                return Err(error);
            }
        }
        let (file, path) = (&self.target.file, self.target.place.guest());
        file.sync_all().map_err(|e| FileError::io(&e, "sync", path))?;
        if self.is_due() {
            self.give_back_memory();
        }
        Ok((self.target.record, JobResult { bytes, checksum: self.target.checksum.finish() }))
    }

    /// Before a stop that is followed by going on: tells the journal how far it is. Not at the very
    /// start of a range, where the checksum may or may not know of the range already; the journal
    /// then stays where it was.
    fn keep(&mut self, range: Extent) -> Result<(), FileError> {
        let goes_on = matches!(self.work.stop.why(), Some(Why::Draining | Why::TimeLimit));
        if goes_on && self.target.position != range.offset {
            self.checkpoint()?;
        }
        Ok(())
    }

    fn range(&mut self, range: Extent) -> Result<(), FileError> {
        let left = Extent::between(range.offset.max(self.target.position), range.end());
        // Anything of it behind the position: an earlier run has begun it.
        if self.target.position <= range.offset {
            self.target.checksum.begin(range);
        }
        self.target.position = left.offset;
        let source = self.source;
        for piece in Seeking::new(&source.file, &source.path, left) {
            let piece = piece?;
            if piece.kind == Kind::Zeros {
                continue;
            }
            let start = (piece.extent.offset / BLOCK * BLOCK).max(self.target.position);
            let end = piece.extent.end().next_multiple_of(BLOCK).min(range.end());
            self.hole(start)?;
            self.data(end)?;
        }
        self.hole(range.end())
    }

    /// The source has a hole up to `end`.
    fn hole(&mut self, end: u64) -> Result<(), FileError> {
        self.work.stop.check()?;
        let hole = Extent::between(self.target.position, end);
        if hole.length == 0 {
            return Ok(());
        }
        if self.target.into == Destination::Target {
            clear(&self.target.file, self.target.place.guest(), hole)?;
        }
        self.advance(hole)
    }

    /// The source has data up to `end`.
    fn data(&mut self, end: u64) -> Result<(), FileError> {
        while self.target.position < end {
            self.work.stop.check()?;
            let at = self.target.position;
            let step = Extent::between(at, end.min((at / STEP + 1) * STEP));
            let length = usize::try_from(step.length).unwrap_or_default();
            let bytes = self.buffer.get_mut(..length).unwrap_or_default();
            read_exact(&self.source.file, bytes, at, &self.source.path)?;
            let path = self.target.place.guest();
            self.target.file.write_all_at(bytes, at).map_err(|e| FileError::io(&e, "write", path))?;
            self.target.checksum.add(at, bytes);
            self.writeback.step(&self.target.file, step).map_err(|e| FileError::io(&e, "write", path))?;
            self.since += step.length;
            self.advance(step)?;
        }
        Ok(())
    }

    fn advance(&mut self, piece: Extent) -> Result<(), FileError> {
        self.target.position = piece.end();
        self.work.progress.add(piece.length);
        // At the end everything is put on disk anyway, and the journal told of the result.
        if self.is_due() && self.target.position < self.source.end() { self.checkpoint() } else { Ok(()) }
    }

    /// Whether so much was copied that a checkpoint is worth its flushes.
    fn is_due(&self) -> bool {
        self.since >= self.work.checkpoint_bytes
    }

    /// Puts what is copied on disk, then says so in the journal; in this order, or a crash between
    /// the two would skip data.
    fn checkpoint(&mut self) -> Result<(), FileError> {
        let (file, path) = (&self.target.file, self.target.place.guest());
        file.sync_data().map_err(|e| FileError::io(&e, "sync", path))?;
        if let State::Copying { position, checksum, .. } = &mut self.target.record.state {
            *position = self.target.position;
            *checksum = self.target.checksum.save();
        }
        self.journal.write(&self.target.record)?;
        self.since = 0;
        self.give_back_memory();
        Ok(())
    }

    /// Of the source: copied once, not read again. What was written may well be read soon.
    fn give_back_memory(&self) {
        let upto = NonZeroU64::new(self.target.position);
        let _ignored = rustix::fs::fadvise(&self.source.file, 0, upto, Advice::DontNeed);
    }
}
