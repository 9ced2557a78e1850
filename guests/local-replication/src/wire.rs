//! The texts in the link directory; [`super::envelope`] adds the checksums.
//!
//! What the other site wrote is input: ids and sizes are checked where they are used.

use drivebay_sdk::files::Extent;
use local_pool::record::{Content, Moment, Uuid};
use serde::{Deserialize, Serialize};

use crate::record::{Kind, Mark, Role, Sending};
use crate::terms::Terms;

/// `site.json`: the heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct SiteText {
    pub(super) format: u32,
    pub(super) site: String,
    /// Another one each time.
    pub(super) beat: Moment,
}

/// What a copy of a member must be like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct MemberText {
    pub(super) here: String,
    /// Empty: not known.
    #[serde(default)]
    pub(super) there: String,
    pub(super) content: Content,
    pub(super) bytes: u64,
    pub(super) asked_bytes: u64,
    pub(super) file_system_bytes: u64,
    pub(super) uuid: Uuid,
    /// For a snapshot: the volume that it is of, and when it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cut: Option<CutText>,
}

/// Where a snapshot comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct CutText {
    pub(super) volume: String,
    pub(super) created: Moment,
}

/// Why a transfer was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Complaint {
    pub(super) mark: Mark,
    pub(super) why: String,
}

/// `role.json`: what a site says of one replication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct RoleText {
    pub(super) format: u32,
    pub(super) uid: String,
    pub(super) kind: Kind,
    pub(super) source: String,
    pub(super) replication_id: String,
    pub(super) terms: Terms,
    pub(super) role: Role,
    pub(super) epoch: u64,
    pub(super) members: Vec<MemberText>,
    pub(super) whole: bool,
    pub(super) image: Option<Mark>,
    pub(super) holds: Vec<Mark>,
    pub(super) started_from: Option<Mark>,
    pub(super) closing: Option<Mark>,
    pub(super) sending: Option<Sending>,
    pub(super) resync: Option<u64>,
    pub(super) complaint: Option<Complaint>,
    /// How often this side has asked the other to say who it is.
    #[serde(default)]
    pub(super) asks: u64,
    /// The other side's question that this text answers: it was written after that. None: of a version that answers none.
    #[serde(default)]
    pub(super) noted: Option<u64>,
}

/// A range as it is written down: offset and length.
pub(super) type Range = (u64, u64);

/// `000001.json`: one segment of a transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct SegmentText {
    pub(super) format: u32,
    pub(super) uid: String,
    pub(super) mark: Mark,
    pub(super) number: u32,
    /// The member's id at the sending site.
    pub(super) member: String,
    pub(super) ranges: Vec<Range>,
    /// As the host's copy jobs reckon it.
    pub(super) checksum: String,
}

/// `manifest.json`: closes a transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct ManifestText {
    pub(super) format: u32,
    pub(super) uid: String,
    pub(super) sending: Sending,
    pub(super) members: Vec<MemberText>,
    /// The SHA-256 of each segment's text, in their order.
    pub(super) segments: Vec<String>,
    pub(super) bytes: u64,
}

/// A segment that is under way: where its planning ended may have been a matter of time, so it is
/// not planned again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Planned {
    pub(super) ranges: Vec<Range>,
    pub(super) upto: u64,
}

/// `sending.json` in the pool: how far a transfer has been sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Sent {
    pub(super) format: u32,
    pub(super) mark: Mark,
    /// Which member is at hand, and up to where it has been sent.
    pub(super) member: usize,
    pub(super) offset: u64,
    pub(super) segments: Vec<String>,
    pub(super) bytes: u64,
    /// What the next segment holds, from when it is begun until it is there.
    #[serde(default)]
    pub(super) next: Option<Planned>,
    /// Whether the manifest stands.
    pub(super) closed: bool,
    /// Why it does not get on; empty: it does.
    #[serde(default)]
    pub(super) trouble: String,
}

/// `receiving.json` in the pool: how far a transfer has come in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Received {
    pub(super) format: u32,
    pub(super) sending: Sending,
    pub(super) segments: Vec<String>,
    /// All of it is here and right: what its members shall be.
    #[serde(default)]
    pub(super) whole: Option<Vec<MemberText>>,
    /// It was refused, and why.
    #[serde(default)]
    pub(super) refused: Option<String>,
}

/// Ranges as they are written down.
pub(super) fn ranges_of(extents: &[Extent]) -> Vec<Range> {
    extents.iter().map(|extent| (extent.offset, extent.length)).collect()
}

/// The extents of ranges that were read; none: they are out of order, overlap or are too long.
pub(super) fn extents_of(ranges: &[Range], end: u64) -> Option<Vec<Extent>> {
    let mut at = 0;
    let mut extents = Vec::with_capacity(ranges.len());
    for (offset, length) in ranges {
        let to = offset.checked_add(*length).filter(|to| *length > 0 && *offset >= at && *to <= end)?;
        extents.push(Extent { offset: *offset, length: *length });
        at = to;
    }
    Some(extents)
}

/// What the two files of a segment are called before the dot.
pub(super) fn segment_name(number: u32) -> String {
    format!("{number:06}")
}
