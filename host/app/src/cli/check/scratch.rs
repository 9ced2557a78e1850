//! An empty state for a look at a component: the real one may be in use by the host that serves, and
//! must not be touched. Gone when the check is over.

use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};

use drivebay_backend::Environment;
use drivebay_state::EmbeddedStores;

/// A directory of our own with an empty state in it.
#[derive(Debug)]
pub(super) struct Scratch {
    directory: PathBuf,
    environment: Environment,
}

impl Scratch {
    /// Makes one below the system's place for temporary files.
    ///
    /// # Errors
    /// When that is full or not writable.
    pub(super) fn new(local: &'static [u8]) -> Result<Self> {
        let unique = getrandom::u64().context("the system gives no random number")?;
        let directory = std::env::temp_dir().join(format!("drivebay-check-{unique:016x}"));
        let made = std::fs::DirBuilder::new().mode(0o700).create(&directory);
        made.with_context(|| format!("{}: no temporary directory can be made; set TMPDIR", directory.display()))?;
        match EmbeddedStores::open(&directory) {
            Ok(stores) => Ok(Self {
                directory,
                environment: Environment {
                    local,
                    stores: Arc::new(stores),
                    cache: None,
                    components: None,
                    node: None,
                    in_force: None,
                    boundary: None,
                },
            }),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&directory);
                Err(error.into())
            }
        }
    }

    /// Surroundings in which nothing can be broken.
    pub(super) const fn environment(&self) -> &Environment {
        &self.environment
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.directory) {
            tracing::warn!(%error, directory = %self.directory.display(), "a temporary directory is left over");
        }
    }
}
