//! What a volume contains: a raw device, a file system in an image, or a directory.
//!
//! It is one word in every record. File systems are named as the host names them; the host decides which can be made.

use serde::{Deserialize, Serialize};

/// The parameter `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file with blocks of its own, so that its size is real.
    Image,
    /// A plain directory of the pool.
    Directory,
}

impl Kind {
    /// The word that clients use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Directory => "directory",
        }
    }
}

/// What a volume or a snapshot holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Content {
    /// An image that workloads see as a block device.
    Block,
    /// An image with this file system.
    FileSystem(String),
    /// A directory.
    Directory,
}

impl Content {
    /// Image or directory.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Block | Self::FileSystem(_) => Kind::Image,
            Self::Directory => Kind::Directory,
        }
    }

    /// The file system of an image; none: it has none.
    pub fn file_system(&self) -> Option<&str> {
        match self {
            Self::FileSystem(name) => Some(name),
            Self::Block | Self::Directory => None,
        }
    }
}

impl From<String> for Content {
    fn from(word: String) -> Self {
        match word.as_str() {
            "block" => Self::Block,
            "directory" => Self::Directory,
            _ => Self::FileSystem(word),
        }
    }
}

impl From<Content> for String {
    fn from(content: Content) -> Self {
        match content {
            Content::Block => "block".to_owned(),
            Content::Directory => "directory".to_owned(),
            Content::FileSystem(name) => name,
        }
    }
}

impl std::fmt::Display for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Block => f.write_str("a raw block device"),
            Self::FileSystem(name) => f.write_str(name),
            Self::Directory => f.write_str("a directory"),
        }
    }
}
