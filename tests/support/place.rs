//! A place on this machine for volumes: a pool on a file system of its own, directories for pods, and
//! what is left there. It cleans up whatever happens, and looks only below its own directory: mounts
//! and loop devices of others are none of its business. Why real file systems: what a pool can do
//! (sharing blocks, telling its extents) is theirs.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// The file system that a pool stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolKind {
    Xfs,
    Btrfs,
    /// Cannot share blocks: everything is copied.
    Ext4,
}

impl PoolKind {
    /// Whether files can share blocks in it.
    pub fn shares_blocks(self) -> bool {
        self != Self::Ext4
    }

    fn mkfs(self) -> &'static str {
        match self {
            Self::Xfs => "mkfs.xfs",
            Self::Btrfs => "mkfs.btrfs",
            Self::Ext4 => "mkfs.ext4",
        }
    }
}

/// Large enough for what tests write; the file behind it is sparse.
const POOL_BYTES: u64 = 6 << 30;

/// A mounted pool and room for pods.
#[derive(Debug)]
pub struct Place {
    directory: TempDir,
}

impl Place {
    /// None: this process may not mount, which is said aloud. With root everything must work.
    pub fn make(kind: PoolKind) -> Option<Self> {
        if !may_mount() {
            return None;
        }
        let place = Self { directory: tempfile::tempdir().expect("a directory can be made") };
        let image = place.path("pool.img");
        std::fs::File::create(&image).and_then(|file| file.set_len(POOL_BYTES)).unwrap();
        std::fs::create_dir(place.pool()).unwrap();
        std::fs::create_dir(place.path("pods")).unwrap();
        run(Command::new(kind.mkfs()).arg("-q").arg(&image));
        run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(place.pool()));
        Some(place)
    }

    /// A path directly below the place's directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where the pool is mounted.
    pub fn pool(&self) -> PathBuf {
        self.path("pool")
    }

    /// The room of a pod, made as the client of a node makes it.
    pub fn pod(&self, name: &str) -> PathBuf {
        let pod = self.path("pods").join(name);
        std::fs::create_dir_all(pod.join("staging")).unwrap();
        pod
    }

    /// The image of a volume or snapshot in the pool.
    pub fn image(&self, section: &str, id: &str) -> PathBuf {
        let buckets = std::fs::read_dir(self.pool().join(section)).unwrap().map(|entry| entry.unwrap().path());
        let mut images = buckets.map(|bucket| bucket.join(id).join("image")).filter(|image| image.exists());
        images.next().unwrap_or_else(|| panic!("{section}/{id} has no image"))
    }

    /// What stands in the pool beyond the pool's own files and empty folders: objects with all that
    /// belongs to them, names, and whatever was forgotten.
    pub fn in_pool(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut folders = vec![self.pool()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let entry = entry.unwrap();
                let path = entry.path();
                let name = path.strip_prefix(self.pool()).unwrap().to_str().unwrap().to_owned();
                let is_directory = entry.file_type().unwrap().is_dir();
                let is_object = is_directory && name.matches('/').count() == 2 && !name.starts_with("names/");
                if is_directory {
                    folders.push(path);
                }
                if is_object || (!is_directory && name != "pool.json" && name != "writer.json") {
                    found.insert(name);
                }
            }
        }
        found
    }

    /// Mount points below this place, the pool's own left out, oldest first.
    pub fn mounts(&self) -> Vec<PathBuf> {
        let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let points = table.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
        points.filter(|point| point.starts_with(self.directory.path()) && *point != self.pool()).collect()
    }

    /// Loop devices on files in the pool, by name.
    pub fn devices(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for device in std::fs::read_dir("/sys/block").unwrap() {
            let device = device.unwrap();
            let backing = std::fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
            if Path::new(backing.trim_end()).starts_with(self.pool()) {
                found.insert(device.file_name().to_str().unwrap().to_owned());
            }
        }
        found
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Newest first. What fails is of no use any more: the mount table shows it.
        for point in self.mounts().iter().rev() {
            let _ = Command::new("fsfreeze").arg("-u").arg(point).stderr(std::process::Stdio::null()).status();
            let _ = Command::new("umount").arg("-l").arg(point).status();
        }
        for device in self.devices() {
            let _ = Command::new("losetup").arg("-d").arg(format!("/dev/{device}")).status();
        }
        let _ = Command::new("umount").arg("-l").arg(self.pool()).status();
    }
}

/// Whether this process may mount. Its absence is said aloud; with root in CI it is a failure.
pub fn may_mount() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    if !rustix::process::geteuid().is_root() {
        // Past the test harness, which keeps what a passing test prints to itself.
        let _ = writeln!(std::io::stderr(), "skipped: volumes are mounted, which needs root");
        return false;
    }
    let able = capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN));
    if able && Path::new("/dev/loop-control").exists() {
        return true;
    }
    let words = "root cannot mount here: no CAP_SYS_ADMIN, or no /dev/loop-control";
    assert!(std::env::var("CI").is_err(), "{words}, and with CI=true it must");
    let _ = writeln!(std::io::stderr(), "skipped: {words}");
    false
}

/// Runs a program that must succeed; gives what it printed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {words}");
    String::from_utf8(output.stdout).unwrap()
}
