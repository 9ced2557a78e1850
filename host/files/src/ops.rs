//! Single operations on files: sharing blocks, setting blocks aside, giving them back, syncing.
//!
//! Each is one system call and what makes it whole: checks before it, and afterwards the disk. None
//! of them may leave a half-made target behind, because callers repeat what they saw fail.

use super::{
    directories::{Access, Directories},
    error::{FileError, FileErrorCode, shown},
    extents::Extent,
    fiemap::unmapped_bytes,
    place::{Intent, Place, open_beneath, size_of, stat},
};
use rustix::{
    fs::{FallocateFlags, Mode, OFlags},
    io::Errno,
};
use std::fs::File;

/// The unit in which the system counts the blocks of a file, whatever the file system's own is.
const STAT_BLOCK: u64 = 512;
/// How much is written at once where holes cannot be made.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// The length of a file and what it takes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// The length in bytes.
    pub size_bytes: u64,
    /// The bytes of the blocks that it has, shared ones too.
    pub allocated_bytes: u64,
}

/// Makes `target` a file of its own that shares all blocks of `source`.
///
/// It is made without a name, written to disk and then named, so that neither a crash nor a full
/// disk leaves anything of it, and an existing target is never touched.
pub(super) fn reflink(directories: &Directories, source: &str, target: &str) -> Result<(), FileError> {
    let place = directories.place(target, Access::ReadWrite)?;
    let source_file = directories.open(source, Intent::Read)?;
    if place.exists()? {
        return Err(FileError::at(FileErrorCode::AlreadyExists, place.guest(), "exists"));
    }
    let made = unnamed(&place)?;
    rustix::fs::ioctl_ficlone(&made, &source_file).map_err(|e| refusal_of_sharing(e, source, place.guest()))?;
    rustix::fs::fsync(&made).map_err(|e| FileError::system(e, "sync", place.guest()))?;
    place.link(&made)
}

/// A new file without a name in the directory of `place`.
fn unnamed(place: &Place) -> Result<File, FileError> {
    let flags = OFlags::RDWR | OFlags::TMPFILE;
    open_beneath(place.directory(), ".", flags, Mode::RUSR | Mode::WUSR).map(File::from).map_err(|e| match e {
        // Some file systems know no files without a name; those share no blocks either.
        Errno::OPNOTSUPP | Errno::ISDIR => refusal_of_sharing(Errno::OPNOTSUPP, place.guest(), place.guest()),
        other => FileError::system(other, "make a file beside", place.guest()),
    })
}

fn refusal_of_sharing(errno: Errno, source: &str, target: &str) -> FileError {
    match errno {
        Errno::OPNOTSUPP | Errno::XDEV | Errno::INVAL | Errno::NOTTY | Errno::NOSYS => {
            let words = format!("this file system cannot share its blocks with {}", shown(target));
            FileError::at(FileErrorCode::Unsupported, source, &words)
        }
        other => FileError::system(other, "share the blocks of", source),
    }
}

/// Sets aside blocks for a range within the file, which does not grow. Where blocks are shared, the
/// file gets its own (XFS). On Btrfs it holds for the first write to each block only, because that
/// file system writes everything elsewhere afterwards.
pub(super) fn reserve(file: &File, path: &str, range: Extent) -> Result<(), FileError> {
    range.check(size_of(file, path)?, path)?;
    check_room(file, path, range)?;
    let keep = FallocateFlags::KEEP_SIZE;
    match allocate(file, keep | FallocateFlags::UNSHARE_RANGE, range) {
        Err(Errno::OPNOTSUPP | Errno::INVAL) => allocate(file, keep, range),
        other => other,
    }
    .map_err(|e| FileError::system(e, "set blocks aside for", path))
}

/// A file system fills up before it says that a range is too long, and taking back what it gave
/// could hit what was written meanwhile; so the room is checked first.
fn check_room(file: &File, path: &str, range: Extent) -> Result<(), FileError> {
    let Some(needed) = unmapped_bytes(file, range) else {
        return Ok(());
    };
    let space = rustix::fs::fstatvfs(file).map_err(|e| FileError::system(e, "ask for the space of", path))?;
    let available = space.f_bavail.saturating_mul(space.f_frsize);
    if needed > available {
        let words = format!("{needed} bytes to set aside, {available} available");
        return Err(FileError::at(FileErrorCode::NoSpace, path, &words));
    }
    Ok(())
}

/// Gives the blocks of a range within the file back; it reads as zeros afterwards.
pub(super) fn punch(file: &File, path: &str, range: Extent) -> Result<(), FileError> {
    range.check(size_of(file, path)?, path)?;
    allocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, range)
        .map_err(|e| FileError::system(e, "give back blocks of", path))
}

/// Makes a range read as zeros: by giving its blocks back, or by writing where that is not known.
pub(super) fn clear(file: &File, path: &str, range: Extent) -> Result<(), FileError> {
    match punch(file, path, range) {
        Err(e) if e.code == FileErrorCode::Unsupported => write_zeros(file, path, range),
        other => other,
    }
}

/// Writes zeros over a range, keeping its blocks.
pub(super) fn write_zeros(file: &File, path: &str, range: Extent) -> Result<(), FileError> {
    let mut at = range.offset;
    while at < range.end() {
        let left = usize::try_from(range.end() - at).unwrap_or(usize::MAX);
        let bytes = ZEROS.get(..left).unwrap_or(&ZEROS);
        std::os::unix::fs::FileExt::write_all_at(file, bytes, at).map_err(|e| FileError::io(&e, "write", path))?;
        at += u64::try_from(bytes.len()).unwrap_or_default();
    }
    Ok(())
}

fn allocate(file: &File, mode: FallocateFlags, range: Extent) -> rustix::io::Result<()> {
    rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, mode, range.offset, range.length))
}

/// The length of a file and what it takes up.
pub(super) fn allocation(file: &File, path: &str) -> Result<Allocation, FileError> {
    let stat = stat(file, path)?;
    Ok(Allocation {
        size_bytes: u64::try_from(stat.st_size).unwrap_or_default(),
        allocated_bytes: u64::try_from(stat.st_blocks).unwrap_or_default().saturating_mul(STAT_BLOCK),
    })
}

/// Writes a file or directory, and the entry that names it, to disk.
pub(super) fn sync(directories: &Directories, path: &str) -> Result<(), FileError> {
    let resolved = directories.resolve(path, Access::ReadOnly)?;
    if let Ok(directory) = resolved.open_directory() {
        rustix::fs::fsync(&directory).map_err(|e| FileError::system(e, "sync", &resolved.guest))?;
        // The entry that names the granted directory itself is not the component's.
        return if resolved.names.is_empty() {
            Ok(())
        } else {
            Place::new(&resolved.grant, &resolved.names)?.sync_directory()
        };
    }
    let place = directories.place(path, Access::ReadOnly)?;
    let file = place.open(Intent::Read)?;
    rustix::fs::fsync(&file).map_err(|e| FileError::system(e, "sync", place.guest()))?;
    place.sync_directory()
}
