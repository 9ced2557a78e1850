//! Opening beneath a directory, and the two parts of a path: the directory in which a name is, and the name.

use super::{Errno, OpError, OpResult, Patience};
use rustix::{
    fs::{Mode, OFlags, ResolveFlags},
    io::Result,
};
use std::{
    ffi::OsStr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Component, Path},
};

/// How often a lookup is repeated that a rename elsewhere on the system has disturbed.
const ATTEMPTS: usize = 128;

/// Opens a path that stays beneath `directory`, without waiting for another process. A path that leads out is
/// `EPERM`, as the engine's own implementation has it.
pub(super) fn open(
    directory: impl AsFd,
    path: &Path,
    flags: OFlags,
    mode: Mode,
    patience: Patience,
) -> OpResult<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC;
    // The other way to open knows no flag but three beside this one.
    let flags = if flags.contains(OFlags::PATH) { flags } else { flags | OFlags::NONBLOCK | OFlags::NOCTTY };
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match patience {
        // Another file system below may be one that waits for a server.
        Patience::Cached => {
            let resolve = beneath | ResolveFlags::CACHED | ResolveFlags::NO_XDEV;
            rustix::fs::openat2(directory, path, flags, mode, resolve).map_err(|errno| match errno {
                // `EXDEV` may be a way out or a mount: the other attempt tells. Kernels before 5.12 do not know
                // the flag.
                Errno::AGAIN | Errno::XDEV | Errno::INVAL | Errno::NOSYS => OpError::Waits,
                other => OpError::Refused(other),
            })
        }
        Patience::Any => disturbed(|| rustix::fs::openat2(&directory, path, flags, mode, beneath)).map_err(escaped),
    }
}

fn disturbed<T>(open: impl Fn() -> Result<T>) -> Result<T> {
    let tried = std::iter::repeat_with(&open).take(ATTEMPTS).find(|opened| !matches!(opened, Err(Errno::AGAIN)));
    tried.unwrap_or(Err(Errno::BUSY))
}

const fn escaped(errno: Errno) -> OpError {
    match errno {
        Errno::XDEV => OpError::Refused(Errno::PERM),
        other => OpError::Refused(other),
    }
}

/// The directory of a name: the one that was asked, or one beneath it.
#[derive(Debug)]
pub(super) enum Parent<'a> {
    Itself(BorrowedFd<'a>),
    Below(OwnedFd),
}

impl AsFd for Parent<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Itself(directory) => *directory,
            Self::Below(directory) => directory.as_fd(),
        }
    }
}

/// Opens the directory in which the last name of `path` is. The name is not `..`, and no link is followed for it.
/// It may be `.`, which every operation on names refuses.
pub(super) fn parent<'a, 'p>(directory: BorrowedFd<'a>, path: &'p Path) -> OpResult<(Parent<'a>, &'p OsStr)> {
    let (parents, name) = split(path).ok_or(Errno::NOENT)?;
    if parents.as_os_str().is_empty() {
        return Ok((Parent::Itself(directory), name));
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    Ok((Parent::Below(open(directory, parents, flags, Mode::empty(), Patience::Any)?), name))
}

/// None for an empty path. What can only be a directory (`a/`, `a/.`, `..`) is the name `.` in it.
fn split(path: &Path) -> Option<(&Path, &OsStr)> {
    if path.as_os_str().is_empty() {
        return None;
    }
    let mut components = path.components();
    match components.next_back() {
        Some(Component::Normal(name)) if !names_directory(path) => Some((components.as_path(), name)),
        Some(Component::CurDir) if !names_directory(path) => Some((components.as_path(), OsStr::new("."))),
        _ => Some((path, OsStr::new("."))),
    }
}

/// One name alone, without what ends it: as the engine's own implementation has it, `a/` is then what `a` is, even a link.
pub(super) fn plain(path: &str) -> &Path {
    let mut components = Path::new(path).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(name)), None) => Path::new(name),
        _ => Path::new(path),
    }
}

fn names_directory(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}

/// Whether a slash ends it.
pub(super) fn ends_with_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// The path without the slashes that end it.
pub(super) fn without_slashes(path: &str) -> &Path {
    let plain = path.trim_end_matches('/');
    Path::new(if plain.is_empty() && !path.is_empty() { "/" } else { plain })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_into_directory_and_name() {
        let cases = [
            ("a", "", "a"),
            ("a/b", "a", "b"),
            ("a//b", "a", "b"),
            ("a/", "a/", "."),
            ("a/.", "a/.", "."),
            (".", "", "."),
            ("..", "..", "."),
            ("a/..", "a/..", "."),
            ("../a", "..", "a"),
            ("/a", "/", "a"),
            ("/", "/", "."),
        ];
        for (path, parents, name) in cases {
            let (directory, last) = split(Path::new(path)).unwrap();
            assert_eq!((directory.to_str().unwrap(), last.to_str().unwrap()), (parents, name), "{path}");
        }
        assert!(split(Path::new("")).is_none());
    }
}
