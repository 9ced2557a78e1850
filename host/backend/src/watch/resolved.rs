//! Which directories tell of a file: its own, and those of all links on the way to it. Follows the way as
//! the kernel does; reads links and nothing else.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As many links does the kernel follow.
const LINKS: usize = 40;

/// The way to a file, link by link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ResolvedPath {
    /// Where something can happen to it.
    pub directories: BTreeSet<PathBuf>,
    /// To whom: every link, and the file itself or whatever is missing.
    pub names: BTreeSet<PathBuf>,
}

impl ResolvedPath {
    /// Follows an absolute path.
    pub(super) fn to(path: &Path) -> Self {
        let mut resolved = Self::default();
        let mut at = PathBuf::from("/");
        let mut ahead: VecDeque<OsString> = parts(path);
        let mut links = 0;
        while let Some(part) = ahead.pop_front() {
            if part == ".." {
                at.pop();
                continue;
            }
            let here = at.join(&part);
            match std::fs::read_link(&here) {
                Ok(target) if links < LINKS => {
                    links += 1;
                    resolved.passes(&at, here);
                    for part in parts(&target).into_iter().rev() {
                        ahead.push_front(part);
                    }
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                }
                // No link: a directory on the way, the file, or nothing.
                _ if ahead.is_empty() || !here.is_dir() => {
                    resolved.passes(&at, here);
                    break;
                }
                _ => at = here,
            }
        }
        resolved
    }

    fn passes(&mut self, directory: &Path, name: PathBuf) {
        self.directories.insert(directory.to_owned());
        self.names.insert(name);
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_on_the_way_is_watched() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (volume, version) = (root.join("volume"), root.join("volume/..2026_a"));
        std::fs::create_dir_all(&version).unwrap();
        std::fs::write(version.join("b.wasm"), "x").unwrap();
        symlink("..2026_a", volume.join("..data")).unwrap();
        symlink("..data/b.wasm", volume.join("b.wasm")).unwrap();
        symlink(volume.join("b.wasm"), root.join("link.wasm")).unwrap();
        let resolved = ResolvedPath::to(&root.join("link.wasm"));
        assert_eq!(resolved.directories, [root.clone(), volume.clone(), version.clone()].into());
        let names = [root.join("link.wasm"), volume.join("b.wasm"), volume.join("..data"), version.join("b.wasm")];
        assert_eq!(resolved.names, names.into());
    }

    #[test]
    fn what_is_missing_is_awaited_where_it_would_be() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let resolved = ResolvedPath::to(&root.join("absent/b.wasm"));
        assert_eq!((resolved.directories, resolved.names), ([root.clone()].into(), [root.join("absent")].into()));
        symlink("loop", root.join("loop")).unwrap();
        assert!(ResolvedPath::to(&root.join("loop")).directories.contains(&root), "a link to itself ends");
    }
}
