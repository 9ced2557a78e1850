//! The checksum of what a copy job copied.
//!
//! It depends on the contents and the ranges only: neither on where the holes of the source
//! happen to be nor on an interruption. So the copy of a copy has the same checksum on any file
//! system, which a sum over "the data that were found" would not.
//!
//! SHA-256 over, for each range in rising order, its offset and length, and after them, for each
//! block of it that is not all zeros, the block's offset and length and its bytes. Numbers are 8
//! bytes, little-endian. Blocks end at multiples of 4,096 and at the ends of the range.

use crate::{
    differences::{blocks, slice},
    extents::Extent,
};
use sha2::{
    Digest, Sha256,
    digest::common::hazmat::{SerializableState, SerializedState},
};

/// A checksum under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Checksum(Sha256);

impl Checksum {
    /// Begins a range.
    pub(super) fn begin(&mut self, range: Extent) {
        self.header(range);
    }

    /// Adds bytes that lie at `offset`; the caller cuts them only where blocks end.
    pub(super) fn add(&mut self, offset: u64, bytes: &[u8]) {
        let length = u64::try_from(bytes.len()).unwrap_or_default();
        for block in blocks(Extent { offset, length }) {
            let content = slice(bytes, offset, block).unwrap_or_default();
            if content.iter().any(|byte| *byte != 0) {
                self.header(block);
                self.0.update(content);
            }
        }
    }

    /// The state, to go on from later.
    pub(super) fn save(&self) -> String {
        hex::encode(self.0.serialize())
    }

    /// Goes on from a saved state; none if it is not one.
    pub(super) fn restore(saved: &str) -> Option<Self> {
        let bytes = hex::decode(saved).ok()?;
        let state = SerializedState::<Sha256>::try_from(bytes.as_slice()).ok()?;
        Sha256::deserialize(&state).ok().map(Self)
    }

    /// The checksum in hexadecimal.
    pub(super) fn finish(self) -> String {
        hex::encode(self.0.finalize())
    }

    fn header(&mut self, extent: Extent) {
        self.0.update(extent.offset.to_le_bytes());
        self.0.update(extent.length.to_le_bytes());
    }
}
