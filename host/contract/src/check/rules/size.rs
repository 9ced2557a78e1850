//! Rules of numbers: sizes in bytes, counts, and moments.
//!
//! Protobuf counts with signs throughout, so every number can be negative and none may be.

use prost_types::Timestamp;

use super::{Breach, Under, Verdict};
use drivebay_proto::pb::csi::v1::CapacityRange;

/// No number of the protocol is negative (CSI, at each field).
pub(crate) fn not_negative(field: &str, value: impl Into<i64>) -> Verdict {
    if value.into() < 0 {
        return Err(Breach::new(field, "must not be negative"));
    }
    Ok(())
}

/// A range that is given sets one bound at least, and its bounds do not cross (CSI, `CapacityRange`).
pub(crate) fn range(field: &str, range: Option<&CapacityRange>) -> Verdict {
    range.map_or(Ok(()), |range| bounds(range).under(field))
}

fn bounds(range: &CapacityRange) -> Verdict {
    not_negative("required_bytes", range.required_bytes)?;
    not_negative("limit_bytes", range.limit_bytes)?;
    match (range.required_bytes, range.limit_bytes) {
        (0, 0) => Err(Breach::new("", "must set required_bytes, limit_bytes or both")),
        (required, limit) if limit > 0 && required > limit => {
            Err(Breach::new("", "must not require more bytes than it allows"))
        }
        _ => Ok(()),
    }
}

/// A size is not below what was required. A smaller volume makes clients delete it again.
pub(crate) fn large_enough(field: &str, size: i64, asked: Option<&CapacityRange>) -> Verdict {
    match asked {
        Some(asked) if size < asked.required_bytes => {
            Err(Breach::new(field, format!("is {size}, but {} bytes were required", asked.required_bytes)))
        }
        _ => Ok(()),
    }
}

/// A size is not above what was allowed.
pub(crate) fn small_enough(field: &str, size: i64, asked: Option<&CapacityRange>) -> Verdict {
    match asked {
        Some(asked) if asked.limit_bytes > 0 && size > asked.limit_bytes => {
            Err(Breach::new(field, format!("is {size}, but at most {} bytes were allowed", asked.limit_bytes)))
        }
        _ => Ok(()),
    }
}

/// The moment of a cut. One at or before 1970 is a clock or a record that was never set, and clients
/// would show just that (CSI, `Snapshot.creation_time`).
pub(crate) fn moment(field: &str, moment: Option<&Timestamp>) -> Verdict {
    let moment = super::required(field, moment)?;
    if moment.seconds <= 0 {
        return Err(Breach::new(field, "must be later than 1970-01-01"));
    }
    if !(0..1_000_000_000).contains(&moment.nanos) {
        return Err(Breach::new(field, "must have less than a second in nanos"));
    }
    Ok(())
}
