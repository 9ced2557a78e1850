//! Names and intents: which client name stands for which object, and what a host is creating or deleting.
//!
//! A name can be taken once, so of two hosts that create the same name one wins. Both records contain the host,
//! because only that host may undo the work.

use serde::{Deserialize, Serialize};

use super::Moment;
use crate::Section;

/// A client's name and the id that it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NameRecord {
    /// The number of its form.
    pub format: u32,
    /// The client's name for it.
    pub name: String,
    /// Its id.
    pub id: String,
    /// The host that made the object, or makes it.
    pub host: String,
    /// When it was written.
    pub written: Moment,
}

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doing {
    /// Being made.
    Making,
    /// Being made, and the client was told to ask again: a copy is under way.
    MakingLong,
    /// Being deleted.
    Deleting,
}

/// Work that this host must finish or undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct IntentRecord {
    /// The number of its form.
    pub format: u32,
    /// The host that wrote it.
    pub host: String,
    /// What is being done.
    pub doing: Doing,
    /// The kind of the object.
    pub section: Section,
    /// Its id.
    pub id: String,
    /// The client's name for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// When it was written.
    pub written: Moment,
}
