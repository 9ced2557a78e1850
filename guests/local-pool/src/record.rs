//! Records: one JSON text per object, with the number of its format in front.
//!
//! This module defines their fields, and how they are encoded. Everything else is rebuilt from them, so every format
//! that was ever written stays readable, and a newer one is refused.

mod claim;
mod content;
mod group;
mod moment;
mod snapshot;
mod usage;
mod volume;
mod volume_group;

pub use claim::{Doing, IntentRecord, NameRecord};
pub use content::{Content, Kind};
pub use group::{GroupRecord, Member};
pub use moment::Moment;
pub use snapshot::SnapshotRecord;
pub use usage::{FileSystemMark, Publication, Staged, UseRecord};
pub use volume::{Attachment, Reserve, Source, Uuid, VolumeRecord};
pub use volume_group::VolumeGroupRecord;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The number that this code writes. The oldest that it reads is 1.
pub const FORMAT: u32 = 1;

/// How a text of that number begins.
const CURRENT: &[u8] = br#"{"format":1,"#;

/// Why a record cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is not what was written there.
    Damaged(String),
    /// A newer version of this backend wrote it.
    Newer(u32),
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Damaged(why) => write!(f, "it is damaged ({why})"),
            Self::Newer(format) => {
                write!(f, "it has format {format}, this version reads formats 1 to {FORMAT}")
            }
        }
    }
}

#[derive(Deserialize)]
struct Numbered {
    format: u32,
}

/// A text read, or why not.
pub type Decoded<T> = Result<T, Unreadable>;

/// Reads a text of any format that was ever written.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Decoded<T> {
    check_format(bytes)?;
    // Fields that older formats lack get their defaults here.
    serde_json::from_slice(bytes).map_err(|error| damaged(&error))
}

fn check_format(bytes: &[u8]) -> Result<(), Unreadable> {
    // As `encode` writes it: then the text is read once, not twice.
    if bytes.starts_with(CURRENT) {
        return Ok(());
    }
    let Numbered { format } = serde_json::from_slice(bytes).map_err(|error| damaged(&error))?;
    match format {
        FORMAT => Ok(()),
        0 => Err(Unreadable::Damaged("format 0 was never written".to_owned())),
        newer => Err(Unreadable::Newer(newer)),
    }
}

fn damaged(error: &serde_json::Error) -> Unreadable {
    Unreadable::Damaged(error.to_string())
}

/// The text of a record. Ends with a line feed, because operators read them.
pub fn encode<T: Serialize>(record: &T) -> drivebay_sdk::Result<Vec<u8>> {
    serde_json::to_vec(record).map_err(|error| unwritable(&error)).map(with_line_end)
}

fn unwritable(error: &serde_json::Error) -> drivebay_sdk::Error {
    drivebay_sdk::Error::unavailable(format!("a record cannot be written: {error}"))
}

fn with_line_end(mut text: Vec<u8>) -> Vec<u8> {
    text.push(b'\n');
    text
}

#[cfg(test)]
mod tests;
