//! The watcher with real files on real file systems: whatever is done to a file, the newest whole content is
//! what is told last, and no other content than a whole one is ever told.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use drivebay_backend::digest_of;
use drivebay_backend::watch::Watch;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::support::PATIENCE;
use crate::support::place::{may_mount, run};
use crate::support::shelf::replace;

const SEQUENCES: u64 = 200;
/// So many at once: most of a sequence is waiting.
const AT_ONCE: usize = 15;

/// A mounted file system.
struct Mounted {
    directory: TempDir,
    below: Option<Box<Mounted>>,
}

impl Mounted {
    fn new(arguments: &[&str], below: Option<Box<Self>>) -> Self {
        let mounted = Self { directory: tempfile::tempdir().unwrap(), below };
        run(Command::new("mount").args(arguments).arg(mounted.path()));
        mounted
    }

    fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    fn tmpfs() -> Self {
        Self::new(&["-t", "tmpfs", "tmpfs"], None)
    }

    fn ext4() -> Self {
        let below = Self::tmpfs();
        let image = below.path().join("image");
        std::fs::File::create(&image).and_then(|file| file.set_len(64 << 20)).unwrap();
        run(Command::new("mkfs.ext4").arg("-q").arg(&image));
        let image = image.to_str().unwrap().to_owned();
        Self::new(&["-o", "loop", &image], Some(Box::new(below)))
    }

    fn overlay() -> Self {
        let below = Self::tmpfs();
        for name in ["lower", "upper", "work"] {
            std::fs::create_dir(below.path().join(name)).unwrap();
        }
        let at = below.path().display().to_string();
        let options = format!("lowerdir={at}/lower,upperdir={at}/upper,workdir={at}/work");
        Self::new(&["-t", "overlay", "-o", &options, "overlay"], Some(Box::new(below)))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily: a process that still has a file open loses it with the test.
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
        let _ = self.below.take();
    }
}

/// Numbers that are the same in every run.
struct Choices(u64);

impl Choices {
    fn below(&mut self, end: u64) -> u64 {
        // Knuth's constants; the upper bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A file that somebody works on.
struct Scene {
    choices: Choices,
    directory: PathBuf,
    version: u64,
    whole: BTreeSet<String>,
}

impl Scene {
    fn file(&self) -> PathBuf {
        self.directory.join("backend.wasm")
    }

    fn content(&mut self) -> Vec<u8> {
        self.version += 1;
        let line = format!("{} version {}\n", self.directory.display(), self.version);
        let bytes = line.repeat(50 + usize::try_from(self.version).unwrap()).into_bytes();
        self.whole.insert(digest_of(&bytes));
        bytes
    }

    async fn write_in_pieces(&mut self, path: &Path) -> String {
        let bytes = self.content();
        let mut file = std::fs::File::create(path).unwrap();
        for piece in bytes.chunks(bytes.len() / 3 + 1) {
            file.write_all(piece).unwrap();
            // A slow writer: longer than a closed file must rest, and still no half of it may be taken.
            tokio::time::sleep(Duration::from_millis(self.choices.below(120))).await;
        }
        digest_of(&bytes)
    }

    /// Does something to the file; gives the digest of what is there then.
    async fn deed(&mut self) -> String {
        let file = self.file();
        match self.choices.below(6) {
            0 => self.write_in_pieces(&file).await,
            1 => {
                let bytes = self.content();
                replace(&file, &bytes);
                digest_of(&bytes)
            }
            2 => {
                // An editor that keeps what was there before.
                let _ = std::fs::rename(&file, self.directory.join("backend.wasm~"));
                self.write_in_pieces(&file).await
            }
            3 => {
                let _ = std::fs::remove_file(&file);
                self.write_in_pieces(&file).await
            }
            4 => {
                // A tool that keeps times, so that only the change of the attributes is new.
                let part = self.directory.join(".backend.wasm.part");
                let digest = self.write_in_pieces(&part).await;
                let old = std::fs::metadata(&file).and_then(|meta| meta.modified()).unwrap();
                std::fs::File::open(&part).unwrap().set_modified(old).unwrap();
                std::fs::rename(part, file).unwrap();
                digest
            }
            _ => self.swap_volume(),
        }
    }

    /// As Kubernetes mounts it: a link to a file through a link that is replaced.
    fn swap_volume(&mut self) -> String {
        use std::os::unix::fs::symlink;
        let bytes = self.content();
        let name = format!("..{}", self.version);
        std::fs::create_dir(self.directory.join(&name)).unwrap();
        std::fs::write(self.directory.join(&name).join("backend.wasm"), &bytes).unwrap();
        let fresh = self.directory.join("..data_tmp");
        symlink(&name, &fresh).unwrap();
        std::fs::rename(&fresh, self.directory.join("..data")).unwrap();
        if !self.file().is_symlink() {
            let _ = std::fs::remove_file(self.file());
            symlink("..data/backend.wasm", self.file()).unwrap();
        }
        digest_of(&bytes)
    }
}

async fn sequence(root: PathBuf, seed: u64) {
    let directory = root.join(seed.to_string());
    std::fs::create_dir(&directory).unwrap();
    let mut scene = Scene { choices: Choices(seed), directory, version: 0, whole: BTreeSet::new() };
    let first = scene.content();
    std::fs::write(scene.file(), &first).unwrap();
    let (tell, mut told) = mpsc::unbounded_channel();
    let _watch = Watch::start(&scene.file(), move |digest| drop(tell.send(digest)));
    let mut last = digest_of(&first);
    for _ in 0..=scene.choices.below(4) {
        last = scene.deed().await;
        tokio::time::sleep(Duration::from_millis(scene.choices.below(100))).await;
    }
    let is_found = async {
        while let Some(digest) = told.recv().await {
            assert!(scene.whole.contains(&digest), "sequence {seed}: no whole content was ever like this");
            if digest == last {
                return;
            }
        }
    };
    let found = tokio::time::timeout(PATIENCE, is_found).await;
    assert!(found.is_ok(), "sequence {seed}: the newest content was not told");
    assert!(told.try_recv().is_err(), "sequence {seed}: and nothing after it");
}

async fn sequences_on(make: impl FnOnce() -> Mounted) {
    if !may_mount() {
        return;
    }
    let mounted = make();
    let mut running = JoinSet::new();
    for seed in 0..SEQUENCES {
        if running.len() == AT_ONCE {
            running.join_next().await.unwrap().unwrap();
        }
        running.spawn(sequence(mounted.path(), seed));
    }
    running.join_all().await;
}

#[tokio::test]
async fn on_tmpfs() {
    sequences_on(Mounted::tmpfs).await;
}

#[tokio::test]
async fn on_ext4() {
    sequences_on(Mounted::ext4).await;
}

#[tokio::test]
async fn on_overlayfs() {
    sequences_on(Mounted::overlay).await;
}
