//! Reading the operator's configuration, by the process that acts on it.
//!
//! Owns which file is believed: one that the operator alone can have written. It must not know what stands in it;
//! that is for whoever started this process to say.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::system::paths::descriptor_path;
use crate::error::{ErrorCode, NodeError};
use crate::permissions::{PermissionsByName, ReadPermissions};

/// Larger than any that a person writes, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;
/// Writing for the group and for all others.
const WRITTEN_BY_OTHERS: u32 = 0o022;
/// In a directory: only the owner of a file may put another one in its place.
const STICKY: u32 = 0o1000;

/// Where the host's process writes.
#[derive(Debug)]
pub(super) struct Reach<'a> {
    pub(super) state_dir: &'a Path,
    /// Directories that are granted for writing.
    pub(super) written: Vec<PathBuf>,
}

/// What the file at `path` allows. Links to it are the operator's, such as those of a volume of Kubernetes.
pub(super) fn read(path: &Path, reach: &Reach<'_>, read: ReadPermissions) -> Result<PermissionsByName, NodeError> {
    let name = path.display().to_string();
    let failed = |error: std::io::Error| NodeError::io(format!("reading {name}"), &error);
    let file = File::open(path).map_err(failed)?;
    let place = std::fs::read_link(descriptor_path(&file)).map_err(failed)?;
    let directory = |path: &Path| path.parent().unwrap_or(Path::new("/")).canonicalize();
    // Where its name stands, and where it is.
    for directory in [directory(path).map_err(failed)?, directory(&place).map_err(failed)?] {
        if let Some(writable) = reach.around(&directory) {
            return Err(doubted(&name, &format!("it lies in {}, where the host writes", writable.display())));
        }
    }
    let stat = file.metadata().map_err(failed)?;
    if !stat.is_file() || stat.len() > LARGEST {
        return Err(doubted(&name, "it is not a file of at most 16 MiB"));
    }
    let above = directory(&place).and_then(std::fs::metadata).map_err(failed)?;
    if let Some(why) = judge(Rights::of(&stat), Rights::of(&above), rustix::process::geteuid().as_raw()) {
        return Err(doubted(&name, why));
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text).map_err(failed)?;
    read(&name, &text).map_err(|mistakes| NodeError::new(ErrorCode::Invalid, mistakes))
}

impl Reach<'_> {
    fn around(&self, directory: &Path) -> Option<&Path> {
        let written = self.written.iter().map(PathBuf::as_path);
        std::iter::once(self.state_dir).chain(written).find(|writable| {
            let resolved = writable.canonicalize();
            directory.starts_with(resolved.as_deref().unwrap_or(writable))
        })
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
    let message = format!("node work is granted by the operator alone, and {name} may be somebody else's words: {why}");
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
