//! The store's file: directory, modes, and its birth in one step.
//!
//! Owns what happens before redb opens the file for use. It must not look inside. Why a new store is
//! written under a draft name and then linked: a host killed half-way would otherwise leave a file
//! that neither is a store nor may be overwritten.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::medium::Medium;
use super::open::initialise;
use crate::OpenError;
use crate::error::is_full;

const PRIVATE_DIRECTORY: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
/// Permission bits of anyone but the owner.
const SHARED_BITS: u32 = 0o077;
/// Stands between the store's name and the id of one in the making.
const DRAFT: &str = ".new-";

/// Sees to it that a store is at `directory`/`name`, readable by the owner alone.
pub(super) fn prepare(directory: &Path, name: &str) -> Result<(), OpenError> {
    DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE_DIRECTORY)
        .create(directory)
        .map_err(|error| refused(directory, "create the directory", error))?;
    let path = directory.join(name);
    match fs::metadata(&path) {
        Ok(metadata) if metadata.permissions().mode() & SHARED_BITS != 0 => {
            // Backends keep what they like in here, session tokens included.
            fs::set_permissions(&path, Permissions::from_mode(PRIVATE_FILE))
                .map_err(|error| refused(&path, "make the file private", error))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(directory, name),
        Err(error) => Err(refused(&path, "look at the file", error)),
    }
}

/// Removes drafts that killed hosts left behind. Call it with the store open: whoever is making
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

fn create(directory: &Path, name: &str) -> Result<(), OpenError> {
    let path = directory.join(name);
    let store_id = draw_id().map_err(|error| refused(&path, "draw the store's id", error))?;
    let draft = directory.join(format!("{name}{DRAFT}{store_id}"));
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(PRIVATE_FILE)
        .open(&draft)
        .map_err(|error| refused(&draft, "create the file", error))?;
    let linked = initialise(&Medium::file(draft.clone()), &store_id).and_then(|()| {
        match fs::hard_link(&draft, &path) {
            // Another host was faster. Its store is as good; opening it finds out who may use it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked.map_err(|error| refused(&path, "create the file", error)),
        }
    });
    let removed = fs::remove_file(&draft);
    linked?;
    removed.map_err(|error| refused(&draft, "remove the draft", error))?;
    sync_directory(directory)
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
