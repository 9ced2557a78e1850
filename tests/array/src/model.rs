//! The objects of the array, as they stand in the catalogue and in answers.
//!
//! It owns their form and nothing that they do. One form for both, because what an operator reads in
//! an answer is then what the array itself goes by; keys, which are sealed, are left out of answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::keys::KeyRecord;

/// Something that the catalogue holds.
pub(crate) trait Object: Serialize + serde::de::DeserializeOwned {
    /// The word for it, in the catalogue and in messages.
    const KIND: &'static str;
    fn id(&self) -> &str;
    /// The client's name for it, unique among its kind.
    fn name(&self) -> Option<&str> {
        None
    }
    /// The object that it belongs to, for look-ups.
    fn parent(&self) -> Option<&str> {
        None
    }
}

macro_rules! object {
    ($type:ident, $kind:literal $(, name: $name:ident)? $(, parent: $parent:expr)?) => {
        impl Object for $type {
            const KIND: &'static str = $kind;
            fn id(&self) -> &str {
                &self.id
            }
            $(fn name(&self) -> Option<&str> {
                Some(&self.$name)
            })?
            $(fn parent(&self) -> Option<&str> {
                let parent: fn(&Self) -> Option<&str> = $parent;
                parent(self)
            })?
        }
    };
}

/// How a volume's space is taken from the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Provisioning {
    /// As it is written.
    #[default]
    Thin,
    /// All of it at once, so that writing cannot run out of space.
    Thick,
}

/// What a volume was filled with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "kebab-case")]
pub(crate) enum Source {
    Volume(String),
    Snapshot(String),
}

/// How far an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    Creating,
    Ready,
}

/// What a client asked for when it made a volume: a repeated request must ask for the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VolumeWish {
    pub(crate) name: String,
    /// A multiple of 4,096.
    pub(crate) bytes: u64,
    #[serde(default)]
    pub(crate) provisioning: Provisioning,
    #[serde(default)]
    pub(crate) source: Option<Source>,
    /// Requests a second that it serves at most; none: as many as come.
    #[serde(default)]
    pub(crate) iops_limit: Option<u64>,
    /// The group, by id or name, that it is made in.
    #[serde(default)]
    pub(crate) group: Option<String>,
    /// The client's own notes.
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
}

/// A host's access to a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Export {
    pub(crate) host: String,
    /// The volume's number as that host sees it.
    #[serde(default)]
    pub(crate) lun: u32,
    pub(crate) readonly: bool,
    /// Whether other hosts may have the volume at the same time.
    pub(crate) shared: bool,
    /// The client's own note on the way of use.
    pub(crate) label: String,
}

/// A volume.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Volume {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// Bytes that it takes from the disk.
    pub(crate) allocated: u64,
    pub(crate) provisioning: Provisioning,
    pub(crate) iops_limit: Option<u64>,
    pub(crate) state: State,
    pub(crate) group: Option<String>,
    pub(crate) exports: Vec<Export>,
    /// The job under way for it.
    pub(crate) job: Option<String>,
    pub(crate) wish: VolumeWish,
    pub(crate) key: KeyRecord,
}
object!(Volume, "volume", name: name, parent: |volume| volume.group.as_deref());

/// A snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::struct_field_names, reason = "the kind of object that it names")]
pub(crate) struct Snapshot {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) volume: String,
    pub(crate) bytes: u64,
    pub(crate) allocated: u64,
    /// When it was cut, in nanoseconds since 1970; 0 while it is not.
    pub(crate) created: u64,
    pub(crate) state: State,
    pub(crate) job: Option<String>,
    pub(crate) group_snapshot: Option<String>,
    pub(crate) key: KeyRecord,
}
object!(Snapshot, "snapshot", name: name, parent: |snapshot| Some(&snapshot.volume));

/// Snapshots of several volumes, cut at one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GroupSnapshot {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The volumes, in order.
    pub(crate) volumes: Vec<String>,
    pub(crate) snapshots: Vec<String>,
    pub(crate) job: Option<String>,
}
object!(GroupSnapshot, "group snapshot", name: name);

/// A consistency group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Group {
    pub(crate) id: String,
    pub(crate) name: String,
    /// As many members as it takes.
    pub(crate) limit: u64,
}
object!(Group, "group", name: name);

/// A host that volumes can be exported to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Host {
    #[serde(rename = "name")]
    pub(crate) id: String,
    /// The addresses under which the array sees it.
    pub(crate) addresses: Vec<std::net::IpAddr>,
}
object!(Host, "host");

/// A network that is shut out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Fence {
    #[serde(rename = "cidr")]
    pub(crate) id: String,
}
object!(Fence, "fence");

/// What a job does.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Work {
    /// Fills this volume from its source.
    Fill { volume: String },
    /// Cuts these snapshots at one moment.
    Cut { snapshots: Vec<String> },
}

impl Work {
    /// What it fills.
    pub(crate) fn targets(&self) -> &[String] {
        match self {
            Self::Fill { volume } => std::slice::from_ref(volume),
            Self::Cut { snapshots } => snapshots,
        }
    }
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Progress {
    Running,
    Done,
    Failed,
}

/// Work that outlasts its request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) state: Progress,
    pub(crate) message: String,
    pub(crate) work: Work,
}
object!(Job, "job");

/// A login that lasts until its token expires.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Session {
    /// The digest of the token: a reader of the catalogue learns no token.
    pub(crate) id: String,
    pub(crate) user: String,
    /// Milliseconds since 1970.
    pub(crate) expires: u64,
}
object!(Session, "session");
