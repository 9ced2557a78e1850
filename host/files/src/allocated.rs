//! Which ranges of a file hold data, by seeking (`SEEK_DATA`, `SEEK_HOLE`).
//!
//! Blocks that are set aside and never written read as zeros, so they are holes here, as the
//! kernel's seek has it. On a file system without holes all is data, which is right, only long.

use super::{
    error::{FileError, FileErrorCode},
    extents::{Extent, Page, Pager, Room},
    layout::{Kind, Piece},
    place::size_of,
};
use rustix::{
    fs::{SeekFrom, seek},
    io::Errno,
};
use std::fs::File;

/// The pieces of a range: holes are zeros, the rest is content.
#[derive(Debug)]
pub(super) struct Seeking<'a> {
    file: &'a File,
    path: &'a str,
    at: u64,
    end: u64,
}

impl<'a> Seeking<'a> {
    /// The pieces of `range`, which must lie within the file.
    pub(super) fn new(file: &'a File, path: &'a str, range: Extent) -> Self {
        Self { file, path, at: range.offset, end: range.end() }
    }

    fn look(&self) -> rustix::io::Result<Piece> {
        let data = match seek(self.file, SeekFrom::Data(self.at)) {
            Ok(offset) => offset.min(self.end),
            Err(Errno::NXIO) => self.end,
            Err(e) => return Err(e),
        };
        if data > self.at {
            return Ok(Piece { extent: Extent::between(self.at, data), kind: Kind::Zeros });
        }
        let hole = match seek(self.file, SeekFrom::Hole(self.at)) {
            // A file cut short meanwhile has its hole where the data were; the rest reads short.
            Ok(offset) if offset <= self.at => self.end,
            Ok(offset) => offset.min(self.end),
            Err(Errno::NXIO) => self.end,
            Err(e) => return Err(e),
        };
        Ok(Piece { extent: Extent::between(self.at, hole), kind: Kind::Content })
    }
}

impl Iterator for Seeking<'_> {
    type Item = Result<Piece, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let found = self.look().map_err(|e| FileError::system(e, "look for data in", self.path));
        self.at = found.as_ref().map_or(self.end, |piece| piece.extent.end());
        Some(found)
    }
}

/// The ranges from `offset` on that hold data.
pub(super) fn list(file: &File, path: &str, offset: u64, limit: u32) -> Result<Page, FileError> {
    let size = size_of(file, path)?;
    let mut pager = Pager::new(offset, limit, size, path)?;
    for piece in Seeking::new(file, path, Extent::between(offset, size)) {
        let piece = piece?;
        if piece.kind != Kind::Zeros && pager.push(piece.extent) == Room::Full {
            break;
        }
    }
    Ok(pager.finish())
}

/// Fills the buffer from `offset` on; a file that shrank under its reader is an error of its own.
pub(super) fn read_exact(file: &File, buffer: &mut [u8], offset: u64, path: &str) -> Result<(), FileError> {
    match std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset) {
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            Err(FileError::at(FileErrorCode::Failed, path, "became shorter while it was read"))
        }
        other => other.map_err(|e| FileError::io(&e, "read", path)),
    }
}
