//! The record of a group snapshot.
//!
//! Its members count only while it stands: it is what makes all of them visible at once.

use serde::{Deserialize, Serialize};

use super::Moment;

/// One volume's part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Member {
    pub(crate) snapshot: String,
    pub(crate) volume: String,
}

/// A group snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct GroupRecord {
    pub(crate) format: u32,
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    pub(crate) members: Vec<Member>,
    pub(crate) created: Moment,
}
