//! In which ranges two files may differ.
//!
//! Owns the walk over both files side by side. Where they share blocks the file system's own map
//! says what is equal and nothing is read; otherwise the contents are compared, a bounded amount
//! for each page so that no call takes longer than it may.

use super::{
    allocated::Seeking,
    direct::{Buffer, Direct},
    error::FileError,
    extents::{Extent, Page, Pager, Room},
    fiemap::{Map, shares_blocks},
    layout::{Piece, Pieces, Verdict},
    place::{size_of, stat},
};
use std::fs::File;

/// How much is read from each file at once.
const STEP: u64 = 1024 * 1024;
/// The unit in which a difference is reported.
const BLOCK: u64 = 4096;
/// The most that one page reads from each file: about a second on a common disk.
const MOST_READ: u64 = 256 * 1024 * 1024;
/// The most stretches that one page looks at, so that fragmented files end a page in time.
const MOST_STRETCHES: u32 = 65_536;

/// How a difference was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// From the blocks that both files share.
    SharedBlocks,
    /// By reading and comparing.
    Contents,
}

/// Ranges in which the files may differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferencePage {
    /// The ranges, and where to go on.
    pub page: Page,
    /// How this page was found. Another page may have been found otherwise: a file system ends sharing
    /// late, when it cleans up, also while the files stay as they are.
    pub found_by: Comparison,
}

/// One of the two files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<'a> {
    pub(super) file: &'a File,
    pub(super) path: &'a str,
}

impl<'a> Side<'a> {
    fn size(self) -> Result<u64, FileError> {
        size_of(self.file, self.path)
    }

    fn pieces(self, range: Extent, by: Comparison) -> Pieces<'a> {
        match by {
            Comparison::SharedBlocks => Box::new(Map::new(self.file, self.path, range)),
            Comparison::Contents => Box::new(Seeking::new(self.file, self.path, range)),
        }
    }
}

/// The ranges from `offset` on in which `target` may differ from `base`. If one is longer, all that
/// it has beyond the other's end differs, also where the target is the shorter one.
pub(super) fn list(base: Side<'_>, target: Side<'_>, offset: u64, limit: u32) -> Result<DifferencePage, FileError> {
    let (base_size, target_size) = (base.size()?, target.size()?);
    let (common, longest) = (base_size.min(target_size), base_size.max(target_size));
    let pager = Pager::new(offset, limit, longest, target.path)?;
    if is_same_file(base, target)? {
        return Ok(DifferencePage { page: pager.finish(), found_by: Comparison::SharedBlocks });
    }
    let found_by = method(base, target, base_size, target_size);
    let (base, target) = (Reading::new(base), Reading::new(target));
    let mut walk = Walk { base, target, pager, readable: MOST_READ, stretches: MOST_STRETCHES };
    if walk.run(Extent::between(offset, common), found_by)? == Room::Left {
        let tail = Extent::between(offset.max(common), longest);
        if tail.length > 0 {
            walk.pager.push(tail);
        }
    }
    Ok(DifferencePage { page: walk.pager.finish(), found_by })
}

