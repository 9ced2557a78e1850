//! Pieces of a file: checking, merging and cutting them into pages. Pure.
//!
//! Every list of extents of this module goes through here, so that "in rising order, without
//! overlap" holds by construction and not by the care of each caller.

use super::error::{FileError, FileErrorCode};
use serde::{Deserialize, Serialize};

/// A piece of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Where it starts.
    pub offset: u64,
    /// How long it is.
    pub length: u64,
}

/// Some extents in rising order, and where to go on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// Without overlap; neighbours that touch are one.
    pub extents: Vec<Extent>,
    /// None: this was all. A page may be empty and still say where to go on.
    pub next_offset: Option<u64>,
}

/// Whether a page takes more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    Left,
    Full,
}

/// The most extents of one page: 8,192 are 128 KiB, well below what crosses the boundary at once.
const LARGEST_PAGE: u32 = 8_192;

impl Extent {
    /// From `start` up to, not including, `end`; empty if they are the wrong way round.
    pub(super) const fn between(start: u64, end: u64) -> Self {
        Self { offset: start, length: end.saturating_sub(start) }
    }

    /// Where it ends; saturates, which a checked extent never needs.
    pub(super) const fn end(self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    /// Refuses an empty extent, one that overflows, and one that reaches beyond `size`.
    pub(super) fn check(self, size: u64, path: &str) -> Result<(), FileError> {
        let refuse = |words: &str| Err(FileError::at(FileErrorCode::Invalid, path, words));
        if self.length == 0 {
            return refuse("a range of no bytes");
        }
        match self.offset.checked_add(self.length) {
            None => refuse("a range that passes the largest offset"),
            Some(end) if end > size => refuse("a range that reaches beyond the end of the file"),
            Some(_) => Ok(()),
        }
    }
}

/// Sorts extents and joins those that overlap or touch.
pub(super) fn merged(mut extents: Vec<Extent>) -> Vec<Extent> {
    extents.sort_by_key(|extent| extent.offset);
    let mut joined: Vec<Extent> = Vec::with_capacity(extents.len());
    for extent in extents {
        match joined.last_mut() {
            Some(last) if extent.offset <= last.end() => {
                *last = Extent::between(last.offset, last.end().max(extent.end()));
            }
            _ => joined.push(extent),
        }
    }
    joined
}

/// Fills one page with extents that arrive in rising order.
#[derive(Debug)]
pub(super) struct Pager {
    limit: usize,
    page: Page,
}

impl Pager {
    /// A page of at most `limit` extents; checks `limit` and that `offset` lies within `size`.
    pub(super) fn new(offset: u64, limit: u32, size: u64, path: &str) -> Result<Self, FileError> {
        if limit == 0 {
            return Err(FileError::at(FileErrorCode::Invalid, path, "a page of no extents"));
        }
        if offset > size {
            return Err(FileError::at(FileErrorCode::Invalid, path, "an offset beyond the end of the file"));
        }
        let limit = usize::try_from(limit.min(LARGEST_PAGE)).unwrap_or(usize::MAX);
        Ok(Self { limit, page: Page::default() })
    }

    /// Adds an extent, joining it to the last one if they touch. Full: it did not fit, and the
    /// page goes on there.
    pub(super) fn push(&mut self, extent: Extent) -> Room {
        let count = self.page.extents.len();
        match self.page.extents.last_mut() {
            Some(last) if last.end() == extent.offset => {
                last.length = last.length.saturating_add(extent.length);
            }
            _ if count >= self.limit => {
                self.page.next_offset = Some(extent.offset);
                return Room::Full;
            }
            _ => self.page.extents.push(extent),
        }
        Room::Left
    }

    /// Ends the page early: what is before `offset` was looked at.
    pub(super) fn stop_at(&mut self, offset: u64) {
        self.page.next_offset = Some(offset);
    }

    /// The page.
    pub(super) fn finish(self) -> Page {
        self.page
    }
}

#[cfg(test)]
mod tests;
