//! Which ranges travel, in pieces of bounded size.
//!
//! Pure. A piece is what one job of the host moves: so many bytes, so many ranges. The same files
//! give the same pieces, as long as there is time to look at all of them.

use drivebay_sdk::files::Extent;

/// Bytes of a segment at most, except that one range of data is never cut below a block.
pub(super) const SEGMENT: u64 = 64 << 20;

/// Ranges of a segment at most; the manifest of a segment stays far below a mebibyte.
pub(super) const MOST_RANGES: usize = 4_096;

/// A gap below this is sent along: a range costs more than a few blocks.
const GAP: u64 = 16_384;

/// One segment under construction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// In rising order, neither overlapping nor touching.
    pub(super) ranges: Vec<Extent>,
    /// Sum of their lengths.
    pub(super) bytes: u64,
    /// Up to where the file has been looked at.
    pub(super) upto: u64,
}

/// Whether a segment takes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Left,
    Full,
}

impl Plan {
    /// Nothing yet, from an offset on.
    pub(super) fn from(offset: u64) -> Self {
        Self { upto: offset, ..Self::default() }
    }

    /// One that was made before.
    pub(super) fn known(ranges: Vec<Extent>, upto: u64) -> Self {
        let bytes = ranges.iter().map(|range| range.length).sum();
        Self { ranges, bytes, upto }
    }

    /// Takes the ranges of one page that lie below `end`, as many as fit. `next`: where the page says
    /// to go on; none: it was the last. Full: the segment ends at `upto`.
    pub(super) fn take(&mut self, page: &[Extent], next: Option<u64>, end: u64) -> Room {
        for extent in page {
            let from = extent.offset.max(self.upto);
            let to = extent.offset.saturating_add(extent.length).min(end);
            if from >= to {
                continue;
            }
            let room = SEGMENT.saturating_sub(self.bytes);
            if room == 0 || !self.fits(from) {
                return Room::Full;
            }
            let to = to.min(from.saturating_add(room));
            self.push(from, to);
        }
        match next {
            // A segment that is full in the middle of a page goes on where it stopped.
            _ if self.bytes >= SEGMENT => Room::Full,
            Some(next) => {
                self.upto = self.upto.max(next.min(end));
                Room::Left
            }
            None => {
                self.upto = end;
                Room::Left
            }
        }
    }

    fn fits(&self, from: u64) -> bool {
        self.ranges.len() < MOST_RANGES || self.ranges.last().is_some_and(|last| from - end_of(last) <= GAP)
    }

    fn push(&mut self, from: u64, to: u64) {
        match self.ranges.last_mut() {
            Some(last) if from - end_of(last) <= GAP => {
                self.bytes += to - end_of(last);
                last.length = to - last.offset;
            }
            _ => {
                self.bytes += to - from;
                self.ranges.push(Extent { offset: from, length: to - from });
            }
        }
        self.upto = to;
    }
}

fn end_of(extent: &Extent) -> u64 {
    extent.offset.saturating_add(extent.length)
}

#[cfg(test)]
mod tests;
