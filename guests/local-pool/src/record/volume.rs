//! The record of a volume.
//!
//! Only the controller writes it. Nodes write files of their own beside it, so no two processes change one file. An
//! operator who places an image in the pool needs to write `format`, `id` and `content` only.

use drivebay_sdk::types::{StringMap, Volume, VolumeContentSource};
use serde::{Deserialize, Serialize};

use super::{Content, Moment};

/// The mutable parameter `reserve`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reserve {
    /// Blocks are taken from the pool when they are written.
    #[default]
    Thin,
    /// All blocks are set aside, so that writing cannot run out of space.
    Full,
}

/// What a volume was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A snapshot, by its id.
    Snapshot(String),
    /// Another volume, by its id.
    Volume(String),
}

/// Whose UUID the file system in an image has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Uuid {
    /// Its own.
    #[default]
    Own,
    /// Still that of the source: it must get its own before its first mount.
    Copied,
}

/// A node that the volume is attached to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Attachment {
    /// The id of the node.
    pub node: String,
    /// The word of the access mode.
    pub mode: String,
    /// Whether for reading only.
    pub readonly: bool,
    /// Tells other wishes (block or mount, file system, options) apart without showing them.
    pub fingerprint: String,
}

/// A volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct VolumeRecord {
    /// The number of its form.
    pub format: u32,
    /// Its id.
    pub id: String,
    /// The client's name; empty: an operator placed it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What it holds.
    pub content: Content,
    /// Bytes; 0: as long as the image is.
    #[serde(default)]
    pub capacity_bytes: u64,
    /// What the client asked for at least, in bytes; the capacity may be more.
    #[serde(default)]
    pub asked_bytes: u64,
    /// The size that the file system was made for, in bytes. Less than the capacity: it must grow.
    #[serde(default)]
    pub file_system_bytes: u64,
    /// Whether its blocks are set aside.
    #[serde(default)]
    pub reserve: Reserve,
    /// What it was made from; none: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Whose UUID its file system has.
    #[serde(default)]
    pub uuid: Uuid,
    /// From where it can be reached; empty: from everywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topology: StringMap,
    /// When it was made.
    #[serde(default)]
    pub created: Moment,
    /// The volume group that it joined last; it counts while that group names the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The group that it was created in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_in: Option<String>,
    /// The nodes that it is attached to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

impl VolumeRecord {
    /// The largest size in bytes: sizes on the wire are signed, and multiples of a page.
    pub const LARGEST_BYTES: u64 = (1 << 63) - 4_096;

    /// The volume as clients know it.
    pub fn to_volume(&self) -> Volume {
        Volume {
            capacity_bytes: self.capacity_bytes,
            volume_id: self.id.clone(),
            volume_context: self.context(),
            content_source: self.source.clone().map(Into::into),
            accessible_topology: if self.topology.is_empty() { Vec::new() } else { vec![self.topology.clone()] },
        }
    }

    /// The facts that come back with every call. They never change, so what may change (size,
    /// reserve) is not among them.
    pub fn context(&self) -> Vec<(String, String)> {
        let mut context = vec![("kind".to_owned(), self.content.kind().as_str().to_owned())];
        let capacity = match &self.content {
            Content::Directory => "promised, not enforced",
            Content::Block | Content::FileSystem(_) => "enforced",
        };
        context.push(("capacity".to_owned(), capacity.to_owned()));
        if let Some(name) = self.content.file_system() {
            context.push(("fs-type".to_owned(), name.to_owned()));
        }
        context
    }
}

impl From<Source> for VolumeContentSource {
    fn from(source: Source) -> Self {
        match source {
            Source::Snapshot(id) => Self::Snapshot(id),
            Source::Volume(id) => Self::Volume(id),
        }
    }
}

impl From<VolumeContentSource> for Source {
    fn from(source: VolumeContentSource) -> Self {
        match source {
            VolumeContentSource::Snapshot(id) => Self::Snapshot(id),
            VolumeContentSource::Volume(id) => Self::Volume(id),
        }
    }
}
