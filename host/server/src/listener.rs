//! The Unix sockets: binding with the operator's permissions and no moment of looser ones, removing
//! what a dead process left, refusing what a living one uses.

use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

/// Why a socket cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// A process answers there.
    #[error("{}: another process is listening there; stop it, or choose another path", .0.display())]
    InUse(PathBuf),
    /// Something that is no socket lies there.
    #[error("{}: there is a file that is no socket; it was left alone, choose another path", .0.display())]
    NotASocket(PathBuf),
    /// The system refuses.
    #[error("{path}: {source}")]
    System {
        /// The socket.
        path: String,
        /// What the system says.
        source: io::Error,
    },
}

/// Listens at `path` with these permission bits.
///
/// # Errors
/// When the path is taken or cannot be made.
pub fn listen(path: &Path, mode: u32) -> Result<UnixListener, ListenError> {
    let system = |source| ListenError::System { path: path.display().to_string(), source };
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(system)?;
    }
    clear(path)?;
    // Bound under a name of its own, given its permissions, then moved: nobody can connect before
    // the permissions are right, and the name never leads nowhere.
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let staged = if temporary.as_os_str().len() > drivebay_policy::SOCKET_PATH { path } else { &temporary };
    let _ = std::fs::remove_file(&temporary);
    let listener = UnixListener::bind(staged).map_err(system)?;
    std::fs::set_permissions(staged, std::fs::Permissions::from_mode(mode)).map_err(system)?;
    if staged != path {
        std::fs::rename(staged, path).map_err(system)?;
    }
    Ok(listener)
}

/// Whether `listen` could have this path now. Makes and removes nothing.
///
/// # Errors
/// What `listen` would say, as far as it can be told without making anything.
pub fn judge(path: &Path) -> Result<(), ListenError> {
    look(path).map(drop)
}

/// Removes the socket of a process that is gone.
fn clear(path: &Path) -> Result<(), ListenError> {
    let system = |source| ListenError::System { path: path.display().to_string(), source };
    match look(path)? {
        Found::Nothing => Ok(()),
        Found::Stale => std::fs::remove_file(path).map_err(system),
    }
}

/// What is at a path that can be had.
enum Found {
    Nothing,
    /// The socket of a process that is gone.
    Stale,
}

fn look(path: &Path) -> Result<Found, ListenError> {
    let system = |source| ListenError::System { path: path.display().to_string(), source };
    let meta = match std::fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(e) => return Err(system(e)),
    };
    if !meta.file_type().is_socket() {
        return Err(ListenError::NotASocket(path.to_owned()));
    }
    match StdStream::connect(path) {
        Ok(_) => Err(ListenError::InUse(path.to_owned())),
        Err(_) => Ok(Found::Stale),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("csi.sock");
        drop(listen(&path, 0o600).unwrap());
        assert!(path.exists(), "the file of a dead process stays");
        let live = listen(&path, 0o660).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        assert!(matches!(listen(&path, 0o600), Err(ListenError::InUse(_))));
        assert!(matches!(judge(&path), Err(ListenError::InUse(_))));
        drop(live);
        judge(&path).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no extra files beside the socket");
    }

    #[tokio::test]
    async fn a_file_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.sock");
        std::fs::write(&path, b"data").unwrap();
        assert!(matches!(listen(&path, 0o600), Err(ListenError::NotASocket(_))));
        assert!(matches!(judge(&path), Err(ListenError::NotASocket(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"data");
    }
}
