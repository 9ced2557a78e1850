//! Bytes: what a workload wrote through a published volume is what every later reader finds, through
//! snapshots, clones, growth, kills and restarts, for every content on every kind of pool. Why by
//! digests of all files or of the whole device: a test that looks for one file finds one file.

mod metadata;
pub mod workload;
mod writer;

use std::io::{Seek, SeekFrom, Write as _};

use tonic::{Code, Status};

use crate::support::place::PoolKind;
use crate::support::site::{Content, Site, Source, Volume};
use workload::{Digests, change, fill, read};
use writer::Writer;

macro_rules! life {
    ($($name:ident: $content:ident on $pool:ident;)*) => {$(
        #[tokio::test]
        async fn $name() {
            life(Content::$content, PoolKind::$pool).await;
        }
    )*};
}

life! {
    ext4_on_xfs: Ext4 on Xfs;
    ext4_on_btrfs: Ext4 on Btrfs;
    ext4_on_ext4: Ext4 on Ext4;
    xfs_on_xfs: Xfs on Xfs;
    xfs_on_btrfs: Xfs on Btrfs;
    xfs_on_ext4: Xfs on Ext4;
    btrfs_on_xfs: Btrfs on Xfs;
    btrfs_on_btrfs: Btrfs on Btrfs;
    btrfs_on_ext4: Btrfs on Ext4;
    block_on_xfs: Block on Xfs;
    block_on_btrfs: Block on Btrfs;
    block_on_ext4: Block on Ext4;
    directory_on_xfs: Directory on Xfs;
    directory_on_btrfs: Directory on Btrfs;
    directory_on_ext4: Directory on Ext4;
}

async fn life(content: Content, pool: PoolKind) {
    let Some(mut site) = Site::start(pool).await else { return };
    let life = Life { content, cuts_in_use: pool.shares_blocks() && content != Content::Directory };
    let origin = site.create("origin", content, None).await.unwrap();
    site.mount(&origin).await.unwrap();
    fill(content, &site.target(&origin), 1);
    let before = life.read(&site, &origin);

    let first = life.cut(&site, &origin, "first").await;
    change(content, &site.target(&origin), 100);
    let after = life.read(&site, &origin);
    assert_ne!(before, after);
    let second = life.cut(&site, &origin, "second").await;
    if content == Content::Directory {
        refuses_metadata(&site, &first).await;
    } else {
        metadata::tell_the_truth(&site, &first, &second).await;
    }

    let restored = site.create("restored", content, Some(Source::Snapshot(first.clone()))).await.unwrap();
    let copy = life.clone(&site, &origin).await;
    life.live_side_by_side(&site, &[(&origin, &after), (&restored, &before), (&copy, &after)]).await;
    let written = [&origin, &restored, &copy].map(|volume| life.read(&site, volume));

    life.grow(&site, &origin).await;
    assert_eq!(life.read(&site, &origin), written[0], "growing changed what was there");
    life.survive_restarts(&mut site, &origin, &written[0]).await;

    for (volume, written) in [&origin, &restored, &copy].into_iter().zip(&written) {
        site.unmount(volume).await.unwrap();
        site.host.kill().await;
        site.host.start_again().await;
        site.mount(volume).await.unwrap();
        assert_eq!(life.read(&site, volume), *written, "{}, mounted anew", volume.name);
        site.unmount(volume).await.unwrap();
        site.delete(volume).await.unwrap();
    }
    for snapshot in [&first, &second] {
        site.delete_snapshot(snapshot).await.unwrap();
    }
    assert_eq!(site.place.mounts(), Vec::<std::path::PathBuf>::new());
    assert!(site.place.devices().is_empty() && site.place.in_pool().is_empty(), "{:?}", site.place.in_pool());
    site.host.stop().await;
}

/// What one life has to know of its surroundings.
#[derive(Debug, Clone, Copy)]
struct Life {
    content: Content,
    /// Whether snapshots can be cut while a workload writes.
    cuts_in_use: bool,
}

impl Life {
    fn read(self, site: &Site, volume: &Volume) -> Digests {
        read(self.content, &site.target(volume))
    }

    /// A snapshot of a published volume; where none can be cut in use it is refused in words, and the
    /// volume rests meanwhile.
    async fn cut(self, site: &Site, volume: &Volume, name: &str) -> String {
        if self.cuts_in_use {
            return site.snapshot(name, volume).await.unwrap();
        }
        is_in_use(&site.snapshot(name, volume).await.unwrap_err());
        site.unmount(volume).await.unwrap();
        let snapshot = site.snapshot(name, volume).await.unwrap();
        site.mount(volume).await.unwrap();
        snapshot
    }

    async fn clone(self, site: &Site, volume: &Volume) -> Volume {
        let source = || Some(Source::Volume(volume.id.clone()));
        if self.cuts_in_use {
            return site.create("copy", self.content, source()).await.unwrap();
        }
        is_in_use(&site.create("copy", self.content, source()).await.unwrap_err());
        site.unmount(volume).await.unwrap();
        let copy = site.create("copy", self.content, source()).await.unwrap();
        site.mount(volume).await.unwrap();
        copy
    }

