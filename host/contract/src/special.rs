//! The conversions that no name can show: moments, lengths of time, a mode without its capability, and
//! an answer that repeats its question.
//!
//! Each is a rule in the table of the bridge and belongs nowhere else. Everything that two fields of the
//! same name can say is generated.

use super::call::Keep;
use super::convert::{BadAnswer, IntoPb, IntoWit, Invalid, request};
use crate::bindings::drivebay::backend::types::{AccessMode, Instant};
use crate::bindings::exports::drivebay::backend::volumes::Verdict;
use drivebay_proto::pb::csi::v1::validate_volume_capabilities_response::Confirmed;
#[cfg(test)]
use drivebay_proto::pb::csi::v1::volume_capability;
use drivebay_proto::pb::csi::v1::{
    ValidateVolumeCapabilitiesRequest, ValidateVolumeCapabilitiesResponse, VolumeCapability,
};

const NANOSECONDS_PER_SECOND: u32 = 1_000_000_000;
/// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, the bounds that protobuf sets for a timestamp.
const TIMESTAMP_SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// Nanoseconds as protobuf counts them, when they are less than a second.
fn fraction(nanoseconds: u32) -> Option<i32> {
    i32::try_from(nanoseconds).ok().filter(|_| nanoseconds < NANOSECONDS_PER_SECOND)
}

/// Nanoseconds as WIT counts them, when they are less than a second.
fn nanoseconds(fraction: i32) -> Result<u32, Invalid> {
    let nanoseconds = u32::try_from(fraction).ok().filter(|nanoseconds| *nanoseconds < NANOSECONDS_PER_SECOND);
    nanoseconds.ok_or_else(|| Invalid::new("must be from 0 to 999999999").under("nanos"))
}

impl IntoWit<Instant> for prost_types::Timestamp {
    fn into_wit(self) -> Result<Instant, Invalid> {
        if !TIMESTAMP_SECONDS.contains(&self.seconds) {
            return Err(Invalid::new("must lie in the years 1 to 9999").under("seconds"));
        }
        Ok(Instant { seconds: self.seconds, nanoseconds: nanoseconds(self.nanos)? })
    }
}

impl IntoPb<prost_types::Timestamp> for Instant {
    fn into_pb(self) -> Result<prost_types::Timestamp, BadAnswer> {
        if !TIMESTAMP_SECONDS.contains(&self.seconds) {
            return Err(BadAnswer::new("must lie in the years 1 to 9999").under("seconds"));
        }
        let nanos = fraction(self.nanoseconds)
            .ok_or_else(|| BadAnswer::new("must be below 1000000000").under("nanoseconds"))?;
        Ok(prost_types::Timestamp { seconds: self.seconds, nanos })
    }
}

impl IntoWit<u64> for prost_types::Duration {
    fn into_wit(self) -> Result<u64, Invalid> {
        let seconds = u64::try_from(self.seconds).map_err(|_| Invalid::new("must not be negative"))?;
        let whole = seconds.checked_mul(NANOSECONDS_PER_SECOND.into());
        whole
            .and_then(|whole| whole.checked_add(nanoseconds(self.nanos).ok()?.into()))
            .ok_or_else(|| Invalid::new("is not a length of time"))
    }
}

impl IntoPb<prost_types::Duration> for u64 {
    fn into_pb(self) -> Result<prost_types::Duration, BadAnswer> {
        let length = std::time::Duration::from_nanos(self);
        prost_types::Duration::try_from(length).map_err(|_| BadAnswer::new("is too long"))
    }
}

/// The mode of a capability whose kind of access nobody set.
pub(super) fn mode_only_of(name: &str, capability: Option<VolumeCapability>) -> Result<Option<AccessMode>, Invalid> {
    let mode = capability.map(|capability| request::required("access_mode", capability.access_mode));
    mode.transpose().map_err(|invalid| invalid.under(name))
}

#[cfg(test)]
pub(super) fn capability_of(_: &str, mode: Option<AccessMode>) -> Result<Option<VolumeCapability>, BadAnswer> {
    let access_mode: Option<volume_capability::AccessMode> = mode.into_pb()?;
    Ok(access_mode.map(|mode| VolumeCapability { access_type: None, access_mode: Some(mode) }))
}

/// What a positive verdict confirms: all that was asked.
impl Keep<ValidateVolumeCapabilitiesRequest> for Confirmed {
    fn keep(asked: &ValidateVolumeCapabilitiesRequest) -> Self {
        Self {
            volume_context: asked.volume_context.clone(),
            volume_capabilities: asked.volume_capabilities.clone(),
            parameters: asked.parameters.clone(),
            mutable_parameters: asked.mutable_parameters.clone(),
        }
    }
}

impl IntoPb<ValidateVolumeCapabilitiesResponse> for (Confirmed, Verdict) {
    fn into_pb(self) -> Result<ValidateVolumeCapabilitiesResponse, BadAnswer> {
        let (asked, verdict) = self;
        let (confirmed, message) = match verdict {
            Verdict::Supported => (Some(asked), String::new()),
            Verdict::Unsupported(why) => (None, why),
        };
        Ok(ValidateVolumeCapabilitiesResponse { confirmed, message })
    }
}
