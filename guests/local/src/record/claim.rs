//! Who is making or deleting what: a client's name in the pool, and an intent in the state.
//!
//! The name is the guard: there is one for each client name, whoever comes first has it. The intent
//! is how a host that died finds what it left. Both name their host, because only that host may
//! undo the work.

use serde::{Deserialize, Serialize};

use super::Moment;
use crate::pool::Section;

/// A client's name and the id that it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct NameRecord {
    pub(crate) format: u32,
    pub(crate) name: String,
    pub(crate) id: String,
    /// The host that made the object, or makes it.
    pub(crate) host: String,
    pub(crate) written: Moment,
}

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Doing {
    Making,
    /// Being made, and the client was told to ask again: a copy is under way.
    MakingLong,
    Deleting,
}

/// Work that this host must finish or undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct IntentRecord {
    pub(crate) format: u32,
    pub(crate) host: String,
    pub(crate) doing: Doing,
    pub(crate) section: Section,
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    pub(crate) written: Moment,
}
