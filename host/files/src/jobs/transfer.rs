//! Moves the bytes of a copy job.
//!
//! Owns what becomes of the pieces that are read: data are written, holes become holes, and every so
//! often what is written is put on disk and the journal told.

use super::{
    JobResult, Work,
    ends::{Source, Target},
    journal::Journal,
    reading::{Piece, Read, Reader, STEP},
    record::{Destination, Record, State},
    stop::Why,
    writeback::Writeback,
};
use crate::{
    direct::{Buffer, Direct, Way},
    error::{FileError, FileErrorCode},
    extents::Extent,
    ops::clear,
};
use drivebay_admission::courtesy::Courtesy;
use std::{
    sync::mpsc::{Receiver, Sender, channel, sync_channel},
    thread,
};

/// Buffers between reading and writing: one at each end, and one that waits.
const BUFFERS: usize = 3;

/// A copy under way.
pub(super) struct Transfer<'a> {
    work: &'a Work<'a>,
    journal: &'a Journal,
    source: &'a Source,
    target: Target,
    /// Bytes since the journal was last told.
    since: u64,
    direct: Direct,
    writeback: Writeback,
    courtesy: Courtesy<'static>,
}

impl<'a> Transfer<'a> {
    /// From the target's position on.
    pub(super) fn new(work: &'a Work<'a>, journal: &'a Journal, source: &'a Source, target: Target) -> Self {
        let (direct, writeback) = (Direct::default(), Writeback::default());
        let courtesy = Courtesy::new(work.gives_way);
        Self { work, journal, source, target, since: 0, direct, writeback, courtesy }
    }

    /// Copies what is left. Told to stop, it leaves the journal at the last byte that is on disk.
    pub(super) fn run(mut self) -> Result<(Record, JobResult), FileError> {
        let before = |range: &Extent| Extent::between(range.offset, range.end().min(self.target.position)).length;
        let done = self.source.ranges.iter().map(before).sum();
        let bytes = self.source.ranges.iter().map(|range| range.length).sum();
        self.work.progress.begin(done, bytes);
        if let Err(error) = self.copy() {
            self.keep()?;
            return Err(error);
        }
        let (file, path) = (&self.target.file, self.target.place.guest());
        file.sync_all().map_err(|e| FileError::io(&e, "sync", path))?;
        Ok((self.target.record, JobResult { bytes, checksum: self.target.checksum.finish() }))
    }

    fn copy(&mut self) -> Result<(), FileError> {
        let ((pieces, read), (emptied, empty)) = (sync_channel(BUFFERS), channel());
        for _ in 0..BUFFERS {
            let _kept = emptied.send(Buffer::new(STEP));
        }
        let reader = Reader {
            source: self.source,
            stop: self.work.stop,
            position: self.target.position,
            checksum: self.target.checksum.clone(),
            empty,
            pieces,
            direct: Direct::default(),
            cached: 0,
            courtesy: Courtesy::new(self.work.gives_way),
        };
        thread::scope(|scope| {
            // It goes before the reader is waited for, who may be waiting for a buffer.
            let emptied = emptied;
            let spawned = thread::Builder::new().name("drivebay-read".to_owned()).spawn_scoped(scope, || reader.run());
            let none = |error| FileError::new(FileErrorCode::Limit, format!("no thread for the job: {error}"));
            spawned.map_err(none)?;
            self.write(read, &emptied)
        })
    }

    fn write(&mut self, read: Receiver<Read>, emptied: &Sender<Buffer>) -> Result<(), FileError> {
        for piece in read {
            let Piece { extent, data, checksum } = piece?;
            self.work.stop.check()?;
            self.courtesy.give_way();
            if let Some(buffer) = data {
                self.data(extent, buffer.bytes())?;
                // A reader that has come to its end wants none.
                let _unwanted = emptied.send(buffer);
            } else if self.target.into == Destination::Target {
                clear(&self.target.file, self.target.place.guest(), extent)?;
            }
            self.target.checksum = checksum;
            self.advance(extent)?;
        }
        Ok(())
    }

    fn data(&mut self, extent: Extent, bytes: &[u8]) -> Result<(), FileError> {
        let (file, path) = (&self.target.file, self.target.place.guest());
        if self.direct.write(file, path, bytes, extent.offset)? == Way::ThroughCache {
            self.writeback.step(file, extent).map_err(|e| FileError::io(&e, "write", path))?;
        }
        self.since += extent.length;
        Ok(())
    }

    fn advance(&mut self, piece: Extent) -> Result<(), FileError> {
        self.target.position = piece.end();
        self.work.progress.add(piece.length);
        // At the end everything is put on disk anyway, and the journal told of the result.
        let is_due = self.since >= self.work.checkpoint_bytes && self.target.position < self.source.end();
        if is_due { self.checkpoint() } else { Ok(()) }
    }

    /// Before a stop that is followed by going on: tells the journal how far it is.
    fn keep(&mut self) -> Result<(), FileError> {
        match self.work.stop.why() {
            Some(Why::Draining | Why::TimeLimit) => self.checkpoint(),
            Some(Why::Cancelled) | None => Ok(()),
        }
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
        Ok(())
    }
}
