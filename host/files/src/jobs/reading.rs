//! Reads what a copy job copies, on a thread of its own and ahead of the writer.
//!
//! Owns the order of the pieces and their checksum, and knows nothing of the target. It reads and writes rather than lets
//! the kernel copy, because the checksum needs the bytes anyway and the copy shall not share blocks.

use super::{checksum::Checksum, ends::Source, stop::Stop};
use crate::{
    allocated::Seeking,
    direct::{Buffer, Direct, Way},
    error::FileError,
    extents::Extent,
    layout::Kind,
};
use drivebay_admission::courtesy::Courtesy;
use rustix::fs::Advice;
use std::{
    num::NonZeroU64,
    sync::mpsc::{Receiver, RecvError, SendError, SyncSender},
};

/// How much is read and written at once; a multiple of the checksum's block.
pub(super) const STEP: u64 = 1024 * 1024;
/// Where data begin and end is rounded to this, so that the checksum sees the same blocks on every
/// file system.
const BLOCK: u64 = 4096;
/// So much that was read through the page cache is given back at once.
const CACHED: u64 = 64 * STEP;

/// A piece of the source. They follow each other without gaps within a range.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) extent: Extent,
    /// None: zeros.
    pub(super) data: Option<Buffer>,
    /// Of everything up to the end of this piece.
    pub(super) checksum: Checksum,
}

/// What is read, or why no more is.
pub(super) type Read = Result<Piece, FileError>;

/// The side that reads.
pub(super) struct Reader<'a> {
    pub(super) source: &'a Source,
    pub(super) stop: &'a Stop,
    /// Up to where an earlier run has copied.
    pub(super) position: u64,
    /// Of what it has copied.
    pub(super) checksum: Checksum,
    /// Where empty buffers come from.
    pub(super) empty: Receiver<Buffer>,
    /// Where pieces go to.
    pub(super) pieces: SyncSender<Read>,
    pub(super) direct: Direct,
    /// Bytes that went through the page cache since some were given back.
    pub(super) cached: u64,
    pub(super) courtesy: Courtesy<'static>,
}

/// Why reading ends before the end.
enum Ended {
    Failed(FileError),
    NobodyListens,
}

impl Reader<'_> {
    /// Reads what is left, to the end or until nobody wants more.
    pub(super) fn run(mut self) {
        let ranges = &self.source.ranges;
        if let Err(Ended::Failed(error)) = ranges.iter().try_for_each(|range| self.range(*range)) {
            // A receiver that is gone has a reason of its own.
            let _told = self.pieces.send(Err(error));
        }
    }

    fn range(&mut self, range: Extent) -> Result<(), Ended> {
        let left = Extent::between(range.offset.max(self.position), range.end());
        // Anything of it behind the position: an earlier run has begun it.
        if self.position <= range.offset {
            self.checksum.begin(range);
        }
        self.position = left.offset;
        let source = self.source;
        for piece in Seeking::new(&source.file, &source.path, left) {
            let piece = piece?;
            if piece.kind == Kind::Zeros {
                continue;
            }
            let start = (piece.extent.offset / BLOCK * BLOCK).max(self.position);
            let end = piece.extent.end().next_multiple_of(BLOCK).min(range.end());
            self.hole(start)?;
            self.data(end)?;
        }
        self.hole(range.end())
    }

    fn hole(&mut self, end: u64) -> Result<(), Ended> {
        self.stop.check()?;
        let hole = Extent::between(self.position, end);
        if hole.length == 0 { Ok(()) } else { self.hand_over(hole, None) }
    }

    fn data(&mut self, end: u64) -> Result<(), Ended> {
        while self.position < end {
            self.stop.check()?;
            let at = self.position;
            let step = Extent::between(at, end.min((at / STEP + 1) * STEP));
            let mut buffer = self.empty.recv()?;
            self.courtesy.give_way();
            let way = self.direct.read(&self.source.file, &self.source.path, buffer.fill(step.length), at)?;
            if way == Way::ThroughCache {
                self.give_back_memory(step);
            }
            self.checksum.add(at, buffer.bytes());
            self.hand_over(step, Some(buffer))?;
        }
        Ok(())
    }

    fn hand_over(&mut self, extent: Extent, data: Option<Buffer>) -> Result<(), Ended> {
        self.position = extent.end();
        Ok(self.pieces.send(Ok(Piece { extent, data, checksum: self.checksum.clone() }))?)
    }

    /// Copied once, not read again: room in memory for others.
    fn give_back_memory(&mut self, step: Extent) {
        self.cached += step.length;
        if self.cached >= CACHED {
            self.cached = 0;
            let _ignored = rustix::fs::fadvise(&self.source.file, 0, NonZeroU64::new(step.end()), Advice::DontNeed);
        }
    }
}

impl From<FileError> for Ended {
    fn from(error: FileError) -> Self {
        Self::Failed(error)
    }
}

impl<T> From<SendError<T>> for Ended {
    fn from(_: SendError<T>) -> Self {
        Self::NobodyListens
    }
}

impl From<RecvError> for Ended {
    fn from(_: RecvError) -> Self {
        Self::NobodyListens
    }
}
