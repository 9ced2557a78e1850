//! Making a file system on a connected disk, and only on one that is empty.
//!
//! Owns what counts as empty. A probe that fails and one that finds nothing end alike, so nothing is probed: the
//! beginning is read, and a disk that cannot be read is not formatted. That a file system is being made is written down before,
//! so one that is cut off is wiped, and not taken for somebody's.

use super::super::engine::Scope;
use super::super::ledger::Entry;
use super::super::protocols::beginning;
use super::super::system::blocks::ensure_unused;
use super::super::system::programs::run_without_rights;
use super::disks;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, EntryKind};

/// How each file system is made, and where it says what it is.
struct Kind {
    name: &'static str,
    program: &'static str,
    options: &'static [&'static str],
    package: &'static str,
    mark: (usize, &'static [u8]),
}

/// Quiet, and without discarding, which some arrays take minutes for. No blocks are kept back for root.
const KINDS: [Kind; 3] = [
    Kind {
        name: "ext4",
        program: "mkfs.ext4",
        options: &["-q", "-F", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"],
        package: "e2fsprogs",
        mark: (0x438, &[0x53, 0xef]),
    },
    Kind { name: "xfs", program: "mkfs.xfs", options: &["-q", "-f", "-K"], package: "xfsprogs", mark: (0, b"XFSB") },
    Kind {
        name: "btrfs",
        program: "mkfs.btrfs",
        options: &["-q", "-f", "-K"],
        package: "btrfs-progs",
        mark: (0x1_0040, b"_BHRfS_M"),
    },
];

/// Makes the file system, unless it is there.
pub(in crate::helper) fn make_file_system(scope: &Scope<'_>, file_system: &str) -> Result<(), NodeError> {
    let kind = KINDS.iter().find(|kind| kind.name == file_system).ok_or_else(|| {
        let message = format!("{file_system} is not a file system that is made here: ext4, xfs, btrfs");
        NodeError::new(ErrorCode::Unsupported, message)
    })?;
    let device = scope.need_device()?;
    check(scope, &device)?;
    disks::expect_live(&device)?;
    match look(&device.path, kind)? {
        Found::Empty => make(scope, device, kind),
        Found::Made => Ok(()),
        Found::Other => {
            let message = format!(
                "the disk of volume {} is not empty, and has no {file_system}: nothing was written to it. If its contents \
                 are worth nothing: wipefs --all /dev/{}",
                scope.volume, device.path
            );
            Err(NodeError::new(ErrorCode::AlreadyExists, message))
        }
    }
}

fn check(scope: &Scope<'_>, device: &Entry) -> Result<(), NodeError> {
    let refused = |code, message: String| Err(NodeError::new(code, message));
    if device.connected.is_none() {
        return refused(
            ErrorCode::Unsupported,
            format!("volume {} has an image: make its file system there", scope.volume),
        );
    }
    if device.access == Access::ReadOnly {
        return refused(ErrorCode::Invalid, format!("volume {} is connected for reading only", scope.volume));
    }
    let shown = |it: &Entry| matches!(it.kind, EntryKind::Mount | EntryKind::Block);
    if let Some(entry) = scope.entries().iter().find(|it| shown(it)) {
        return refused(ErrorCode::Busy, format!("volume {} is in use at {}", scope.volume, entry.path));
    }
    ensure_unused(&device.path)
}

fn make(scope: &Scope<'_>, mut device: Entry, kind: &Kind) -> Result<(), NodeError> {
    note(scope, &mut device, true)?;
    let path = format!("/dev/{}", device.path);
    let _place = scope.heavy();
    let arguments: Vec<&str> = kind.options.iter().copied().chain([path.as_str()]).collect();
    let made = run_without_rights(kind.program, &arguments).and_then(|ended| ended.expect_success(&[0]));
    let made = made.map_err(|error| error.with_packages(kind.package));
    if made.is_err() {
        beginning::wipe(&device.path)?;
    }
    note(scope, &mut device, false)?;
    made
}

fn note(scope: &Scope<'_>, device: &mut Entry, formatting: bool) -> Result<(), NodeError> {
    if let Some(connected) = &mut device.connected {
        connected.formatting = formatting;
    }
    scope.engine.put(device)
}

/// What is at the beginning of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Empty,
    /// The wanted file system.
    Made,
    Other,
}

fn look(device: &str, kind: &Kind) -> Result<Found, NodeError> {
    Ok(judge(&beginning::read(device)?, kind))
}

fn judge(beginning: &[u8], kind: &Kind) -> Found {
    let (at, mark) = kind.mark;
    if !beginning.is_empty() && beginning.iter().all(|byte| *byte == 0) {
        Found::Empty
    } else if beginning.get(at..at + mark.len()) == Some(mark) {
        Found::Made
    } else {
        Found::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zeros_are_empty() {
        let ext4 = KINDS.iter().find(|kind| kind.name == "ext4").unwrap();
        let mut disk = vec![0; 4096];
        assert_eq!(judge(&disk, ext4), Found::Empty);
        assert_eq!(judge(&[], ext4), Found::Other, "nothing was read");
        disk[0x438..0x43a].copy_from_slice(&[0x53, 0xef]);
        assert_eq!(judge(&disk, ext4), Found::Made);
        assert_eq!(judge(&disk, &KINDS[1]), Found::Other, "another file system");
        let mut far = vec![0; 2 << 20];
        *far.last_mut().unwrap() = 1;
        assert_eq!(judge(&far, ext4), Found::Other);
    }
}
