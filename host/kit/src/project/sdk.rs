//! The SDK for Rust as a folder of a project: its own files, with a manifest that needs no workspace around it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use toml::{Table, Value};

use crate::embedded;

/// Where it lies in a project. `src/bindings.rs` looks for the contract in `../../wit`, which is the project's own.
const FOLDER: &str = "vendor/drivebay-sdk";

/// All its files, by their paths in the project.
///
/// # Errors
/// When its manifest names something that its workspace does not have.
pub(super) fn files() -> Result<BTreeMap<PathBuf, String>> {
    let workspace: Table = embedded::file("pins/Cargo.toml").context("no workspace")?.parse()?;
    let workspace = workspace.get("workspace").and_then(Value::as_table).context("no workspace")?;
    let mut files = BTreeMap::new();
    for (path, text) in embedded::below("sdk") {
        let text = if path == "Cargo.toml" { alone(text, workspace)? } else { text.to_owned() };
        files.insert(Path::new(FOLDER).join(path), text);
    }
    Ok(files)
}

/// A manifest with the values that it takes from its workspace.
fn alone(manifest: &str, workspace: &Table) -> Result<String> {
    let mut manifest: Table = manifest.parse()?;
    // How the repository looks at it is not the project's matter.
    manifest.remove("lints");
    for (section, from) in [("package", "package"), ("dependencies", "dependencies")] {
        let Some(entries) = manifest.get_mut(section).and_then(Value::as_table_mut) else { continue };
        for (key, value) in entries.iter_mut() {
            if value.get("workspace").is_some() {
                let shared = workspace.get(from).and_then(|table| table.get(key));
                *value = shared.with_context(|| format!("the workspace has no {section}.{key}"))?.clone();
            }
        }
    }
    Ok(format!("# The SDK as it came with the program; `drivebay new` writes it.\n{}", toml::to_string(&manifest)?))
}
