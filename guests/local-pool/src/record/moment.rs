//! A point in time as records contain it; the contract's type cannot be serialised.

use drivebay_sdk::types::Instant;
use serde::{Deserialize, Serialize};

/// UTC, counted from the start of 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Moment {
    /// Whole seconds.
    pub seconds: i64,
    /// And so many nanoseconds, less than a second.
    pub nanoseconds: u32,
}

impl Moment {
    /// Whole seconds from `earlier` to this moment; 0 when it is not earlier.
    pub fn seconds_since(self, earlier: Self) -> u64 {
        u64::try_from(self.seconds.saturating_sub(earlier.seconds)).unwrap_or_default()
    }
}

impl From<Instant> for Moment {
    fn from(instant: Instant) -> Self {
        Self { seconds: instant.seconds, nanoseconds: instant.nanoseconds }
    }
}

impl From<Moment> for Instant {
    fn from(moment: Moment) -> Self {
        Self { seconds: moment.seconds, nanoseconds: moment.nanoseconds }
    }
}
