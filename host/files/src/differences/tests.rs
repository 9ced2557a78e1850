//! Allocated ranges and differences against a model, on file systems with and without sharing.

use super::*;
use crate::{
    Files,
    testing::{Pool, noise, skip},
};
use proptest::{prelude::*, test_runner::TestRunner};
use std::{fs::OpenOptions, os::unix::fs::FileExt};

const SIZE: u64 = 512 * 1024;

/// A change to one of the files.
#[derive(Debug, Clone)]
enum Change {
    Write {
        offset: u64,
        length: u64,
        seed: u64,
    },
    Zeros {
        offset: u64,
        length: u64,
    },
    Punch {
        offset: u64,
        length: u64,
    },
    Reserve {
        offset: u64,
        length: u64,
    },
    Resize {
        size: u64,
    },
    /// Takes over blocks of a third file, shared where the file system does so by itself.
    Take {
        from: u64,
        offset: u64,
        length: u64,
    },
}

fn range() -> impl Strategy<Value = (u64, u64)> {
    // Half of them on the blocks of the file system, where most of what it decides happens.
    let aligned = (0_u64..96, 1_u64..32).prop_map(|(offset, length)| (offset * 4096, length * 4096));
    prop_oneof![aligned, (0..SIZE - 100_000, 1_u64..100_000)]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (range(), 1_u64..9).prop_map(|((offset, length), seed)| Change::Write { offset, length, seed }),
        1 => range().prop_map(|(offset, length)| Change::Zeros { offset, length }),
        2 => range().prop_map(|(offset, length)| Change::Punch { offset, length }),
        1 => range().prop_map(|(offset, length)| Change::Reserve { offset, length }),
        3 => (0_u64..32, 0_u64..96, 1_u64..32).prop_map(|(from, offset, length)| {
            Change::Take { from: from * 4096, offset: offset * 4096, length: length * 4096 }
        }),
        1 => (SIZE / 2..SIZE).prop_map(|size| Change::Resize { size }),
    ]
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    proptest::collection::vec(change(), 0..8)
}

fn apply(pool: &Pool, files: &Files, name: &str, changes: &[Change]) {
    let file = OpenOptions::new().write(true).open(pool.host(name)).unwrap();
    let third = std::fs::File::open(pool.host("third")).unwrap();
    let guest = format!("/pool/{name}");
    for change in changes {
        let size = file.metadata().unwrap().len();
        let within = |offset: u64, length: u64| Extent::between(offset, (offset + length).min(size));
        match *change {
            Change::Write { offset, length, seed } => {
                file.write_all_at(&texture(length, seed), offset).unwrap();
            }
            Change::Zeros { offset, length } => {
                file.write_all_at(&vec![0; usize::try_from(length).unwrap()], offset).unwrap();
            }
            Change::Punch { offset, length } if within(offset, length).length > 0 => {
                files.punch(&guest, within(offset, length)).unwrap();
            }
            Change::Reserve { offset, length } if within(offset, length).length > 0 => {
                files.reserve(&guest, within(offset, length)).unwrap();
            }
            Change::Punch { .. } | Change::Reserve { .. } => {}
            Change::Resize { size } => file.set_len(size).unwrap(),
            Change::Take { mut from, mut offset, length } => {
                let length = usize::try_from(length).unwrap();
                rustix::fs::copy_file_range(&third, Some(&mut from), &file, Some(&mut offset), length).unwrap();
            }
        }
    }
}

/// Bytes that compress well and differ from block to block.
fn texture(length: u64, seed: u64) -> Vec<u8> {
    let length = usize::try_from(length).unwrap();
    let words = noise(length.div_ceil(4096) * 8, seed);
    let mut bytes: Vec<u8> = words.chunks(8).flat_map(|word| word.repeat(512)).collect();
    bytes.truncate(length);
    bytes
}

