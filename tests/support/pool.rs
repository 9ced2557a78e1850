//! A pool for the reference backend, in a directory of its own with places to stage and publish at:
//! plain, or a file system in an image that can be frozen, filled and taken away. Whatever happened,
//! nothing is left mounted or attached when it is dropped. Its host must be dropped first.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// Whether this test can mount. Its absence is said aloud, past the harness, which keeps what a
/// passing test prints to itself.
pub fn is_root(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        let _ = writeln!(std::io::stderr(), "skipped: {test} needs root, because it mounts");
    }
    root
}

/// A directory that holds a pool.
#[derive(Debug)]
pub struct Pool {
    directory: TempDir,
}

impl Pool {
    /// A directory on whatever file system temporary files are on.
    pub fn plain() -> Self {
        let pool = Self { directory: tempfile::Builder::new().prefix("drivebay-it.").tempdir().unwrap() };
        std::fs::create_dir(pool.path()).unwrap();
        pool
    }

    /// A file system of its own. Needs root.
    pub fn on(file_system: &str, mebibytes: u64) -> Self {
        let pool = Self::plain();
        File::create(pool.image()).unwrap().set_len(mebibytes * MIB).unwrap();
        run(&format!("mkfs.{file_system}"), &["-q", pool.image().to_str().unwrap()]);
        pool.mount();
        pool
    }

    /// The pool itself.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("pool")
    }

    /// A place outside the pool, as text.
    pub fn place(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    /// Such a place that exists as a directory.
    pub fn made(&self, name: &str) -> String {
        std::fs::create_dir_all(self.place(name)).unwrap();
        self.place(name)
    }

    fn image(&self) -> PathBuf {
        self.directory.path().join("pool.img")
    }

    /// Mounts the pool's file system, as at the start.
    pub fn mount(&self) {
        run("mount", &["-o", "loop", self.image().to_str().unwrap(), self.path().to_str().unwrap()]);
    }

    /// Takes the pool's file system away, as an operator does.
    pub fn unmount(&self) {
        run("umount", &[self.path().to_str().unwrap()]);
    }

    /// From now on every change in the pool waits.
    pub fn freeze(&self) {
        run("fsfreeze", &["-f", self.path().to_str().unwrap()]);
    }

    /// Lets them go on.
    pub fn thaw(&self) {
        run("fsfreeze", &["-u", self.path().to_str().unwrap()]);
    }

    /// Everything in the pool by its path, with what would change if it were written. What probes
    /// make and remove is left out.
    pub fn contents(&self) -> BTreeMap<PathBuf, (u64, u64, i64, i64)> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.path()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
                if entry.file_name().to_string_lossy().starts_with("probe-") {
                    continue;
                }
                let (path, meta) = (entry.path(), entry.metadata().unwrap());
                if meta.is_dir() {
                    folders.push(path.clone());
                }
                found.insert(path, (meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()));
            }
        }
        found
    }

    /// What is mounted beneath the directory, the last one first.
    pub fn mounts(&self) -> Vec<String> {
        let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mut places: Vec<_> = text.lines().filter_map(|line| line.split(' ').nth(4)).map(str::to_owned).collect();
        places.retain(|place| Path::new(place).starts_with(self.directory.path()));
        places.reverse();
        places
    }

    /// The loop devices over images beneath the directory.
    pub fn loops(&self) -> Vec<String> {
        let mut names = Vec::new();
        for device in std::fs::read_dir("/sys/block").unwrap().map(|device| device.unwrap().path()) {
            let backing = std::fs::read_to_string(device.join("loop/backing_file")).unwrap_or_default();
            if Path::new(backing.trim_end()).starts_with(self.directory.path()) {
                names.push(format!("/dev/{}", device.file_name().unwrap().to_str().unwrap()));
            }
        }
        names
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Each may fail: most is not there any more, and what is left after all is in a directory
        // whose name tells where it is from.
        let quietly = |program: &str, arguments: &[&str]| {
            let _ = Command::new(program).args(arguments).output();
        };
        let unmount = |place: &String| quietly("umount", &["-l", place]);
        let (pool, rest): (Vec<_>, Vec<_>) =
            self.mounts().into_iter().partition(|place| Path::new(place) == self.path());
        if !pool.is_empty() {
            quietly("fsfreeze", &["-u", self.path().to_str().unwrap_or_default()]);
        }
        rest.iter().for_each(unmount);
        // Images in the pool first: without its mount nobody knows any more whose they are.
        for _ in 0..2 {
            self.loops().iter().for_each(|device| quietly("losetup", &["-d", device]));
            pool.iter().for_each(unmount);
        }
    }
}

/// Runs a program that must succeed; gives what it printed.
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
