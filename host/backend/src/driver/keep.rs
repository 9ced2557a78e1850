//! What of a backend's generations survives a restart, and where: the lifecycle's memory and the recipe of
//! the last good generation in the state store, its component as a file. Decides nothing about either.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::component::{Component, digest_of};
use crate::environment::{Environment, NoState};
use crate::lifecycle::{Memory, Number, Recipe};
use drivebay_policy::Given;
use drivebay_state::{Change, Namespace, Quota};

const MEMORY: &str = "memory";
const GOOD: &str = "good";
const COPY: &str = "copy";

/// The digest of what a component is given.
pub(super) fn fingerprint(given: &Given) -> String {
    // A configuration is plain data and can always be written down.
    digest_of(&serde_json::to_vec(&(given, given.settings())).unwrap_or_default())
}

/// The last good generation, so that it can be made again; all but its settings, which may hold secrets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    pub recipe: Recipe,
    pub given: Given,
}

/// What a backend keeps.
#[derive(Debug, Clone)]
pub(super) struct Keep {
    backend: String,
    environment: Environment,
    /// The host's own notes; no backend can have a name with a slash, so none can reach them.
    notes: Arc<OnceLock<Namespace>>,
    components: Option<PathBuf>,
}

impl Keep {
    pub(super) fn new(backend: &str, environment: &Environment) -> Self {
        let components = environment.components.as_ref().map(|directory| directory.join(backend));
        Self { backend: backend.to_owned(), environment: environment.clone(), notes: Arc::default(), components }
    }

    /// None: the backend's state cannot be opened, as far as is known now.
    fn notes(&self) -> Option<&Namespace> {
        if let Some(notes) = self.notes.get() {
            return Some(notes);
        }
        let name = format!("host/life/{}", self.backend);
        let notes = self.environment.namespace(&self.backend, &name, Quota::default());
        let notes = notes.inspect_err(|error| self.complain(error)).ok()?;
        Some(self.notes.get_or_init(|| notes))
    }

    /// What was remembered; nothing, if it cannot be read.
    pub(super) async fn memory(&self) -> Memory {
        self.read(MEMORY).await.unwrap_or_default()
    }

    pub(super) async fn remember(&self, memory: &Memory) {
        self.write(MEMORY, memory).await;
    }

    pub(super) async fn good(&self) -> Option<Kept> {
        self.read(GOOD).await
    }

    pub(super) async fn keep_good(&self, kept: &Kept) {
        self.write(GOOD, kept).await;
    }

    async fn read<T: for<'a> Deserialize<'a>>(&self, key: &str) -> Option<T> {
        let bytes = self.notes()?.get(key).await;
        let bytes = bytes.inspect_err(|error| self.complain(&error)).ok()??;
        serde_json::from_slice(&bytes).inspect_err(|error| self.complain(error)).ok()
    }

    async fn write<T: Serialize>(&self, key: &str, value: &T) {
        let Some(notes) = self.notes() else { return };
        let Ok(value) = serde_json::to_vec(value).inspect_err(|error| self.complain(error)) else { return };
        if let Err(error) = notes.commit(vec![Change::Put { key: key.to_owned(), value }]).await {
            self.complain(&error);
        }
    }

    fn complain(&self, error: &dyn std::error::Error) {
        let (backend, error) = (&self.backend, error.to_string());
        tracing::error!(backend, error, "what is known of its generations cannot be read or kept");
    }

    /// The place for the copy of the state that was made for a generation, noted so that it is found again.
    pub(super) async fn copy_for(&self, number: Number, quota: Quota) -> Result<Namespace, NoState> {
        let copy = self.copy(number, quota)?;
        self.write(COPY, &number).await;
        Ok(copy)
    }

    /// The copy that was made for a generation.
    pub(super) fn copy(&self, number: Number, quota: Quota) -> Result<Namespace, NoState> {
        self.environment.namespace(&self.backend, &format!("host/copy/{}/{number}", self.backend), quota)
    }

    /// Removes the copy that there is, unless it is this generation's.
    pub(super) async fn forget_copies(&self, but: Option<Number>) {
        let Some(number) = self.read::<Number>(COPY).await.filter(|number| Some(*number) != but) else { return };
        let removed = match self.copy(number, Quota::default()) {
            Ok(copy) => copy.delete_all().await.map_err(NoState::from),
            Err(error) => Err(error),
        };
        if let Err(error) = removed {
            self.complain(&error);
            return;
        }
        if let Some(notes) = self.notes() {
            // What is noted in vain is removed once more at the next start.
            let _ = notes.commit(vec![Change::Delete { key: COPY.to_owned() }]).await;
        }
    }

    /// Where a component with this digest is kept.
    pub(super) fn component(&self, code: &str) -> Option<PathBuf> {
        self.components.as_ref().map(|directory| directory.join(format!("{code}.wasm")))
    }

    /// Keeps a component. Blocks.
    pub(super) fn keep_component(&self, component: &Component) {
        let Some((directory, path)) = self.components.as_ref().zip(self.component(&component.digest)) else { return };
        if path.exists() {
            return;
        }
        if let Err(error) = write_whole(directory, &path, &component.bytes) {
            let backend = &self.backend;
            tracing::warn!(backend, %error, "the component cannot be kept; a restart will need its file");
        }
    }

    /// Removes all components but these. Blocks.
    pub(super) fn prune(&self, codes: &BTreeSet<String>) {
        let Some(entries) = self.components.as_ref().and_then(|directory| std::fs::read_dir(directory).ok()) else {
            return;
        };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let is_needed = path.file_stem().is_some_and(|code| codes.contains(&*code.to_string_lossy()));
            if !is_needed {
                // It is tried again with the next generation.
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// Written whole or not at all, and on disk before it has its name.
fn write_whole(directory: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let temporary = path.with_extension("part");
    let _ = std::fs::remove_file(&temporary);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.and_then(|()| std::fs::rename(&temporary, path)).inspect_err(|_| {
        let _ = std::fs::remove_file(&temporary);
    })
}
