//! The paths that components use: absolute, and taken apart before anything is opened.
//!
//! Owns their syntax and opens nothing. `..` is refused rather than resolved: what it means depends
//! on the prefix it is read from, and no component needs it.

use super::error::{FileError, FileErrorCode};

/// The longest path, in bytes; the kernel's own limit.
const LONGEST: usize = 4_095;
/// The longest name, in bytes; the limit of every file system in use.
const LONGEST_NAME: usize = 255;
/// What the host's own files begin with.
pub(super) const RESERVED: &str = ".drivebay-";

/// An absolute path in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GuestPath {
    /// The names from the root on; none is empty, `.` or `..`.
    pub(super) names: Vec<String>,
    /// Whether a `/` ends it, so that it can name a directory only.
    pub(super) trailing_slash: bool,
}

impl GuestPath {
    /// Takes a path apart. Double slashes and `.` mean nothing, as everywhere.
    pub(super) fn parse(path: &str) -> Result<Self, FileError> {
        let refuse = |code, words: &str| Err(FileError::at(code, path, words));
        if !path.starts_with('/') {
            return refuse(FileErrorCode::Invalid, "a path starts with /");
        }
        if path.len() > LONGEST || path.contains('\0') {
            return refuse(FileErrorCode::Invalid, "longer than a path can be, or with a NUL in it");
        }
        let names: Vec<String> = path.split('/').filter(|name| !matches!(*name, "" | ".")).map(str::to_owned).collect();
        if names.iter().any(|name| name == "..") {
            return refuse(FileErrorCode::NotAllowed, "a path must not go up with ..");
        }
        if names.iter().any(|name| name.len() > LONGEST_NAME) {
            return refuse(FileErrorCode::Invalid, "a name longer than 255 bytes");
        }
        let trailing_slash = path.ends_with('/') || path.ends_with("/.");
        Ok(Self { names, trailing_slash })
    }

    /// What follows `prefix`, if this path lies at or beneath it.
    pub(super) fn beneath(&self, prefix: &Self) -> Option<&[String]> {
        self.names.strip_prefix(prefix.names.as_slice())
    }

    /// The path in its plain form.
    pub(super) fn text(&self) -> String {
        format!("/{}", self.names.join("/"))
    }
}
