//! What the process that runs guests sees of the machine's files, in words.
//!
//! Said once by the host before it loads anything; from then on it changes only when the launcher itself reads the
//! operator's configuration again. It must not look at any file.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A path that is shown where it is, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visible {
    /// Absolute. Links in it are the operator's, and are followed whenever it is looked at.
    pub path: PathBuf,
    /// How it is shown.
    pub how: Visibility,
}

/// How a path is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visibility {
    /// A directory of the host's own, to write in, without what is mounted below it; made where it is not there.
    Own,
    /// A directory with all that is mounted below it, to read.
    Read,
    /// The same, to write.
    Write,
    /// A file, to read, with the directory that it lies in: whatever takes its place is seen. Where that directory is
    /// everybody's, such as `/etc`, as [`Self::Alone`].
    Beside,
    /// A file alone, to read. What takes its place is shown a moment later.
    Alone,
    /// A directory of another process in one of the host's own: to read, and nothing can be put in its place.
    Held,
    /// A directory that is not shown: an empty one is in its place, and nothing can be put there instead.
    Hidden,
}

/// Finds what is to be seen in the text of a configuration that is called `name`; an error says what is wrong with it.
pub type ReadVisible = fn(name: &str, text: &str) -> Result<Vec<Visible>, String>;