fn all_pages(mut page: impl FnMut(u64) -> Page) -> Vec<Extent> {
    let (mut extents, mut offset) = (Vec::new(), Some(0));
    while let Some(from) = offset {
        let next = page(from);
        assert!(next.next_offset.is_none_or(|next| next > from), "a page has to go on");
        extents.extend(next.extents);
        offset = next.next_offset;
    }
    assert!(extents.windows(2).all(|pair| pair[0].end() <= pair[1].offset), "in order, no overlap: {extents:?}");
    extents
}

fn copied(onto: &mut Vec<u8>, from: &[u8], extents: &[Extent]) {
    onto.resize(from.len(), 0);
    for extent in extents {
        let end = usize::try_from(extent.end()).unwrap().min(from.len());
        let start = usize::try_from(extent.offset).unwrap().min(end);
        onto[start..end].copy_from_slice(&from[start..end]);
    }
}

/// Listing finds all data, applying the differences to the base gives the target.
fn check(pool: &Pool, files: &Files, limit: u32) -> Comparison {
    let (base, target) = (pool.read("base"), pool.read("target"));
    let allocated = all_pages(|offset| files.list_allocated("/pool/target", offset, limit).unwrap());
    let mut rebuilt = Vec::new();
    copied(&mut rebuilt, &target, &allocated);
    assert!(rebuilt == target, "data outside of {allocated:?}");
    let mut found_by = None;
    let differences = all_pages(|offset| {
        // Pages may differ in how they were found: the file system ends a sharing when it comes to it.
        let page = files.list_differences("/pool/base", "/pool/target", offset, limit).unwrap();
        found_by = found_by.or(Some(page.found_by));
        page.page
    });
    let mut rebuilt = base.clone();
    copied(&mut rebuilt, &target, &differences);
    assert!(rebuilt == target, "a difference outside of {differences:?}");
    let tail = differences.last().map_or(0, |last| last.end());
    if base.len() != target.len() {
        assert_eq!(tail, u64::try_from(base.len().max(target.len())).unwrap(), "the tail differs");
    }
    found_by.unwrap()
}

fn run_model(pool: &Pool, shared: bool, cases: u32) {
    let files = pool.files();
    pool.write("third", SIZE, &[(0, &texture(SIZE, 99))]);
    let by_blocks = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() });
    let input = (changes(), changes(), changes(), 1_u32..4);
    runner
        .run(&input, |(first, ours, theirs, limit)| {
            pool.write("base", SIZE * 3 / 4, &[]);
            apply(pool, &files, "base", &first);
            let _gone = std::fs::remove_file(pool.host("target"));
            let _gone = std::fs::remove_file(pool.host("kept"));
            if shared {
                files.reflink("/pool/base", "/pool/target").unwrap();
                // A third owner of the blocks keeps them shared whatever happens to the two.
                files.reflink("/pool/base", "/pool/kept").unwrap();
            } else {
                std::fs::copy(pool.host("base"), pool.host("target")).unwrap();
            }
            apply(pool, &files, "base", &ours);
            apply(pool, &files, "target", &theirs);
            if check(pool, &files, limit) == Comparison::SharedBlocks {
                by_blocks.set(by_blocks.get() + 1);
            }
            Ok(())
        })
        .unwrap();
    if shared {
        assert!(by_blocks.get() > 0, "sharing was never seen");
    }
}

#[test]
fn differences_rebuild_the_target_by_contents() {
    run_model(&Pool::plain(), false, 60);
}

#[test]
fn differences_rebuild_the_target_on_xfs() {
    let Some(pool) = Pool::on("xfs", 320) else {
        return;
    };
    run_model(&pool, true, 60);
    run_model(&pool, false, 20);
}

#[test]
fn differences_rebuild_the_target_on_btrfs() {
    let Some(pool) = Pool::on("btrfs", 256) else {
        return;
    };
    run_model(&pool, true, 60);
    run_model(&pool, false, 20);
}

