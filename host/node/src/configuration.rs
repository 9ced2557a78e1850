//! Reading the operator's configuration, by the processes that act on it.
//!
//! Owns which file is believed: one that the operator alone can have written. It must not know what stands in it;
//! that is for the parent of these processes to say.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{ErrorCode, NodeError};

/// Larger than any that a person writes, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;
/// Writing for the group and for all others.
const WRITTEN_BY_OTHERS: u32 = 0o022;
/// In a directory: only the owner of a file may put another one in its place.
const STICKY: u32 = 0o1000;

/// Where the host's process writes.
#[derive(Debug)]
pub(crate) struct Reach<'a> {
    pub(crate) state_dir: &'a Path,
    /// Directories that are granted for writing, without links.
    pub(crate) written: Vec<PathBuf>,
}

/// A configuration as it stands there.
#[derive(Debug)]
pub(crate) struct Text {
    /// The file's name.
    name: String,
    words: String,
    doubt: Option<NodeError>,
}

impl Text {
    /// Reads the file at `path`. Links to it are the operator's, such as those of a volume of Kubernetes.
    pub(crate) fn read(path: &Path, reach: &Reach<'_>) -> Result<Self, NodeError> {
        let name = path.display().to_string();
        let failed = |error: std::io::Error| NodeError::io(format!("reading {name}"), &error);
        let file = File::open(path).map_err(failed)?;
        let stat = file.metadata().map_err(failed)?;
        if !stat.is_file() || stat.len() > LARGEST {
            return Err(doubted(&name, "it is not a file of at most 16 MiB"));
        }
        let place = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(failed)?;
        let doubt = doubt(path, &place, &stat, reach).map_err(failed)?.map(|why| doubted(&name, &why));
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text).map_err(failed)?;
        Ok(Self { name, words: text, doubt })
    }

    /// The text as it is there, not yet trusted.
    pub(crate) fn says<T>(&self, read: fn(&str, &str) -> Result<T, String>) -> Result<T, NodeError> {
        read(&self.name, &self.words).map_err(|mistakes| NodeError::new(ErrorCode::Invalid, mistakes))
    }

    /// Refuses what somebody else than the operator may have written.
    pub(crate) fn believe(&self) -> Result<(), NodeError> {
        self.doubt.clone().map_or(Ok(()), Err)
    }
}

/// Why the file at `path`, which is the one at `place`, may be somebody else's words, if it may.
fn doubt(path: &Path, place: &Path, stat: &Metadata, reach: &Reach<'_>) -> std::io::Result<Option<String>> {
    let directory = |path: &Path| path.parent().unwrap_or(Path::new("/")).canonicalize();
    // Where its name stands, and where it is.
    for directory in [directory(path)?, directory(place)?] {
        if let Some(writable) = reach.around(&directory) {
            return Ok(Some(format!("it lies in {}, where the host writes", writable.display())));
        }
    }
    let above = directory(place).and_then(std::fs::metadata)?;
    let user = rustix::process::geteuid().as_raw();
    Ok(judge(Rights::of(stat), Rights::of(&above), user).map(str::to_owned))
}

impl Reach<'_> {
    fn around(&self, directory: &Path) -> Option<&Path> {
        let state_dir = self.state_dir.canonicalize();
        if directory.starts_with(state_dir.as_deref().unwrap_or(self.state_dir)) {
            return Some(self.state_dir);
        }
        // They are not looked at again: a server of theirs may not answer.
        self.written.iter().map(PathBuf::as_path).find(|written| directory.starts_with(written))
    }
}

/// Whose a file or directory is, and who else may write to it.
#[derive(Debug, Clone, Copy)]
struct Rights {
    owner: u32,
    mode: u32,
}

impl Rights {
    fn of(stat: &impl MetadataExt) -> Self {
        Self { owner: stat.uid(), mode: stat.mode() }
    }

    fn is_of(self, user: u32) -> bool {
        self.owner == 0 || self.owner == user
    }
}

/// Why a file in a directory may be another's words than the operator's, if it may.
fn judge(file: Rights, directory: Rights, user: u32) -> Option<&'static str> {
    if !file.is_of(user) || !directory.is_of(user) {
        return Some("it or its directory belongs to another user");
    }
    if file.mode & WRITTEN_BY_OTHERS != 0 {
        return Some("others than its owner may write to it");
    }
    let replaced = directory.mode & WRITTEN_BY_OTHERS != 0 && directory.mode & STICKY == 0;
    replaced.then_some("others than their owner may write to its directory")
}

fn doubted(name: &str, why: &str) -> NodeError {
    let message = format!("grants are the operator's alone, and {name} may be somebody else's words: {why}");
    NodeError::new(ErrorCode::NotAllowed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_others_could_have_written_is_not_believed() {
        let rights = |owner, mode| Rights { owner, mode };
        let (file, directory) = (rights(0, 0o100_644), rights(0, 0o40_755));
        let cases = [
            (file, directory, true),
            (rights(7, 0o100_600), rights(7, 0o40_700), true),
            (file, rights(0, 0o41_777), true),
            (rights(8, 0o100_644), directory, false),
            (rights(0, 0o100_664), directory, false),
            (rights(0, 0o100_646), directory, false),
            (file, rights(8, 0o40_755), false),
            (file, rights(0, 0o40_777), false),
            (file, rights(0, 0o40_775), false),
        ];
        for (file, directory, believed) in cases {
            assert_eq!(judge(file, directory, 7).is_none(), believed, "{file:?} {directory:?}");
        }
    }
}
