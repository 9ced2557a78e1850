//! The way to a path, link by link as the kernel follows it, and what stands at its end.
//!
//! Owns the looking at the machine's files; it opens none.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

/// As many links does the kernel follow.
const LINKS: usize = 40;

/// What tells a file or directory from another one that took its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) mount: u64,
    pub(super) device: (u32, u32),
    pub(super) inode: u64,
    pub(super) is_directory: bool,
    pub(super) is_device: bool,
}

/// A link on the way to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) path: PathBuf,
    pub(super) target: PathBuf,
    /// It stands for the whole rest of the way.
    pub(super) is_last: bool,
}

/// The way to a path, as the kernel follows it.
#[derive(Debug, Clone, Default)]
pub(super) struct ResolvedPath {
    pub(super) links: Vec<Link>,
    /// Where it leads, without links; none: it ends before.
    pub(super) end: Option<(PathBuf, Source)>,
    /// The directory in which only the last name is missing.
    pub(super) missing_in: Option<PathBuf>,
}

impl ResolvedPath {
    pub(super) fn of(path: &Path) -> Self {
        let mut resolved = Self::default();
        let mut at = PathBuf::from("/");
        let mut ahead = parts(path);
        while let Some(part) = ahead.pop_front() {
            if part == ".." {
                at.pop();
                continue;
            }
            let here = at.join(&part);
            match fs::read_link(&here) {
                Ok(target) if resolved.links.len() < LINKS => {
                    let is_last = ahead.is_empty();
                    for part in parts(&target).into_iter().rev() {
                        ahead.push_front(part);
                    }
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    resolved.links.push(Link { path: here, target, is_last });
                }
                Ok(_endless) => return resolved,
                Err(_no_link) if look(&here).is_some() => at = here,
                Err(_nothing) => {
                    resolved.missing_in = ahead.is_empty().then_some(at);
                    return resolved;
                }
            }
        }
        resolved.end = look(&at).map(|source| (at, source));
        resolved
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |component: Component<'_>| match component {
        Component::Normal(part) => Some(part.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).collect()
}

/// What is at a path, from what is known of it on this machine: no server is asked.
pub(super) fn look(path: &Path) -> Option<Source> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let seen = statx(CWD, path, flags, StatxFlags::TYPE | StatxFlags::INO | StatxFlags::MNT_ID).ok()?;
    let kind = FileType::from_raw_mode(seen.stx_mode.into());
    Some(Source {
        mount: seen.stx_mnt_id,
        device: (seen.stx_dev_major, seen.stx_dev_minor),
        inode: seen.stx_ino,
        is_directory: kind == FileType::Directory,
        is_device: matches!(kind, FileType::CharacterDevice | FileType::BlockDevice),
    })
}