#[test]
fn differences_rebuild_the_target_on_compressed_btrfs() {
    let Some(pool) = Pool::on("btrfs", 256) else {
        return;
    };
    if !crate::testing::run("mount", &["-o", "remount,compress-force=zstd", pool.host("").to_str().unwrap()]) {
        return skip("no compression here");
    }
    run_model(&pool, true, 40);
}

#[test]
fn differences_rebuild_the_target_on_tmpfs() {
    let Some(pool) = Pool::on("tmpfs", 16) else {
        return;
    };
    run_model(&pool, false, 30);
}

#[test]
fn a_clone_differs_only_where_it_was_written() {
    let Some(pool) = Pool::on("xfs", 320) else {
        return;
    };
    let files = pool.files();
    pool.write("base", 32 << 20, &[(0, &noise(16 << 20, 1))]);
    files.reflink("/pool/base", "/pool/target").unwrap();
    let unchanged = files.list_differences("/pool/base", "/pool/target", 0, 10).unwrap();
    assert_eq!(unchanged, DifferencePage { page: Page::default(), found_by: Comparison::SharedBlocks });
    files.reflink("/pool/base", "/pool/kept").unwrap();
    let file = OpenOptions::new().write(true).open(pool.host("target")).unwrap();
    file.write_all_at(&noise(4096, 2), 8192).unwrap();
    file.write_all_at(&noise(4096, 3), 20 << 20).unwrap();
    let changed = files.list_differences("/pool/base", "/pool/target", 0, 10).unwrap();
    let block = |offset| Extent { offset, length: 4096 };
    assert_eq!(changed.page.extents, [block(8192), block(20 << 20)]);
    assert_eq!(changed.found_by, Comparison::SharedBlocks);
}

#[test]
fn contents_are_compared_block_by_block() {
    let pool = Pool::plain();
    let content = noise(3 << 20, 1);
    pool.write("base", 3 << 20, &[(0, &content)]);
    pool.write("target", 3 << 20, &[(0, &content), (5000, &[0]), ((1 << 20) + 1, &[0, 0])]);
    let found = pool.files().list_differences("/pool/base", "/pool/target", 0, 10).unwrap();
    let block = |offset| Extent { offset, length: 4096 };
    assert_eq!(found.page.extents, [block(4096), block(1 << 20)]);
    assert_eq!((found.page.next_offset, found.found_by), (None, Comparison::Contents));
}

#[test]
fn a_page_stops_reading_in_time_and_goes_on() {
    let pool = Pool::plain();
    // Blocks set aside count as nothing to read, so this needs written ones; one byte each is enough.
    let size = MOST_READ + (8 << 20);
    for name in ["base", "target"] {
        let file = std::fs::File::create(pool.host(name)).unwrap();
        let piece = noise(1 << 20, 1);
        for step in 0..size / STEP {
            file.write_all_at(&piece, step * STEP).unwrap();
        }
    }
    let file = OpenOptions::new().write(true).open(pool.host("target")).unwrap();
    file.write_all_at(&[0], size - 1).unwrap();
    let files = pool.files();
    let first = files.list_differences("/pool/base", "/pool/target", 0, 10).unwrap();
    assert_eq!(first.page, Page { extents: vec![], next_offset: Some(MOST_READ) });
    let second = files.list_differences("/pool/base", "/pool/target", MOST_READ, 10).unwrap();
    assert_eq!(second.page.extents, [Extent { offset: size - 4096, length: 4096 }]);
    assert_eq!(second.page.next_offset, None);
}

#[test]
fn a_file_does_not_differ_from_itself() {
    let pool = Pool::plain();
    pool.write("base", 8192, &[(0, &noise(8192, 1))]);
    std::fs::hard_link(pool.host("base"), pool.host("same")).unwrap();
    let found = pool.files().list_differences("/pool/base", "/pool/same", 0, 10).unwrap();
    assert_eq!(found.page, Page::default());
}
