//! The record of a volume group.
//!
//! It decides who is a member. A volume's record repeats its group so that the group is found without a search; if the
//! two disagree, this record counts.

use drivebay_sdk::types::StringMap;
use serde::{Deserialize, Serialize};

use super::Moment;

/// A volume group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct VolumeGroupRecord {
    /// The number of its form.
    pub format: u32,
    /// Its id.
    pub id: String,
    /// The client's name; empty: a copy of a group at another site.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Ids of volumes. One without a record does not exist, yet or any longer.
    #[serde(default)]
    pub members: Vec<String>,
    /// Those that it was made with: a repeated request names them wherever they are by now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_with: Vec<String>,
    /// How many volumes it takes.
    pub max_volumes: usize,
    /// When it was made.
    #[serde(default)]
    pub created: Moment,
}

impl VolumeGroupRecord {
    /// How many volumes any group takes: all members are frozen for one cut, which must not last.
    pub const MOST_VOLUMES: usize = 100;

    /// The facts that come back with every answer and never change.
    pub fn context(&self) -> StringMap {
        vec![("max-volumes".to_owned(), self.max_volumes.to_string())]
    }
}
