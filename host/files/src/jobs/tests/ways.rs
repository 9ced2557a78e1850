//! Past the page cache and through it: the contents are the same, on every file system.

use super::*;
use crate::{
    direct::{Buffer, Direct, Way},
    jobs::writeback::Writeback,
};

const KINDS: [&str; 4] = ["ext4", "xfs", "btrfs", "tmpfs"];

fn buffer(bytes: &[u8]) -> Buffer {
    let length = u64::try_from(bytes.len()).unwrap();
    let mut buffer = Buffer::new(length);
    buffer.fill(length).copy_from_slice(bytes);
    buffer
}

#[test]
fn large_aligned_pieces_go_past_the_cache_and_all_others_through_it() {
    for kind in KINDS {
        let Some(pool) = Pool::on(kind, 320) else { continue };
        pool.write("a", 8 * MIB, &[]);
        let file = OpenOptions::new().read(true).write(true).open(pool.host("a")).unwrap();
        let (mut direct, mut expected) = (Direct::default(), vec![0; 8 << 20]);
        for (n, (at, length, way)) in [
            (0, 1 << 20, Way::PastCache),
            (MIB + 512, 1 << 20, Way::ThroughCache),
            (3 * MIB, 64 << 10, Way::ThroughCache),
            (4 * MIB, 256 << 10, Way::PastCache),
            (5 * MIB, (1 << 20) - 1, Way::ThroughCache),
            (MIB, 1 << 20, Way::PastCache),
        ]
        .into_iter()
        .enumerate()
        {
            let bytes = noise(length, u64::try_from(n).unwrap() + 1);
            let went = direct.write(&file, "a", buffer(&bytes).bytes(), at).unwrap();
            // Memory is memory: there is nothing to go past.
            assert!(went == way || kind == "tmpfs", "{kind}: {length} bytes at {at}: {went:?}");
            let place = usize::try_from(at).unwrap();
            expected[place..place + length].copy_from_slice(&bytes);
            let mut back = Buffer::new(u64::try_from(length).unwrap());
            direct.read(&file, "a", back.fill(u64::try_from(length).unwrap()), at).unwrap();
            assert!(back.bytes() == bytes, "{kind}: {length} bytes at {at}");
        }
        assert!(pool.read("a") == expected, "{kind}");
    }
}

#[test]
fn ranges_of_any_size_and_place_are_copied_on_every_file_system() {
    for kind in KINDS {
        let Some(pool) = Pool::on(kind, 320) else { continue };
        let (source, target) = (noise(7 << 20, 1), noise(8 << 20, 2));
        pool.write("a", 9 * MIB + 123, &[(0, &source[..5 << 20]), (6 * MIB + 5, &source[5 << 20..])]);
        pool.write("b", 8 * MIB, &[(0, &target)]);
        let whole = pool.read("a");
        let ranges = [
            (1, 700_000),
            (MIB, 2 * MIB),
            (3 * MIB + 4096, 300 * 1024),
            (4 * MIB + 123, 1_500_001),
            (6 * MIB, 3 * MIB + 123),
        ];
        let mut expected = target.clone();
        expected.resize(whole.len(), 0);
        for (offset, length) in ranges {
            let place = usize::try_from(offset).unwrap()..usize::try_from(offset + length).unwrap();
            expected[place.clone()].copy_from_slice(&whole[place]);
        }
        let into = done(&pool.files(), "into", copy("a", "b", &ranges));
        assert!(pool.read("b") == expected, "{kind}: into a file that is there");
        let new = done(&pool.files(), "new", copy("a", "c", &ranges));
        assert_eq!(into, new, "{kind}: one checksum");
        done(&pool.files(), "whole", copy("a", "d", &[]));
        assert!(pool.read("d") == whole, "{kind}: all of it");
    }
}

/// What another has just written, and no disk has seen.
#[test]
fn what_is_only_in_memory_is_copied_too() {
    for kind in KINDS {
        let Some(pool) = Pool::on(kind, 320) else { continue };
        pool.write("a", 4 * MIB, &[(0, &noise(4 << 20, 1))]);
        let file = OpenOptions::new().write(true).open(pool.host("a")).unwrap();
        let written = noise(3 << 20, 2);
        file.write_all_at(&written, MIB / 2).unwrap();
        done(&pool.files(), "key", copy("a", "b", &[]));
        assert!(pool.read("b")[1 << 19..(1 << 19) + (3 << 20)] == written, "{kind}");
    }
}

#[test]
fn little_is_on_its_way_at_once_however_small_the_steps_are() {
    let pool = Pool::plain();
    for step in [4096, 64 * 1024, MIB, 3 * MIB] {
        pool.write("a", 0, &[]);
        let file = OpenOptions::new().write(true).open(pool.host("a")).unwrap();
        let mut writeback = Writeback::default();
        let bytes = noise(usize::try_from(step).unwrap(), 1);
        for n in 0..(8 * MIB / step) {
            file.write_all_at(&bytes, n * step).unwrap();
            writeback.step(&file, Extent { offset: n * step, length: step }).unwrap();
            assert!(writeback.bytes() <= MIB.max(step), "{step}: {}", writeback.bytes());
        }
        assert!(writeback.bytes() > 0, "nothing is waited for at once");
    }
}
