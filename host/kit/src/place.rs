//! Writing many files below a directory. Knows nothing of what they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// Writes the files, with the folders that they need.
///
/// # Errors
/// When one cannot be written; the words name it.
pub(crate) fn write(directory: &Path, files: &BTreeMap<PathBuf, String>) -> Result<()> {
    for (path, text) in files {
        write_bytes(&directory.join(path), text.as_bytes())?;
    }
    Ok(())
}

/// Writes one file, with the folders that it needs.
///
/// # Errors
/// When it cannot be written; the words name it.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    }
    std::fs::write(path, bytes).with_context(|| path.display().to_string())
}
