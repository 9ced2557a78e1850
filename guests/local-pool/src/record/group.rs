//! The record of a group snapshot.
//!
//! Its members count only while this record exists, so all of them appear at once.

use serde::{Deserialize, Serialize};

use super::Moment;

/// One volume's part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Member {
    /// The id of the snapshot.
    pub snapshot: String,
    /// The id of the volume.
    pub volume: String,
}

/// A group snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct GroupRecord {
    /// The number of its form.
    pub format: u32,
    /// Its id.
    pub id: String,
    /// The client's name for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its members.
    pub members: Vec<Member>,
    /// When it was made.
    pub created: Moment,
}