fn is_same_file(base: Side<'_>, target: Side<'_>) -> Result<bool, FileError> {
    let (one, other) = (stat(base.file, base.path)?, stat(target.file, target.path)?);
    Ok((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

/// Two files of which one shares no block with anything cannot share any with each other; then only
/// reading finds what is equal, and the map would call everything different.
fn method(base: Side<'_>, target: Side<'_>, base_size: u64, target_size: u64) -> Comparison {
    let shared = shares_blocks(target.file, target.path, target_size) && shares_blocks(base.file, base.path, base_size);
    if shared { Comparison::SharedBlocks } else { Comparison::Contents }
}

/// One of the two files, and how its contents are read.
struct Reading<'a> {
    side: Side<'a>,
    direct: Direct,
    /// Made for the first bytes that are read.
    buffer: Option<Buffer>,
}

impl<'a> Reading<'a> {
    fn new(side: Side<'a>) -> Self {
        Self { side, direct: Direct::default(), buffer: None }
    }

    /// The bytes of a step.
    fn read(&mut self, step: Extent) -> Result<&[u8], FileError> {
        let buffer = self.buffer.get_or_insert_with(|| Buffer::new(STEP));
        self.direct.read(self.side.file, self.side.path, buffer.fill(step.length), step.offset)?;
        Ok(buffer.bytes())
    }
}

struct Walk<'a> {
    base: Reading<'a>,
    target: Reading<'a>,
    pager: Pager,
    readable: u64,
    stretches: u32,
}

impl Walk<'_> {
    /// Goes through `range`, which both files have. Full: the page ended before it.
    fn run(&mut self, range: Extent, by: Comparison) -> Result<Room, FileError> {
        let (mut bases, mut targets) = (self.base.side.pieces(range, by), self.target.side.pieces(range, by));
        let (mut base, mut target) = (bases.next().transpose()?, targets.next().transpose()?);
        let mut at = range.offset;
        while let (Some(ours), Some(theirs)) = (base, target) {
            let stretch = Extent::between(at, ours.extent.end().min(theirs.extent.end()));
            if self.look(&ours, &theirs, stretch)? == Room::Full {
                return Ok(Room::Full);
            }
            at = stretch.end();
            if ours.extent.end() == at {
                base = bases.next().transpose()?;
            }
            if theirs.extent.end() == at {
                target = targets.next().transpose()?;
            }
        }
        Ok(Room::Left)
    }

    fn look(&mut self, base: &Piece, target: &Piece, stretch: Extent) -> Result<Room, FileError> {
        let Some(left) = self.stretches.checked_sub(1) else {
            self.pager.stop_at(stretch.offset);
            return Ok(Room::Full);
        };
        self.stretches = left;
        match base.against(target, stretch.offset) {
            Verdict::Same => Ok(Room::Left),
            Verdict::Differs => Ok(self.pager.push(stretch)),
            Verdict::Read => self.read(stretch),
        }
    }

    fn read(&mut self, stretch: Extent) -> Result<Room, FileError> {
        let mut at = stretch.offset;
        while at < stretch.end() {
            let step = Extent::between(at, stretch.end().min((at / STEP + 1) * STEP));
            let Some(left) = self.readable.checked_sub(step.length) else {
                self.pager.stop_at(at);
                return Ok(Room::Full);
            };
            self.readable = left;
            if self.compare(step)? == Room::Full {
                return Ok(Room::Full);
            }
            at = step.end();
        }
        Ok(Room::Left)
    }

    fn compare(&mut self, step: Extent) -> Result<Room, FileError> {
        let (base, target) = (self.base.read(step)?, self.target.read(step)?);
        if base == target {
            return Ok(Room::Left);
        }
        for block in blocks(step) {
            let is_same = slice(base, step.offset, block) == slice(target, step.offset, block);
            if !is_same && self.pager.push(block) == Room::Full {
                return Ok(Room::Full);
            }
        }
        Ok(Room::Left)
    }
}

/// Cuts an extent at the multiples of the unit in which differences are reported.
pub(super) fn blocks(extent: Extent) -> impl Iterator<Item = Extent> {
    let mut at = extent.offset;
    std::iter::from_fn(move || {
        let block = Extent::between(at, extent.end().min((at / BLOCK + 1) * BLOCK));
        at = block.end();
        (block.length > 0).then_some(block)
    })
}

/// The bytes of `extent` in a buffer that starts at `start`.
pub(super) fn slice(bytes: &[u8], start: u64, extent: Extent) -> Option<&[u8]> {
    let from = usize::try_from(extent.offset.checked_sub(start)?).ok()?;
    let to = usize::try_from(extent.end().checked_sub(start)?).ok()?;
    bytes.get(from..to)
}

#[cfg(test)]
mod tests;
