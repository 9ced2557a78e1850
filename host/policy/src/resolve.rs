//! Where a path leads, with its links followed, as far as that can be told without asking a server: one that does not
//! answer must not keep a host from starting for the sake of a directory that its backend may do without.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// As many links does the kernel follow.
const LINKS: usize = 40;
/// Kinds of file systems that are another machine's, or another process's.
const SERVED: [&str; 9] = ["9p", "afs", "ceph", "cifs", "fuse", "gfs2", "lustre", "nfs", "smb"];

/// `path` with its links followed. What lies in a mount of a server, and what is not there, is taken as it is written.
pub fn resolved(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path);
    follow(whole.as_deref().unwrap_or(path), &Mounts::now())
}

fn follow(path: &Path, mounts: &Mounts) -> PathBuf {
    let (mut at, mut ahead, mut links) = (PathBuf::from("/"), parts(path), 0);
    while let Some(part) = ahead.pop_front() {
        if part == ".." {
            at.pop();
            continue;
        }
        let here = at.join(&part);
        if mounts.is_served(&here) {
            return ahead.iter().fold(here, |path, part| path.join(part));
        }
        match std::fs::read_link(&here) {
            Ok(target) if links < LINKS => {
                links += 1;
                parts(&target).into_iter().rev().for_each(|part| ahead.push_front(part));
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
            }
            _ => at = here,
        }
    }
    at
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |component: Component<'_>| match component {
        Component::Normal(part) => Some(part.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).collect()
}

/// Whether a server is behind each mount, by where it is mounted.
#[derive(Debug, Default)]
struct Mounts(HashMap<PathBuf, bool>);

impl Mounts {
    /// Those of this process. Where there is no list, none is known to be a server's.
    fn now() -> Self {
        Self::of(&std::fs::read("/proc/self/mountinfo").unwrap_or_default())
    }

    /// From the kernel's list. Of two at one place the later one is seen.
    fn of(list: &[u8]) -> Self {
        Self(list.split(|byte| *byte == b'\n').filter_map(mount).collect())
    }

    fn is_served(&self, path: &Path) -> bool {
        self.0.get(path).copied().unwrap_or_default()
    }
}

fn mount(line: &[u8]) -> Option<(PathBuf, bool)> {
    let mut words = line.split(|byte| *byte == b' ');
    let point = words.nth(4)?;
    let kind = words.skip_while(|word| *word != b"-").nth(1)?;
    let served = SERVED.iter().any(|served| kind.starts_with(served.as_bytes()));
    Some((PathBuf::from(OsString::from_vec(plain(point))), served))
}

/// The kernel writes white space and backslashes in octal.
fn plain(mut text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    while let Some((first, rest)) = text.split_first() {
        let code = rest.get(..3).filter(|_| *first == b'\\').map(OsStr::from_bytes).and_then(OsStr::to_str);
        if let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            plain.push(byte);
            text = rest.get(3..).unwrap_or_default();
        } else {
            plain.push(*first);
            text = rest;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_but_for_those_behind_a_server() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("there/below")).unwrap();
        symlink("there", root.join("relative")).unwrap();
        symlink(root.join("relative/below"), root.join("absolute")).unwrap();
        symlink("endless", root.join("endless")).unwrap();
        std::fs::create_dir(root.join("served")).unwrap();
        symlink("../there", root.join("served/link")).unwrap();
        let line = format!("1 2 0:3 / {}/served rw - nfs4 server:/ rw\n", root.display());
        let mounts = Mounts::of(line.as_bytes());
        for (path, leads_to) in [
            ("relative", "there"),
            ("absolute/gone", "there/below/gone"),
            ("relative/../relative/below", "there/below"),
            ("endless", "endless"),
            ("served/link/x", "served/link/x"),
        ] {
            assert_eq!(follow(&root.join(path), &mounts), root.join(leads_to), "{path}");
        }
        assert_eq!(follow(&root.join("served/link"), &Mounts::default()), root.join("there"));
    }

    #[test]
    fn the_kernels_list_is_read() {
        let list = br"10 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
11 10 0:9 / /a\040b\134c rw - fuse.sshfs me@there: rw
12 10 0:9 / /over rw - nfs there:/ rw
13 10 0:9 / /over rw - tmpfs none rw
broken
";
        let mounts = Mounts::of(list);
        assert!(mounts.is_served(Path::new(r"/a b\c")));
        assert!(!mounts.is_served(Path::new("/")) && !mounts.is_served(Path::new("/over")));
    }
}
