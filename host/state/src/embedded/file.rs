//! The store's file: directory, modes, and its birth in one step.
//!
//! Owns what happens before redb opens the file for use. It must not look inside. Why a new store is
//! written under a draft name and then linked: a host killed half-way would otherwise leave a file
//! that neither is a store nor may be overwritten.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::backing::Backing;
use super::open::initialise;
use crate::OpenError;
use crate::error::is_full;

const PRIVATE_DIRECTORY: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
/// Permission bits of anyone but the owner.
const SHARED_BITS: u32 = 0o077;
/// Stands between the store's name and the id of one in the making. No backend's name has it.
const DRAFT: &str = "~";

/// The name of a backend's file.
pub(super) fn of(backend: &str) -> String {
    format!("{backend}.redb")
}

/// Sees to it that a store is at `directory`/`name`, readable by the owner alone.
pub(super) fn prepare(directory: &Path, name: &str) -> Result<(), OpenError> {
    make_directory(directory)?;
    let path = directory.join(name);
    match fs::metadata(&path) {
        Ok(metadata) if metadata.permissions().mode() & SHARED_BITS != 0 => {
            // Backends keep what they like in here, session tokens included.
            fs::set_permissions(&path, Permissions::from_mode(PRIVATE_FILE))
                .map_err(|error| refused(&path, "make the file private", error))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Draft::begin(directory, name)?.link(),
        Err(error) => Err(refused(&path, "look at the file", error)),
    }
}

/// Removes drafts that killed hosts left behind. Call it with the store open: a host that is making
/// another one meanwhile would find it locked anyway.
pub(super) fn sweep(directory: &Path, name: &str) {
    let prefix = format!("{name}{DRAFT}");
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(&prefix)
            && let Err(error) = fs::remove_file(entry.path())
        {
            tracing::warn!(path = %entry.path().display(), %error, "cannot remove a draft");
        }
    }
}

/// Makes a directory that is its owner's alone, where there is none.
pub(super) fn make_directory(directory: &Path) -> Result<(), OpenError> {
    let made = DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(directory);
    made.map_err(|error| refused(directory, "create the directory", error))
}

/// A new store that has not got its name yet. Gone when it is dropped.
pub(super) struct Draft {
    directory: PathBuf,
    /// What it is to be called.
    path: PathBuf,
    /// Where it is until then.
    made_at: PathBuf,
}

impl Draft {
    /// An empty one.
    pub(super) fn begin(directory: &Path, name: &str) -> Result<Self, OpenError> {
        let path = directory.join(name);
        let store_id = draw_id().map_err(|error| refused(&path, "draw the store's id", error))?;
        let draft = directory.join(format!("{name}{DRAFT}{store_id}"));
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(PRIVATE_FILE)
            .open(&draft)
            .map_err(|error| refused(&draft, "create the file", error))?;
        let draft = Self { directory: directory.to_owned(), path, made_at: draft };
        initialise(&draft.backing(), &store_id)?;
        Ok(draft)
    }

    pub(super) fn made_at(&self) -> &Path {
        &self.made_at
    }

    pub(super) fn backing(&self) -> Backing {
        Backing::file(self.made_at.clone())
    }

    /// Gives it its name, unless another host was faster: its store is as good; opening it finds out who may use it.
    fn link(self) -> Result<(), OpenError> {
        match fs::hard_link(&self.made_at, &self.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(refused(&self.path, "create the file", error));
            }
            _ => {}
        }
        fs::remove_file(&self.made_at).map_err(|error| refused(&self.made_at, "remove the draft", error))?;
        sync_directory(&self.directory)
    }

    /// Gives it its name, whatever had it before.
    pub(super) fn replace(self) -> Result<(), OpenError> {
        fs::rename(&self.made_at, &self.path).map_err(|error| refused(&self.path, "create the file", error))?;
        sync_directory(&self.directory)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // It has its name by now, or is of no use; the next start removes what stays.
        let _ = fs::remove_file(&self.made_at);
    }
}

/// Makes the names in the directory, and its own name in its parent, as durable as the file.
fn sync_directory(directory: &Path) -> Result<(), OpenError> {
    let parent = directory.join("..");
    for directory in [directory, &parent] {
        File::open(directory)
            .and_then(|opened| opened.sync_all())
            .map_err(|error| refused(directory, "sync the directory", error))?;
    }
    Ok(())
}

/// 32 hex digits nobody else has drawn.
pub(super) fn draw_id() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

fn refused(path: &Path, action: &'static str, source: io::Error) -> OpenError {
    let path = path.to_owned();
    if is_full(&source) { OpenError::DiskFull { path } } else { OpenError::Io { path, action, source } }
}
