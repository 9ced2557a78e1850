//! The metadata of snapshots against the snapshots themselves: what is not told as allocated holds
//! nothing, and the told differences make one snapshot into the other.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use drivebay_proto::pb::csi::v1::snapshot_metadata_client::SnapshotMetadataClient;
use drivebay_proto::pb::csi::v1::{BlockMetadata, GetMetadataAllocatedRequest, GetMetadataDeltaRequest};

use crate::support::site::Site;

/// Few, so that there are several messages and pages.
const MOST_A_MESSAGE: i32 = 7;

/// Two snapshots of one volume, the older first.
pub async fn tell_the_truth(site: &Site, base: &str, target: &str) {
    let mut client = SnapshotMetadataClient::new(site.host.connect().await);
    let [base_image, target_image] = [base, target].map(|id| site.place.image("snapshots", id));
    for (id, image) in [(base, &base_image), (target, &target_image)] {
        let request = GetMetadataAllocatedRequest {
            snapshot_id: id.to_owned(),
            max_results: MOST_A_MESSAGE,
            ..Default::default()
        };
        let mut stream = client.get_metadata_allocated(request).await.unwrap().into_inner();
        let mut blocks = Vec::new();
        while let Some(message) = stream.message().await.unwrap() {
            assert_eq!(message.volume_capacity_bytes, length(image));
            blocks.extend(message.block_metadata);
        }
        assert!(!blocks.is_empty(), "a written volume has allocated blocks");
        let allocated = only(image, &blocks);
        assert!(allocated == std::fs::read(image).unwrap(), "{id}: data lie outside of what is told as allocated");
    }
    let request = GetMetadataDeltaRequest {
        base_snapshot_id: base.to_owned(),
        target_snapshot_id: target.to_owned(),
        max_results: MOST_A_MESSAGE,
        ..Default::default()
    };
    let mut stream = client.get_metadata_delta(request).await.unwrap().into_inner();
    let mut made = std::fs::read(&base_image).unwrap();
    let wanted = std::fs::read(&target_image).unwrap();
    assert!(made != wanted, "the volume was changed between the two");
    let mut told = 0;
    while let Some(message) = stream.message().await.unwrap() {
        for block in message.block_metadata {
            let (from, to) = range(&block);
            made[from..to].copy_from_slice(&wanted[from..to]);
            told += to - from;
        }
    }
    assert!(made == wanted, "the told differences do not make {base} into {target}");
    assert!(told < wanted.len() / 2, "{told} bytes of {} are told to differ, far more than were changed", wanted.len());
}

/// The image with zeros wherever nothing is told.
fn only(image: &Path, blocks: &[BlockMetadata]) -> Vec<u8> {
    let file = File::open(image).unwrap();
    let mut bytes = vec![0; usize::try_from(length(image)).unwrap()];
    for block in blocks {
        let (from, to) = range(block);
        file.read_exact_at(&mut bytes[from..to], from as u64).unwrap();
    }
    bytes
}

fn range(block: &BlockMetadata) -> (usize, usize) {
    let from = usize::try_from(block.byte_offset).unwrap();
    (from, from + usize::try_from(block.size_bytes).unwrap())
}

fn length(image: &Path) -> i64 {
    i64::try_from(image.metadata().unwrap().len()).unwrap()
}
