//! What a file looks like below its bytes: pieces that read as zeros, that lie on known blocks, or
//! that only reading tells.
//!
//! Owns the words that the two sources of it share (the file map and seeking) and asks no kernel
//! itself, so that comparing two files does not depend on which source answered.

use super::{error::FileError, extents::Extent};

/// How a piece of a file is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A hole, or blocks set aside and never written: reads as zeros.
    Zeros,
    /// On blocks of its own, or shared with some other file.
    Blocks {
        /// The address of the first byte on the file system's device.
        physical: u64,
        /// Whether another file uses these blocks too.
        shared: bool,
    },
    /// Not told, compressed or kept inside the inode: only reading tells what it holds.
    Content,
}

/// A piece of a file, all of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) extent: Extent,
    pub(super) kind: Kind,
}

/// What can be said of a stretch of two files without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Same,
    Differs,
    /// Only reading both tells.
    Read,
}

impl Piece {
    /// What the kinds say of this and another file's piece from `at` on, where both are valid.
    pub(super) fn against(&self, other: &Self, at: u64) -> Verdict {
        match (self.kind, other.kind) {
            (Kind::Zeros, Kind::Zeros) => Verdict::Same,
            (Kind::Content, _) | (_, Kind::Content) => Verdict::Read,
            // Two addresses mean the same block only if both files call it shared: a file system
            // with a second device counts that device's addresses from zero again.
            (Kind::Blocks { physical: mine, shared: true }, Kind::Blocks { physical: theirs, shared: true })
                if mine.checked_add(at - self.extent.offset) == theirs.checked_add(at - other.extent.offset) =>
            {
                Verdict::Same
            }
            (Kind::Blocks { .. } | Kind::Zeros, Kind::Blocks { .. } | Kind::Zeros) => Verdict::Differs,
        }
    }
}

/// The pieces of a file in rising order, without gaps.
pub(super) type Pieces<'a> = Box<dyn Iterator<Item = Result<Piece, FileError>> + 'a>;
