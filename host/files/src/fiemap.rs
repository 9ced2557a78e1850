//! The kernel's map of a file's blocks (`FS_IOC_FIEMAP`).
//!
//! Owns the one unsafe call of this module and turns its answer into pieces without gaps. It must
//! not decide what is equal; it only says what lies where.

use super::{
    error::FileError,
    extents::Extent,
    layout::{Kind, Piece},
};
use rustix::ioctl::{Opcode, Updater, opcode};
use std::{collections::VecDeque, fs::File};

/// Extents asked for at once: 14 KiB, and few calls even for fragmented images.
const BATCH: usize = 256;

const SYNC: u32 = 0x1;
const LAST: u32 = 0x1;
const UNWRITTEN: u32 = 0x800;
const SHARED: u32 = 0x2000;
/// Unknown place, not yet placed, encoded, encrypted, unaligned, inline or packed with others: the
/// address says nothing of the contents.
const NO_ADDRESS: u32 = 0x2 | 0x4 | 0x8 | 0x80 | 0x100 | 0x200 | 0x400;

/// `struct fiemap` without its trailing array, whose size alone is part of the request's number.
#[repr(C)]
#[derive(Debug)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    capacity: u32,
    reserved: u32,
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Mapped {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
#[derive(Debug)]
struct Request {
    header: Header,
    extents: [Mapped; BATCH],
}

const FIEMAP: Opcode = opcode::read_write::<Header>(b'f', 11);

impl Mapped {
    fn end(&self) -> u64 {
        self.logical.saturating_add(self.length)
    }

    fn kind(&self) -> Kind {
        if self.flags & NO_ADDRESS != 0 {
            Kind::Content
        } else if self.flags & UNWRITTEN != 0 {
            Kind::Zeros
        } else {
            Kind::Blocks { physical: self.physical, shared: self.flags & SHARED != 0 }
        }
    }
}

fn map(file: &File, range: Extent, flags: u32) -> rustix::io::Result<Vec<Mapped>> {
    let capacity = u32::try_from(BATCH).unwrap_or_default();
    let header = Header { start: range.offset, length: range.length, flags, mapped: 0, capacity, reserved: 0 };
    let mut request = Box::new(Request { header, extents: [Mapped::default(); BATCH] });
    map_into(file, &mut request)?;
    let count = usize::try_from(request.header.mapped).unwrap_or_default();
    Ok(request.extents.iter().take(count).copied().collect())
}

#[allow(unsafe_code, reason = "no crate in use offers this request of the kernel")]
fn map_into(file: &File, request: &mut Request) -> rustix::io::Result<()> {
    // SAFETY: the number is FS_IOC_FIEMAP's, and `Request` is laid out as the kernel expects it: a
    // header, then as many extents as the header's capacity says, so it writes within `request`.
    unsafe { rustix::ioctl::ioctl(file, Updater::<FIEMAP, Request>::new(request)) }
}

/// The pieces of a range, read batch by batch.
#[derive(Debug)]
pub(super) struct Map<'a> {
    file: &'a File,
    path: &'a str,
    at: u64,
    end: u64,
    batch: VecDeque<Mapped>,
    asked: bool,
    complete: bool,
}

impl<'a> Map<'a> {
    /// The pieces of `range`, which must lie within the file.
    pub(super) fn new(file: &'a File, path: &'a str, range: Extent) -> Self {
        let (at, end) = (range.offset, range.end());
        Self { file, path, at, end, batch: VecDeque::new(), asked: false, complete: false }
    }

    fn fetch(&mut self) -> Result<(), FileError> {
        // Data still in memory have no address; written out once, they have.
        let flags = if self.asked { 0 } else { SYNC };
        self.asked = true;
        let found = map(self.file, Extent::between(self.at, self.end), flags)
            .map_err(|e| FileError::system(e, "map the blocks of", self.path))?;
        self.complete = found.last().is_none_or(|last| last.flags & LAST != 0);
        self.batch = found.into_iter().filter(|extent| extent.end() > self.at).collect();
        self.complete |= self.batch.is_empty();
        Ok(())
    }

    fn piece(&mut self, end: u64, kind: Kind) -> Piece {
        let extent = Extent::between(self.at, end.min(self.end));
        self.at = extent.end();
        Piece { extent, kind }
    }
}

impl Iterator for Map<'_> {
    type Item = Result<Piece, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        if self.batch.is_empty()
            && !self.complete
            && let Err(error) = self.fetch()
        {
            self.at = self.end;
            return Some(Err(error));
        }
        let Some(next) = self.batch.front().copied() else {
            return Some(Ok(self.piece(self.end, Kind::Zeros)));
        };
        if next.logical > self.at {
            return Some(Ok(self.piece(next.logical, Kind::Zeros)));
        }
        self.batch.pop_front();
        let skipped = self.at - next.logical;
        let kind = match next.kind() {
            Kind::Blocks { physical, shared } => Kind::Blocks { physical: physical.saturating_add(skipped), shared },
            known @ (Kind::Zeros | Kind::Content) => known,
        };
        Some(Ok(self.piece(next.end(), kind)))
    }
}

/// Whether any block of the file is shared with another file. False where there is no map.
pub(super) fn shares_blocks(file: &File, path: &str, size: u64) -> bool {
    Map::new(file, path, Extent::between(0, size))
        .any(|piece| matches!(piece, Ok(Piece { kind: Kind::Blocks { shared: true, .. }, .. })))
}

/// How many bytes of a range have no blocks set aside yet; none where there is no map.
pub(super) fn unmapped_bytes(file: &File, range: Extent) -> Option<u64> {
    let mut missing = 0;
    let mut at = range.offset;
    while at < range.end() {
        let found = map(file, Extent::between(at, range.end()), SYNC).ok()?;
        for extent in &found {
            missing += extent.logical.min(range.end()).saturating_sub(at);
            at = at.max(extent.end());
        }
        if found.last().is_none_or(|last| last.flags & LAST != 0) {
            return Some(missing + range.end().saturating_sub(at));
        }
    }
    Some(missing)
}
