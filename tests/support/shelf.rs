//! A backend's file while a host runs: copies of test backends with a changed stamp, and the ways in which
//! files are replaced. Knows nothing of what the host makes of it.

use std::path::{Path, PathBuf};

use super::Guest;

/// A component with some fields of its stamp changed (guests/tester, `stamp.rs`).
pub fn stamped(guest: Guest, changes: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = std::fs::read(guest.path()).unwrap();
    let marker = format!("{}-stamp ", guest.0);
    let at = bytes.windows(marker.len()).position(|window| window == marker.as_bytes()).expect("it has a stamp");
    for (field, value) in changes {
        let name = format!(" {field}=");
        let found = bytes[at..].windows(name.len()).position(|window| window == name.as_bytes());
        let start = at + found.expect("the stamp has the field") + name.len();
        let length = bytes[start..].iter().position(|byte| *byte == b' ').unwrap();
        assert_eq!(length, value.len(), "{field} keeps its length");
        bytes[start..start + length].copy_from_slice(value.as_bytes());
    }
    bytes
}

/// Versions that differ in their last part, all of one length.
pub fn version(n: usize) -> String {
    format!("1.0.{}", 1_000 + n)
}

/// The file that a host is configured with.
#[derive(Debug)]
pub struct Shelf {
    directory: tempfile::TempDir,
}

impl Shelf {
    /// With this component in the file.
    pub fn with(bytes: &[u8]) -> Self {
        let shelf = Self { directory: tempfile::tempdir().unwrap() };
        std::fs::write(shelf.file(), bytes).unwrap();
        shelf
    }

    /// The configured file.
    pub fn file(&self) -> PathBuf {
        self.directory.path().join("backend.wasm")
    }

    /// Another place in the same directory.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Puts another component in its place, as installers do: written beside it, then renamed.
    pub fn replace(&self, bytes: &[u8]) {
        replace(&self.file(), bytes);
    }
}

/// Writes beside a file, then renames.
pub fn replace(file: &Path, bytes: &[u8]) {
    let part = file.with_extension("part");
    std::fs::write(&part, bytes).unwrap();
    std::fs::rename(part, file).unwrap();
}
