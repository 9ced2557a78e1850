//! The part of a walk that needs a node: volumes are mounted, and what a workload would do is done
//! through the mounts. Says nothing of how mounting is done; that is the driver's.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::client::{Side, size};
use super::requests::{self, Source, Volume};
use super::{GROWN, Made, SIZE, Walk};
use crate::cli::demo::node::NodeWork;
use crate::cli::demo::steps::Halt;
use drivebay_proto::pb::csi::v1;
use drivebay_proto::pb::csi::v1::volume_usage::Unit;

/// What the volume holds when the snapshot is taken, and after.
const BEFORE: &str = "written before the snapshot\n";
const AFTER: &str = "written after the snapshot\n";

/// Where a volume is on the node.
#[derive(Debug, Clone)]
pub(super) struct Mounted {
    staging: String,
    target: String,
}

impl Mounted {
    fn paths(&self) -> (&str, &str) {
        (&self.staging, &self.target)
    }

    pub(super) fn file(&self) -> PathBuf {
        Path::new(&self.target).join("hello.txt")
    }
}

impl Walk<'_> {
    /// Mounts, writes, takes a snapshot, changes, restores and compares, grows.
    pub(super) async fn life_on_node(&mut self, first: &Volume, work: NodeWork) -> Result<(), Halt> {
        let mounted = self.mount(Side::First, "first", first).await?;
        let file = mounted.file();
        self.steps.work("Wrote hello.txt through the mount", write(&file, BEFORE))?;
        let snapshot = self.snapshot_of_mounted(first).await?;
        self.steps.work("Wrote something else into hello.txt", write(&file, AFTER))?;
        let restored = self.create("restored", SIZE, Some(Source::Snapshot(snapshot))).await?;
        let copy = self.mount(Side::First, "restored", &restored).await?;
        self.steps.work("The restored volume holds what was there before the snapshot", holds(&copy.file(), BEFORE))?;
        self.steps.work("The first volume still holds what came after", holds(&file, AFTER))?;
        let bytes = self.total(first, &mounted).await?;
        if work == NodeWork::All {
            self.grow_on_node(first, &mounted, bytes).await?;
        }
        self.unmount().await
    }

    /// Takes a snapshot of a volume in use. Where the pool's file system cannot share blocks, that
    /// takes a copy, and the volume must rest meanwhile: it is unmounted and mounted again.
    async fn snapshot_of_mounted(&mut self, volume: &Volume) -> Result<String, Halt> {
        if let Some(id) = self.snapshot(volume).await? {
            return Ok(id);
        }
        self.unmount().await?;
        let id = self.snapshot_of_resting(volume).await?;
        self.mount(Side::First, "first", volume).await?;
        Ok(id)
    }

    /// Unpublishes, unstages and detaches everything; the volumes stay.
    pub(super) async fn unmount(&mut self) -> Result<(), Halt> {
        let (kept, mounts): (Vec<_>, Vec<_>) = self.made.drain(..).partition(|(_, made)| !made.is_mount());
        self.made = kept;
        let mut ended = Ok(());
        for (side, made) in mounts.into_iter().rev() {
            ended = self.undo(side, made).await.and(ended);
        }
        ended
    }

    /// Attaches, stages and publishes.
    pub(super) async fn mount(&mut self, side: Side, name: &str, volume: &Volume) -> Result<Mounted, Halt> {
        let directory = self.directory(side, name);
        let path = |end: &str| directory.join(end).to_string_lossy().into_owned();
        let mounted = Mounted { staging: path("staging"), target: path("target") };
        // The client makes the staging directory, and what lies above the target.
        self.steps.work(&format!("Made {}", mounted.staging), fs::create_dir_all(&mounted.staging))?;
        let (client, node_id) = (self.clients.of(side), side.of(self.place).node_id);

        self.made.push((side, Made::Attached(volume.id.clone())));
        let asked = client.controller.controller_publish_volume(requests::attach(volume, node_id));
        let told = format!("attached to the node {node_id}");
        let attached = self.steps.call("ControllerPublishVolume", asked, |_| told).await?;

        self.made.push((side, Made::Staged(volume.id.clone(), mounted.staging.clone())));
        let asked = client.node.node_stage_volume(requests::stage(volume, &attached, &mounted.staging));
        let told = format!("the file system is mounted at {}", mounted.staging);
        self.steps.call("NodeStageVolume", asked, |_| told).await?;

        self.made.push((side, Made::Published(volume.id.clone(), mounted.target.clone())));
        let asked = client.node.node_publish_volume(requests::publish(volume, &attached, mounted.paths()));
        let told = format!("the workload has it at {}", mounted.target);
        self.steps.call("NodePublishVolume", asked, |_| told).await?;
        Ok(mounted)
    }

    /// Grows a volume that is in use, and sees that its file system, of `before` bytes, has grown too.
    async fn grow_on_node(&mut self, volume: &Volume, mounted: &Mounted, before: i64) -> Result<(), Halt> {
        if self.grow(volume).await? {
            let request = requests::expand_on_node(&volume.id, mounted.paths(), GROWN);
            let asked = self.clients.of(Side::First).node.node_expand_volume(request);
            let told = "the file system has grown while it was in use".to_owned();
            self.steps.call("NodeExpandVolume", asked, |_| told).await?;
        }
        let after = self.total(volume, mounted).await?;
        if after <= before {
            let why = format!("the file system has {} after growing, and had {}", size(after), size(before));
            return Err(self.steps.fail("NodeGetVolumeStats", &why));
        }
        Ok(())
    }

    /// The size of the file system, in bytes.
    async fn total(&mut self, volume: &Volume, mounted: &Mounted) -> Result<i64, Halt> {
        let bytes = |said: &v1::NodeGetVolumeStatsResponse| {
            said.usage.iter().find(|usage| usage.unit() == Unit::Bytes).copied().unwrap_or_default()
        };
        let told = |said: &v1::NodeGetVolumeStatsResponse| {
            let usage = bytes(said);
            format!("{} of {} are used", size(usage.used), size(usage.total))
        };
        let request = requests::stats(&volume.id, mounted.paths());
        let asked = self.clients.of(Side::First).node.node_get_volume_stats(request);
        let said = self.steps.call("NodeGetVolumeStats", asked, told).await?;
        Ok(bytes(&said).total)
    }

    /// Removes the empty directories of this walk; what is still mounted or not empty stays.
    pub(super) fn sweep(&self) {
        for side in [Side::First, Side::Second] {
            for name in ["first", "restored", "replicated"] {
                let directory = self.directory(side, name);
                for path in [directory.join("target"), directory.join("staging"), directory] {
                    let _ = fs::remove_dir(path);
                }
            }
            let mounts = &side.of(self.place).mounts;
            let _ = fs::remove_dir(mounts.join(&self.tag));
            let _ = fs::remove_dir(mounts);
        }
    }

    fn directory(&self, side: Side, name: &str) -> PathBuf {
        side.of(self.place).mounts.join(&self.tag).join(name)
    }
}

/// Writes and syncs, as a workload does that wants its data in the snapshot.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Whether a file holds this and nothing else.
pub(super) fn holds(path: &Path, expected: &str) -> Result<(), String> {
    match fs::read_to_string(path) {
        Ok(text) if text == expected => Ok(()),
        Ok(text) => Err(format!("it holds {text:?}, and should hold {expected:?}")),
        Err(error) => Err(error.to_string()),
    }
}
