//! The size of a volume.
//!
//! Pure arithmetic on what was requested and what is possible. A size is rounded up wherever the client's limit allows
//! it: a file system that needs 300 MiB is useless in 10.

use drivebay_sdk::types::CapacityRange;
use drivebay_sdk::{Error, Reason, Result};
use local_pool::record::VolumeRecord;

/// Sizes are multiples of this: a page, so that loop devices and file systems use all of it.
pub(crate) const STEP: u64 = 4_096;

/// The smallest volume.
pub(crate) const MINIMUM: u64 = 1 << 20;

/// The size of a volume whose client names none.
pub(crate) const DEFAULT: u64 = 1 << 30;

/// The size of an ephemeral volume whose client names none.
pub(crate) const DEFAULT_EPHEMERAL: u64 = 64 << 20;

/// The largest volume.
pub(crate) const LARGEST: u64 = VolumeRecord::LARGEST_BYTES;

/// The least that a volume can have, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Floor {
    pub(crate) bytes: u64,
    /// Completes "the minimum is N bytes for ...".
    pub(crate) what: String,
}

/// The size of a new volume: what was asked for rounded up to the floor, or `default` (at least the
/// floor) where nothing was asked for. `out-of-range`: the range does not hold it.
pub(crate) fn choose(range: Option<&CapacityRange>, floor: &Floor, default: u64) -> Result<u64> {
    let minimum = round_up(floor.bytes.max(MINIMUM))?;
    let limit = range.and_then(|range| range.limit_bytes).filter(|limit| *limit > 0);
    let required = range.and_then(|range| range.required_bytes).filter(|required| *required > 0);
    let wanted = match (required, limit) {
        (Some(required), _) => round_up(required)?,
        (None, Some(limit)) => default.min(limit - limit % STEP),
        (None, None) => default,
    };
    let size = wanted.max(minimum);
    match limit {
        Some(limit) if size > limit && limit < minimum => Err(too_small(minimum, floor)),
        Some(limit) if size > limit => Err(Error::out_of_range(format!(
            "sizes are multiples of {STEP} bytes, and none lies between {} and {limit} bytes",
            required.unwrap_or_default()
        ))),
        _ => Ok(size),
    }
}

/// The size of a volume that shall grow. `out-of-range`: it is larger than the limit already, or no
/// size lies in the range.
pub(crate) fn grow(present: u64, range: &CapacityRange) -> Result<u64> {
    let required = range.required_bytes.unwrap_or_default();
    let size = if required > present { round_up(required)? } else { present };
    match range.limit_bytes.filter(|limit| *limit > 0) {
        Some(limit) if size > limit => Err(Error::out_of_range(format!(
            "the volume would have {size} bytes (it has {present} and sizes are multiples of {STEP}); the limit is {limit}"
        ))),
        _ => Ok(size),
    }
}

fn round_up(bytes: u64) -> Result<u64> {
    bytes
        .checked_next_multiple_of(STEP)
        .filter(|bytes| *bytes <= LARGEST)
        .ok_or_else(|| Error::out_of_range(format!("{bytes} bytes are more than a volume can have")))
}

fn too_small(minimum: u64, floor: &Floor) -> Error {
    Error::out_of_range(format!("the minimum is {minimum} bytes for {}", floor.what)).with_reason(Reason::TooSmall)
}

#[cfg(test)]
mod tests;
