//! Which allocated blocks of an image contain only zeros.
//!
//! Pure: the allocated ranges without those that differ from zero, if they are large enough to be worth a hole.

use drivebay_sdk::files::Extent;

/// Holes begin and end at multiples of this.
const BLOCK: u64 = 4_096;

/// Less than this is not worth a hole, in bytes.
const WORTH: u64 = 65_536;

/// The pieces of `allocated` between `from` and `to` that none of `differing` touches. Both are in
/// rising order.
pub(super) fn within(allocated: &[Extent], differing: &[Extent], from: u64, to: u64) -> Vec<Extent> {
    let mut found = Vec::new();
    for extent in allocated {
        let (mut at, end) = (extent.offset.max(from), end_of(extent).min(to));
        for other in differing {
            if end_of(other) <= at {
                continue;
            }
            if other.offset >= end {
                break;
            }
            push(&mut found, at, other.offset);
            at = end_of(other);
        }
        push(&mut found, at, end);
    }
    found
}

fn push(found: &mut Vec<Extent>, from: u64, to: u64) {
    let from = from.next_multiple_of(BLOCK);
    let to = to - to % BLOCK;
    if to.saturating_sub(from) >= WORTH {
        found.push(Extent { offset: from, length: to - from });
    }
}

fn end_of(extent: &Extent) -> u64 {
    extent.offset.saturating_add(extent.length)
}

#[cfg(test)]
mod tests;
