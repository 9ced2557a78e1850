//! Names in the pool.
//!
//! ```text
//! pool.json                          the pool's id and format
//! writer.json                        the host whose index is complete
//! volumes/BB/ID/record.json          what the volume is; without it there is no volume
//!               image or data/       its contents
//!               use-KEY.json         what one host does with it
//!               file-system.json     what nodes did to its file system
//!               deleted.json         the record of a volume that is being deleted
//!               planned.json         the record of a group snapshot that is being made
//! ephemeral/, snapshots/, groups/, volume-groups/, replications/   the same
//! names/SHELF/BB/KEY.json            a client's name and the id that it stands for
//! ```
//! BB spreads 100,000 objects over 255 folders, so that none grows large. Nothing is opened here.

use serde::{Deserialize, Serialize};

use super::Pool;
use crate::ids;

/// The contents of an image volume.
pub const IMAGE: &str = "image";

/// The contents of a directory volume.
pub const DATA: &str = "data";

/// A kind of object, with a folder of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Section {
    /// Volumes.
    Volumes,
    /// Volumes that live as long as one publication; clients name their ids themselves.
    Ephemeral,
    /// Snapshots.
    Snapshots,
    /// Group snapshots.
    Groups,
    /// Volume groups.
    VolumeGroups,
    /// What stands in for a second site: roles, cuts and transfers.
    Replications,
}

impl Section {
    /// The name of its folder.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Volumes => "volumes",
            Self::Ephemeral => "ephemeral",
            Self::Snapshots => "snapshots",
            Self::Groups => "groups",
            Self::VolumeGroups => "volume-groups",
            Self::Replications => "replications",
        }
    }

    /// One of them, in words.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Volumes => "volume",
            Self::Ephemeral => "ephemeral volume",
            Self::Snapshots => "snapshot",
            Self::Groups => "group snapshot",
            Self::VolumeGroups => "volume group",
            Self::Replications => "replication",
        }
    }
}

impl Pool<'_> {
    /// A file directly in the pool.
    pub fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.root)
    }

    /// The folder of all objects of a kind.
    pub fn section(&self, section: Section) -> String {
        self.at(section.folder())
    }

    /// The folder that an object's directory stands in.
    pub(crate) fn bucket(&self, section: Section, id: &str) -> String {
        format!("{}/{}", self.section(section), ids::bucket(id))
    }

    /// An object's directory.
    pub fn directory(&self, section: Section, id: &str) -> String {
        format!("{}/{id}", self.bucket(section, id))
    }

    /// A file in an object's directory.
    pub fn file(&self, section: Section, id: &str, name: &str) -> String {
        format!("{}/{name}", self.directory(section, id))
    }

    /// An object's record.
    pub fn record_file(&self, section: Section, id: &str) -> String {
        self.file(section, id, "record.json")
    }

    /// The record of an object that is being deleted.
    pub fn deleted_file(&self, section: Section, id: &str) -> String {
        self.file(section, id, "deleted.json")
    }

    /// The record that a group snapshot will have: it names the members before they are made.
    pub fn planned_file(&self, group: &str) -> String {
        self.file(Section::Groups, group, "planned.json")
    }

    /// The folder of all names of a kind.
    pub fn names(&self, section: Section) -> String {
        self.at(&format!("names/{}", section.folder()))
    }

    /// The file of a client's name.
    pub(crate) fn name_file(&self, section: Section, name: &str) -> String {
        let key = ids::key_of(name);
        let bucket = key.get(..2).unwrap_or_default();
        format!("{}/{bucket}/{key}.json", self.names(section))
    }

    /// The file in which this host says what it does with a volume.
    pub(crate) fn use_file(&self, section: Section, id: &str) -> String {
        self.file(section, id, &format!("use-{}.json", self.host_key()))
    }

    /// Where this host writes what is renamed afterwards.
    pub fn temporaries(&self) -> String {
        self.at(&format!("temporary/{}", self.host_key()))
    }

    /// A short name for this host that is safe in names of files.
    pub fn host_key(&self) -> &str {
        self.host_key.get_or_init(|| ids::fingerprint(&self.host.host_id()))
    }

    /// The file that says what nodes did to a volume's file system.
    pub fn mark_file(&self, section: Section, id: &str) -> String {
        self.file(section, id, "file-system.json")
    }
}
