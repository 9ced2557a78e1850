//! The words that all interfaces share, with small questions that backends ask of them.
//!
//! The types are the contract's own, made from the WIT text; here stand only methods that every
//! backend would write otherwise. No policy: whether a size or a mode suits, the backend decides.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[doc(inline)]
pub use crate::bindings::shared::drivebay::backend::types::*;

use crate::{Result, mounts::Access};

impl Volume {
    /// A volume without context, source and topology. `capacity_bytes` 0: not known.
    pub fn new(volume_id: impl Into<String>, capacity_bytes: u64) -> Self {
        Self {
            capacity_bytes,
            volume_id: volume_id.into(),
            volume_context: Vec::new(),
            content_source: None,
            accessible_topology: Vec::new(),
        }
    }
}

impl VolumeCapability {
    /// Whether the workload gets a raw block device.
    pub fn is_block(&self) -> bool {
        matches!(self.access_type, AccessType::Block)
    }

    /// How the volume shall be mounted; none for a block device.
    pub fn mount(&self) -> Option<&MountVolume> {
        match &self.access_type {
            AccessType::Mount(mount) => Some(mount),
            AccessType::Block => None,
        }
    }

    /// What the mode allows at most.
    pub fn access(&self) -> Access {
        match self.access_mode {
            AccessMode::SingleNodeReaderOnly | AccessMode::MultiNodeReaderOnly => Access::ReadOnly,
            AccessMode::SingleNodeWriter
            | AccessMode::MultiNodeSingleWriter
            | AccessMode::MultiNodeMultiWriter
            | AccessMode::SingleNodeSingleWriter
            | AccessMode::SingleNodeMultiWriter => Access::ReadWrite,
        }
    }
}

impl AccessMode {
    /// Whether several nodes may use the volume at once.
    pub const fn is_multi_node(self) -> bool {
        matches!(self, Self::MultiNodeReaderOnly | Self::MultiNodeSingleWriter | Self::MultiNodeMultiWriter)
    }
}

impl CapacityRange {
    /// Whether a volume of this size is what was asked for.
    pub fn contains(&self, bytes: u64) -> bool {
        self.required_bytes.is_none_or(|required| bytes >= required)
            && self.limit_bytes.is_none_or(|limit| bytes <= limit)
    }

    /// The size for a new volume: the required one rounded up to `step`, or `default` where only a
    /// limit (or nothing) was given and the default fits below it. `step` 0 counts as 1.
    ///
    /// `out-of-range`: no multiple of `step` lies in the range.
    ///
    /// ```
    /// use drivebay_sdk::types::CapacityRange;
    ///
    /// let asked = CapacityRange { required_bytes: Some(5_000), limit_bytes: Some(10_000) };
    /// assert_eq!(CapacityRange::choose(Some(asked), 1 << 30, 4_096)?, 8_192);
    /// assert_eq!(CapacityRange::choose(None, 1 << 30, 4_096)?, 1 << 30);
    /// # Ok::<(), drivebay_sdk::Error>(())
    /// ```
    pub fn choose(range: Option<Self>, default: u64, step: u64) -> Result<u64> {
        let Some(range) = range else {
            return Ok(default);
        };
        let step = step.max(1);
        let wanted = match (range.required_bytes, range.limit_bytes) {
            (Some(required), _) => required.checked_next_multiple_of(step),
            (None, Some(limit)) if default > limit => Some(limit - limit % step),
            (None, _) => Some(default),
        };
        wanted
            .filter(|bytes| *bytes > 0 && range.contains(*bytes))
            .ok_or_else(|| Error::out_of_range(format!("no multiple of {step} bytes is {range}")))
    }
}

impl std::fmt::Display for CapacityRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.required_bytes, self.limit_bytes) {
            (Some(required), Some(limit)) => write!(f, "{required} to {limit} bytes"),
            (Some(required), None) => write!(f, "at least {required} bytes"),
            (None, Some(limit)) => write!(f, "at most {limit} bytes"),
            (None, None) => f.write_str("any size"),
        }
    }
}

impl Instant {
    /// The present, by the host's clock.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// This moment and a duration; the last representable moment when it lies beyond.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let nanoseconds = u64::from(self.nanoseconds) + u64::from(duration.subsec_nanos());
        let carry = nanoseconds / NANOSECONDS;
        Self {
            seconds: self.seconds.saturating_add_unsigned(duration.as_secs()).saturating_add_unsigned(carry),
            nanoseconds: u32::try_from(nanoseconds % NANOSECONDS).unwrap_or_default(),
        }
    }
}

const NANOSECONDS: u64 = 1_000_000_000;

impl From<SystemTime> for Instant {
    /// Moments before 1970 become 1970: no storage object is older.
    fn from(time: SystemTime) -> Self {
        let start = Self { seconds: 0, nanoseconds: 0 };
        start.plus(time.duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}

impl PartialOrd for Instant {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Instant {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.seconds, self.nanoseconds).cmp(&(other.seconds, other.nanoseconds))
    }
}

#[cfg(test)]
mod tests;
