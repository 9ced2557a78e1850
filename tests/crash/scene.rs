//! Where crashes are played: a tapped host with volumes in use, and beside them things of others: a
//! mount, a loop device and files in the pool. It knows what stands at any moment and what the node's
//! ledger says of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::PATIENCE;
use crate::support::place::{PoolKind, run};
use crate::support::site::{Content, Site, Volume};
use crate::support::tap::Tap;

/// What a workload has written into every volume in use.
const WRITTEN: &[u8] = b"written before the crash";

/// What strangers have in the pool.
const STRANGE: [&str; 2] = ["strange.img", "strange.txt"];

#[derive(Debug)]
pub struct Scene {
    pub site: Site,
    pub tap: Tap,
    /// Volumes that are published and hold `WRITTEN`.
    pub used: Vec<Volume>,
    strange_device: String,
}

/// Everything that a crash could leave or take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub volumes: BTreeSet<String>,
    pub snapshots: BTreeSet<String>,
    pub in_pool: BTreeSet<String>,
    /// With repetitions: one path may be mounted over twice.
    pub mounts: Vec<PathBuf>,
    pub devices: BTreeSet<String>,
}

impl Scene {
    /// None: nothing can be mounted here, which is said aloud.
    pub async fn set(pool: PoolKind) -> Option<Self> {
        let (site, tap) = Site::tapped(pool).await?;
        let strange_mount = site.place.pod("strange").join("staging");
        run(Command::new("mount").args(["-t", "tmpfs", "strange"]).arg(&strange_mount));
        std::fs::write(strange_mount.join("file"), "strange").unwrap();
        for name in STRANGE {
            std::fs::write(site.place.pool().join(name), vec![b's'; 65_536]).unwrap();
        }
        let image = site.place.pool().join(STRANGE[0]);
        let device = run(Command::new("losetup").args(["--find", "--show"]).arg(image));
        let strange_device = device.trim().strip_prefix("/dev/").unwrap().to_owned();
        Some(Self { site, tap, used: Vec::new(), strange_device })
    }

    /// Adds a volume in use.
    pub async fn use_volume(&mut self, name: &str, content: Content) -> Volume {
        let volume = self.site.create(name, content, None).await.unwrap();
        self.site.mount(&volume).await.unwrap();
        self.fill(&volume);
        self.used.push(volume.clone());
        volume
    }

    /// Writes into a published volume what `check_used` expects.
    pub fn fill(&self, volume: &Volume) {
        let path = self.file(volume);
        let file = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, WRITTEN, 0).unwrap();
        file.sync_all().unwrap();
    }

    /// The volumes in use hold what they held, and can be written to: none is frozen.
    pub async fn check_used(&self) {
        for volume in &self.used {
            let path = self.file(volume);
            let found = std::fs::read(&path).unwrap();
            assert!(found.starts_with(WRITTEN), "{} has lost what was written to it", volume.name);
            let writing = tokio::task::spawn_blocking(move || {
                let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
                std::os::unix::fs::FileExt::write_all_at(&file, WRITTEN, 0).unwrap();
                file.sync_all().unwrap();
            });
            let written = tokio::time::timeout(PATIENCE, writing).await;
            written.unwrap_or_else(|_| panic!("{} is frozen", volume.name)).unwrap();
        }
    }

    fn file(&self, volume: &Volume) -> PathBuf {
        let target = PathBuf::from(self.site.target(volume));
        if volume.content == Content::Block { target } else { target.join("file") }
    }

    /// What stands now.
    pub async fn standing(&self) -> Standing {
        let (mounts, devices) = self.on_node();
        Standing {
            volumes: self.site.volumes().await,
            snapshots: self.site.snapshots().await,
            in_pool: self.site.place.in_pool(),
            mounts,
            devices,
        }
    }

    /// Mounts, in order, and loop devices. Asks no host.
    pub fn on_node(&self) -> (Vec<PathBuf>, BTreeSet<String>) {
        let mut mounts = self.site.place.mounts();
        mounts.sort();
        (mounts, self.site.place.devices())
    }

    /// Strangers' things are as they were, and the ledger names all that is not theirs, and nothing
    /// that is not there.
    pub fn check_ledger(&self, standing: &Standing) {
        let strange_mount = self.site.place.pod("strange").join("staging");
        assert_eq!(std::fs::read(strange_mount.join("file")).unwrap(), b"strange");
        for name in STRANGE {
            let found = std::fs::read(self.site.place.pool().join(name)).unwrap();
            assert!(found == vec![b's'; 65_536], "{name} was changed");
        }
        let mut devices = standing.devices.clone();
        assert!(devices.remove(&self.strange_device), "a stranger's loop device is gone");
        let mut mounts = standing.mounts.clone();
        let at = mounts.iter().position(|mount| *mount == strange_mount).expect("a stranger's mount is gone");
        mounts.remove(at);

        let (mut named_devices, mut named_mounts) = (BTreeSet::new(), Vec::new());
        for (kind, name) in ledger(&self.site.host.state()) {
            match kind.as_str() {
                "device" => assert!(named_devices.insert(name.clone()), "{name} is in the ledger twice"),
                "freeze" => panic!("the ledger still names a freeze of {name}"),
                _ => named_mounts.push(PathBuf::from(name)),
            }
        }
        named_mounts.sort();
        assert_eq!(devices, named_devices, "loop devices, and those that the ledger names");
        assert_eq!(mounts, named_mounts, "mounts, and those that the ledger names");
    }
}

/// The kind and the place of every entry that the ledger's file adds up to.
fn ledger(state: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(state.join("node/ledger")).unwrap();
    let mut entries = BTreeMap::new();
    for line in text.lines().skip(1) {
        let (_, json) = line.split_once(' ').unwrap();
        let record: serde_json::Value = serde_json::from_str(json).unwrap();
        if let Some(entry) = record.get("put") {
            let word = |key: &str| entry[key].as_str().unwrap().to_owned();
            let name = if word("kind") == "device" { word("path") } else { word("place") };
            entries.insert(entry["id"].as_u64().unwrap(), (word("kind"), name));
        } else if let Some(id) = record.get("strike") {
            entries.remove(&id.as_u64().unwrap());
        }
    }
    entries.into_values().collect()
}
