//! A power cut at any moment loses no acknowledged commit and tears none apart.

use proptest::prelude::*;

use super::{Disk, block_on, finished, namespace, put, reopened, started, store_on};

/// Keys of one commit: all hold the same value, or the commit was torn apart.
const PARTS: [&str; 3] = ["x", "y", "z"];
const WRITERS: usize = 4;

/// Rounds of concurrent commits until the power goes; answers the last round acknowledged per
/// writer.
async fn commit_until_dark(disk: &Disk, fuse: u32) -> [Option<u32>; WRITERS] {
    let store = store_on(disk);
    let space = namespace(&store, "a");
    disk.light_fuse(fuse);
    let mut acknowledged = [None; WRITERS];
    for round in 0..500_u32 {
        let commits: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let parts = PARTS.map(|part| {
                    // Some values span many pages, so that a cut can fall between them.
                    let value = round.to_be_bytes().repeat(1 + writer * 800);
                    put(&format!("{writer}{part}"), &value)
                });
                started(space.commit(parts.to_vec()))
            })
            .collect();
        let mut lit = true;
        for (writer, commit) in commits.into_iter().enumerate() {
            match finished(commit).await {
                Ok(()) => acknowledged[writer] = Some(round),
                Err(_) => lit = false,
            }
        }
        if !lit {
            return acknowledged;
        }
    }
    panic!("the fuse of {fuse} was too long");
}

/// A stream of coin tosses.
fn tosses(mut seed: u64) -> impl FnMut() -> bool {
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        seed >> 63 == 1
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn acknowledged_commits_survive_whole(fuse in 0_u32..400, seed: u64) {
        let disk = Disk::default();
        let acknowledged = block_on(commit_until_dark(&disk, fuse));
        let left = Disk::with_image(disk.image_after_power_cut(tosses(seed)));
        let store = reopened(&left);
        let space = namespace(&store, "a");
        for (writer, last) in acknowledged.into_iter().enumerate() {
            let found = PARTS.map(|part| {
                block_on(space.get(&format!("{writer}{part}"))).unwrap().map(|value| {
                    let first = u32::from_be_bytes(value[..4].try_into().unwrap());
                    prop_assert!(value == first.to_be_bytes().repeat(1 + writer * 800));
                    Ok(first)
                })
                .transpose()
            });
            let [x, y, z] = found;
            let (x, y, z) = (x?, y?, z?);
            prop_assert_eq!(x, y);
            prop_assert_eq!(y, z);
            prop_assert!(x >= last, "{:?} found, {:?} acknowledged", x, last);
        }
    }
}