    /// Mounts all but the first, which is; each holds what it must. Then each is written to, and none
    /// shows in another.
    async fn live_side_by_side(self, site: &Site, volumes: &[(&Volume, &Digests)]) {
        for (volume, expected) in volumes {
            if *volume.name != *"origin" {
                site.mount(volume).await.unwrap();
            }
            assert_eq!(self.read(site, volume), **expected, "{}", volume.name);
        }
        for (number, (written, _)) in volumes.iter().enumerate() {
            let others = || volumes.iter().filter(|(other, _)| other.id != written.id);
            let before: Vec<_> = others().map(|(other, _)| self.read(site, other)).collect();
            fill(self.content, &site.target(written), 1_000 * (1 + number as u64));
            let after: Vec<_> = others().map(|(other, _)| self.read(site, other)).collect();
            assert_eq!(before, after, "what was written to {} shows elsewhere", written.name);
        }
        let uuids: Vec<_> = volumes.iter().filter_map(|(volume, _)| self.uuid(site, volume)).collect();
        for (number, uuid) in uuids.iter().enumerate() {
            assert!(*uuid != [0; 16] && !uuids[..number].contains(uuid), "two file systems have one UUID");
        }
    }

    /// The UUID of a volume's file system, from the superblock in its image.
    fn uuid(self, site: &Site, volume: &Volume) -> Option<[u8; 16]> {
        use std::os::unix::fs::FileExt as _;
        let offset = match self.content {
            Content::Ext4 => 0x400 + 0x68,
            Content::Xfs => 0x20,
            Content::Btrfs => 0x1_0000 + 0x20,
            Content::Block | Content::Directory => return None,
        };
        let mut uuid = [0; 16];
        let image = std::fs::File::open(site.place.image("volumes", &volume.id)).unwrap();
        image.read_exact_at(&mut uuid, offset).unwrap();
        Some(uuid)
    }

    /// Grows a published volume. Where the kernel does not grow a mounted ext4 for us, that is said,
    /// and the file system must have grown after it was mounted anew.
    async fn grow(self, site: &Site, volume: &Volume) {
        let (wanted, before) = (2 * self.content.bytes(), self.size(site, volume));
        assert_eq!(site.expand(volume, wanted).await.unwrap(), wanted);
        let on_node = site.expand_on_node(volume, wanted).await;
        if self.content == Content::Ext4 && !may_grow_mounted() {
            let refusal = on_node.expect_err("the kernel refuses this without the right");
            assert!(refusal.message().contains("CAP_SYS_RESOURCE"), "{refusal:?}");
            let words = "skipped: growing a mounted ext4, which needs CAP_SYS_RESOURCE; it is mounted anew";
            let _ = writeln!(std::io::stderr(), "{words}");
            site.unmount(volume).await.unwrap();
            site.mount(volume).await.unwrap();
        } else {
            on_node.unwrap();
        }
        let after = self.size(site, volume);
        match self.content {
            Content::Block => assert_eq!((before, after), (before, 2 * before)),
            // Its size is a promise.
            Content::Directory => {}
            _ => assert!(after > before + before / 2, "the file system has {after} bytes, and had {before}"),
        }
    }

    fn size(self, site: &Site, volume: &Volume) -> u64 {
        let target = site.target(volume);
        if self.content == Content::Block {
            return std::fs::File::open(target).unwrap().seek(SeekFrom::End(0)).unwrap();
        }
        let found = rustix::fs::statvfs(&target).unwrap();
        found.f_blocks * found.f_frsize
    }

    /// A workload writes on while the host is killed, told to end, and started again; then the volume
    /// is published anew.
    async fn survive_restarts(self, site: &mut Site, volume: &Volume, expected: &Digests) {
        let writer = Writer::start(self.content, &site.target(volume), site.place.path("stop"));
        writer.goes_on().await;
        site.host.kill().await;
        writer.goes_on().await;
        site.host.start_again().await;
        writer.goes_on().await;
        site.host.stop().await;
        writer.goes_on().await;
        site.host.start_again().await;
        writer.goes_on().await;
        // The repeated requests of a client that has forgotten: they find everything as it is.
        site.mount(volume).await.unwrap();
        writer.goes_on().await;
        writer.finish().await;
        assert_eq!(self.read(site, volume), *expected, "after restarts, still published");

        site.unpublish(volume).await.unwrap();
        site.host.stop().await;
        site.host.start_again().await;
        site.publish(volume).await.unwrap();
        assert_eq!(self.read(site, volume), *expected, "published anew, after SIGTERM");
        site.unpublish(volume).await.unwrap();
        site.host.kill().await;
        site.host.start_again().await;
        site.publish(volume).await.unwrap();
        assert_eq!(self.read(site, volume), *expected, "published anew, after SIGKILL");
    }
}

async fn refuses_metadata(site: &Site, snapshot: &str) {
    use drivebay_proto::pb::csi::v1::GetMetadataAllocatedRequest;
    use drivebay_proto::pb::csi::v1::snapshot_metadata_client::SnapshotMetadataClient;
    let request = GetMetadataAllocatedRequest { snapshot_id: snapshot.to_owned(), ..Default::default() };
    let mut client = SnapshotMetadataClient::new(site.host.connect().await);
    let refusal = match client.get_metadata_allocated(request).await {
        Ok(stream) => stream.into_inner().message().await.unwrap_err(),
        Err(refusal) => refusal,
    };
    assert_eq!(refusal.code(), Code::FailedPrecondition, "{refusal:?}");
}

fn is_in_use(refusal: &Status) {
    assert_eq!(refusal.code(), Code::FailedPrecondition, "{refusal:?}");
}

fn may_grow_mounted() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_RESOURCE))
}
