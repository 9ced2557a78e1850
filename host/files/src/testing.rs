//! What the tests of this module share: pools on real file systems, and files with given contents.
//!
//! A pool on a file system that has to be mounted needs root; without it the test says that it was
//! skipped and does not count as having shown anything.

use super::{Directories, DirectoryGrant, Files, JobLimits, Jobs, Programs, View, descriptors::OpenFiles};
use std::{
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// A directory granted as `/pool`, on a file system of its own or wherever temporary files are.
pub(crate) struct Pool {
    mounted: bool,
    host: PathBuf,
    _directory: TempDir,
}

impl Pool {
    /// Where temporary files are.
    pub(crate) fn plain() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { mounted: false, host: directory.path().to_owned(), _directory: directory }
    }

    /// On a new file system of `mib` MiB; none, and a word about it, where that cannot be mounted.
    pub(crate) fn on(kind: &str, mib: u64) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let (image, host) = (directory.path().join("image"), directory.path().join("mounted"));
        std::fs::create_dir(&host).unwrap();
        let mounted = if kind == "tmpfs" {
            run("mount", &["-t", "tmpfs", "-o", &format!("size={mib}m"), "pool", text(&host)])
        } else {
            std::fs::File::create(&image).unwrap().set_len(mib << 20).unwrap();
            let force = if kind == "ext4" { "-F" } else { "-f" };
            run(&format!("mkfs.{kind}"), &["-q", force, text(&image)])
                && run("mount", &["-o", "loop", text(&image), text(&host)])
        };
        if !mounted {
            skip(&format!("no pool on {kind} can be mounted here (root?)"));
            return None;
        }
        Some(Self { mounted, host, _directory: directory })
    }

    pub(crate) fn host(&self, name: &str) -> PathBuf {
        self.host.join(name)
    }

    pub(crate) fn directories(&self) -> Directories {
        let grant = DirectoryGrant { host: self.host.clone(), guest: "/pool".into(), write: true };
        Directories::new(&[grant]).unwrap()
    }

    pub(crate) fn files(&self) -> Files {
        self.files_with(JobLimits::default(), Programs::system())
    }

    pub(crate) fn files_with(&self, limits: JobLimits, programs: Programs) -> Files {
        Files::new(self.directories(), Jobs::new("test", limits, programs), OpenFiles::new(64), View::Full)
    }

    /// The names in the pool, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.host).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != "lost+found");
        names.sort();
        names
    }

    /// The names that jobs left in the pool.
    pub(crate) fn left(&self) -> Vec<String> {
        self.names().into_iter().filter(|name| name.starts_with(".drivebay-")).collect()
    }

    /// Makes a file of `size` bytes with these pieces written, and writes it to disk.
    pub(crate) fn write(&self, name: &str, size: u64, pieces: &[(u64, &[u8])]) {
        let file = std::fs::File::create(self.host(name)).unwrap();
        file.set_len(size).unwrap();
        for (offset, bytes) in pieces {
            file.write_all_at(bytes, *offset).unwrap();
        }
        file.sync_all().unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.host(name)).unwrap()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.mounted {
            run("umount", &["-l", text(&self.host)]);
        }
    }
}

/// Bytes that are not zeros and do not repeat.
pub(crate) fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes: Vec<u8> = std::iter::repeat_with(&mut next).take(length.div_ceil(8)).flatten().collect();
    bytes.truncate(length);
    bytes
}

#[allow(clippy::print_stderr, reason = "a test that shows nothing has to say so")]
pub(crate) fn skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}

pub(crate) fn run(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
