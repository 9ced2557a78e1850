//! Where the ledger lies: a directory of its own in the state directory, which the process that runs guests does not see.
//!
//! Owns its name and its making, before the host loads anything, and the move of a ledger that lies in the state directory
//! itself, as it did once. Why no ledger is moved when the directory is there: by then a host that was broken into may
//! have written what lies beside it. It must not read the ledger.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::error::{ErrorCode, NodeError};
use crate::process;

/// The directory's name in the state directory.
pub(crate) const NAME: &str = "node";
/// The same until all is in it.
const PART: &str = "node.new";
/// The ledger in it.
pub(crate) const FILE: &str = "ledger";
/// The ledger as it lay in the state directory, and its lock.
const FORMER: &str = "node-ledger";
const FORMER_LOCK: &str = "node-ledger.lock";
/// Reading or writing for others than the owner.
const OTHERS: u32 = 0o077;

/// The ledger's directory; made where it is not there, with the ledger that lies beside it.
pub(crate) fn prepare(state_dir: &Path) -> Result<PathBuf, NodeError> {
    let directory = state_dir.join(NAME);
    if !is_there(&directory)? {
        let attempt = format!("making the node ledger's directory {}", directory.display());
        make(state_dir, &directory).map_err(|error| NodeError::io(attempt, &error))?;
    }
    Ok(directory)
}

/// Whether the directory is there; refuses what others than its owner could have filled.
fn is_there(directory: &Path) -> Result<bool, NodeError> {
    let seen = match directory.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        seen => seen.map_err(|error| NodeError::io(format!("looking at {}", directory.display()), &error))?,
    };
    let own = rustix::process::geteuid().as_raw();
    if seen.is_dir() && seen.uid() == own && seen.mode() & OTHERS == 0 {
        return Ok(true);
    }
    let message = format!(
        "{} is to hold the node ledger, and is not a directory that belongs to this user alone (mode 0700); see who \
         made it, and move it away",
        directory.display()
    );
    Err(NodeError::new(ErrorCode::NotAllowed, message))
}

/// Makes it with all that belongs into it, at once: an interrupted start begins again.
fn make(state_dir: &Path, directory: &Path) -> io::Result<()> {
    let part = state_dir.join(PART);
    match DirBuilder::new().mode(0o700).create(&part) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let former = state_dir.join(FORMER);
    if former.try_exists()? {
        let _finished = lock_of_former(state_dir)?;
        fs::rename(&former, part.join(FILE))?;
        process::log(&format!("the node ledger {} was moved into {}", former.display(), directory.display()));
    }
    File::open(&part)?.sync_all()?;
    match fs::rename(&part, directory) {
        // Somebody else was faster.
        Err(_) if directory.is_dir() => {}
        renamed => renamed?,
    }
    File::open(state_dir)?.sync_all()
}

/// Waits until a helper that knows no other place has ended: it may put a shorter ledger there.
fn lock_of_former(state_dir: &Path) -> io::Result<File> {
    let path = state_dir.join(FORMER_LOCK);
    let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    rustix::io::retry_on_intr(|| rustix::fs::flock(&lock, FlockOperation::LockExclusive))?;
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn text(path: PathBuf) -> Option<String> {
        fs::read_to_string(path).ok()
    }

    #[test]
    fn a_ledger_is_moved_once_and_never_again() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join(FORMER), "old").unwrap();
        let directory = prepare(state.path()).unwrap();
        assert_eq!(text(directory.join(FILE)).as_deref(), Some("old"));
        assert_eq!(directory.metadata().unwrap().mode() & 0o777, 0o700);
        // What comes to lie there now is not the ledger.
        fs::remove_file(directory.join(FILE)).unwrap();
        fs::write(state.path().join(FORMER), "forged").unwrap();
        assert_eq!(prepare(state.path()).unwrap(), directory);
        assert_eq!(text(directory.join(FILE)), None);
    }

    #[test]
    fn a_move_that_was_cut_off_is_finished() {
        let state = tempfile::tempdir().unwrap();
        fs::create_dir(state.path().join(PART)).unwrap();
        fs::set_permissions(state.path().join(PART), PermissionsExt::from_mode(0o700)).unwrap();
        fs::write(state.path().join(PART).join(FILE), "old").unwrap();
        assert_eq!(text(prepare(state.path()).unwrap().join(FILE)).as_deref(), Some("old"));
        assert!(!state.path().join(PART).exists());
    }

    #[test]
    fn what_another_may_have_filled_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let directory = state.path().join(NAME);
        symlink(state.path(), &directory).unwrap();
        assert_eq!(prepare(state.path()).unwrap_err().code, ErrorCode::NotAllowed);
        fs::remove_file(&directory).unwrap();
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(prepare(state.path()).unwrap_err().code, ErrorCode::NotAllowed);
        fs::set_permissions(&directory, PermissionsExt::from_mode(0o700)).unwrap();
        prepare(state.path()).unwrap();
    }
}
