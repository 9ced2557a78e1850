//! Places where shares are mounted before anybody sees them, and unmounting.
//!
//! Owns the directories, which lie where the host's process cannot write and are named by the ledger's entries, so
//! that what a crash leaves there is found. It must not know protocols.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::system::paths::open_resolved;
use super::super::system::programs::{self, HERE, Outcome};
use super::super::system::table::{MountLine, MountTable};
use super::flush::silent;
use crate::error::{ErrorCode, NodeError};

/// How long a server may take to have everything written that is to be written.
const UNMOUNT_LIMIT: Duration = Duration::from_secs(20);

/// The directory for a host's places, which is there from the first use on.
pub(in crate::helper) fn directory(state_dir: &Path) -> Result<PathBuf, NodeError> {
    let failed = |error: io::Error| NodeError::io("looking at the state directory", &error);
    let stat = fs::metadata(state_dir).map_err(failed)?;
    let run = Path::new("/run").canonicalize().unwrap_or_else(|_| PathBuf::from("/run"));
    Ok(run.join(format!("drivebay-node-{}-{}", stat.dev(), stat.ino())))
}

/// The places of one entry.
#[derive(Debug)]
pub(in crate::helper) struct Private {
    base: PathBuf,
    share: PathBuf,
    above: PathBuf,
}

impl Private {
    pub(in crate::helper) fn new(base: &Path, entry: u64) -> Self {
        Self { base: base.to_owned(), share: base.join(entry.to_string()), above: base.join(format!("{entry}-above")) }
    }

    /// Makes the place for the share.
    pub(in crate::helper) fn make_share(&self) -> Result<&str, NodeError> {
        self.make(&self.share)
    }

    /// Makes the place for the directory above it on the server.
    pub(in crate::helper) fn make_above(&self) -> Result<&str, NodeError> {
        self.make(&self.above)
    }

    fn make<'a>(&self, place: &'a Path) -> Result<&'a str, NodeError> {
        let failed = |error: io::Error| NodeError::io(format!("making {}", place.display()), &error);
        for directory in [&self.base, place] {
            match DirBuilder::new().mode(0o700).create(directory) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made.map_err(failed)?,
            }
        }
        // Not a link to somewhere else.
        drop(open_resolved(place)?);
        text(place)
    }

    /// The root of the mounted share. Opening it this way asks no server.
    pub(in crate::helper) fn open(&self) -> Result<OwnedFd, NodeError> {
        open_resolved(&self.share)
    }

    /// Unmounts what is there and removes the places. Success when there is nothing.
    pub(in crate::helper) fn clear(&self) -> Result<(), NodeError> {
        for place in [&self.above, &self.share] {
            let path = text(place)?;
            if seen(path)?.is_some() {
                unmount(path)?;
            }
            match fs::remove_dir(place) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(NodeError::io(format!("removing {path}"), &error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn text(place: &Path) -> Result<&str, NodeError> {
    place.to_str().ok_or_else(|| {
        let message = format!("{} is not UTF-8", place.display());
        NodeError::new(ErrorCode::Unsupported, message)
    })
}

/// What is mounted at a place.
pub(in crate::helper) fn seen(place: &str) -> Result<Option<MountLine>, NodeError> {
    Ok(MountTable::read()?.topmost(place).cloned())
}

/// Unmounts a share. Never by force: what a workload has written and the server has not would be lost.
pub(in crate::helper) fn unmount(place: &str) -> Result<(), NodeError> {
    let Some(before) = seen(place)? else { return Ok(()) };
    let path = Path::new(place);
    let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(OsStr::to_str)) else {
        return Err(NodeError::new(ErrorCode::Failed, format!("{place} is no place for a share")));
    };
    // From the directory that it is in: what became a link on the way since then leads nowhere. Without looking at the path
    // and without other programs: both would wait for the server. An open descriptor of the mount itself would keep it busy.
    let here = format!("{HERE}/{name}");
    let arguments = ["--no-mtab", "--internal-only", "--no-canonicalize", &here];
    let ended = programs::run_in(open_resolved(parent)?, "umount", &arguments, UNMOUNT_LIMIT);
    // The table knows better than the program whether it is done, and that it was this one.
    if !MountTable::read()?.at(place).any(|line| line.id == before.id) {
        return Ok(());
    }
    match ended {
        Ok(outcome) if is_busy(&outcome) => {
            let message = format!("unmounting {place}: somebody still uses it");
            Err(NodeError::new(ErrorCode::Busy, message))
        }
        Ok(outcome) => {
            outcome.expect_success(&[0])?;
            let message = format!("unmounting {place}: something else was mounted over it meanwhile");
            Err(NodeError::new(ErrorCode::Busy, message))
        }
        Err(error) if error.code == ErrorCode::Limit => Err(silent(place)),
        Err(error) => Err(error),
    }
}

fn is_busy(ended: &Outcome) -> bool {
    ended.says("target is busy")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::recorded::{UMOUNT, ended};

    #[test]
    fn a_mount_in_use_is_told_from_none() {
        assert!(is_busy(&ended(UMOUNT, "a mount in use")));
        for case in ["unmounted", "not mounted"] {
            assert!(!is_busy(&ended(UMOUNT, case)), "{case}");
        }
    }
}
