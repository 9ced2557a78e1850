//! Single operations on real file systems, and what a view allows.

use super::descriptors::OpenFiles;
use super::{
    testing::{Pool, noise, run, text},
    *,
};
use std::{fs::OpenOptions, os::unix::fs::FileExt};

const MIB: u64 = 1 << 20;

fn extent(offset: u64, length: u64) -> Extent {
    Extent { offset, length }
}

fn copy_job() -> Job {
    Job::Copy(CopyJob { source: "/pool/a".into(), target: "/pool/b".into(), ranges: vec![] })
}

#[test]
fn a_read_only_view_changes_nothing_and_reads_all() {
    let pool = Pool::plain();
    pool.write("a", MIB, &[(0, &noise(4096, 1))]);
    let files = pool.files().with_view(View::ReadOnly);
    let refused = [
        files.reflink("/pool/a", "/pool/b"),
        files.reserve("/pool/a", extent(0, 1)),
        files.punch("/pool/a", extent(0, 1)),
        files.run_job("key", copy_job(), Duration::ZERO, Origin::default()).map(|_| ()),
        files.cancel_job("key"),
    ];
    for result in refused {
        assert_eq!(result.unwrap_err().code, FileErrorCode::ReadOnly);
    }
    assert_eq!(files.list_allocated("/pool/a", 0, 10).unwrap().extents, [extent(0, 4096)]);
    assert_eq!(files.list_differences("/pool/a", "/pool/a", 0, 10).unwrap().page, Page::default());
    assert_eq!(files.get_allocation("/pool/a").unwrap().size_bytes, MIB);
    assert!(files.get_space("/pool/a").unwrap().total_bytes > 0);
    files.sync("/pool/a").unwrap();
    assert_eq!(pool.names(), ["a"]);
}

#[test]
fn without_a_grant_every_function_says_so() {
    let jobs = Jobs::new("test", JobLimits::default(), Programs::system());
    let files = Files::new(Directories::default(), jobs, OpenFiles::new(16), View::Full);
    let refused = [
        files.reflink("/pool/a", "/pool/b").err(),
        files.reserve("/pool/a", extent(0, 1)).err(),
        files.punch("/pool/a", extent(0, 1)).err(),
        files.list_allocated("/pool/a", 0, 1).err(),
        files.list_differences("/pool/a", "/pool/b", 0, 1).err(),
        files.get_allocation("/pool/a").err(),
        files.get_space("/pool").err(),
        files.sync("/pool/a").err(),
        files.list_file_systems().err(),
        files.run_job("key", copy_job(), Duration::ZERO, Origin::default()).err(),
        files.cancel_job("key").err(),
    ];
    for error in refused {
        assert_eq!(error.unwrap().code, FileErrorCode::NotGranted);
    }
}

#[test]
fn a_clone_is_a_file_of_its_own_and_takes_no_room() {
    for kind in ["xfs", "btrfs"] {
        let Some(pool) = Pool::on(kind, 320) else {
            return;
        };
        let files = pool.files();
        assert!(files.get_space("/pool").unwrap().reflink, "{kind}");
        pool.write("a", 64 * MIB, &[(0, &noise(32 << 20, 1))]);
        let before = files.get_space("/pool/a").unwrap().available_bytes;
        files.reflink("/pool/a", "/pool/b").unwrap();
        let after = files.get_space("/pool/a").unwrap().available_bytes;
        assert!(before.saturating_sub(after) < 4 * MIB, "{kind}: {before} {after}");
        OpenOptions::new().write(true).open(pool.host("b")).unwrap().write_all_at(&[0; 10], 0).unwrap();
        assert_eq!(pool.read("a")[..10], noise(10, 1)[..]);
        assert_eq!(pool.read("b")[10..], pool.read("a")[10..]);
        assert_eq!(pool.names(), ["a", "b"]);
    }
}

#[test]
fn a_clone_never_replaces_a_file() {
    let Some(pool) = Pool::on("xfs", 320) else {
        return;
    };
    let files = pool.files();
    pool.write("a", MIB, &[(0, &noise(4096, 1))]);
    pool.write("b", 10, &[(0, b"keep me")]);
    assert_eq!(files.reflink("/pool/a", "/pool/b").unwrap_err().code, FileErrorCode::AlreadyExists);
    assert_eq!(files.reflink("/pool/a", "/pool/a").unwrap_err().code, FileErrorCode::AlreadyExists);
    assert_eq!(files.reflink("/pool/none", "/pool/c").unwrap_err().code, FileErrorCode::NotFound);
    assert_eq!(files.reflink("/pool/a", "/pool/none/c").unwrap_err().code, FileErrorCode::NotFound);
    assert_eq!(&pool.read("b")[..7], b"keep me");
    assert_eq!(pool.names(), ["a", "b"]);
}

#[test]
fn a_file_system_without_sharing_says_so_and_keeps_nothing() {
    for kind in ["tmpfs", "ext4"] {
        let Some(pool) = Pool::on(kind, 16) else {
            return;
        };
        let files = pool.files();
        pool.write("a", MIB, &[(0, &noise(4096, 1))]);
        assert!(!files.get_space("/pool").unwrap().reflink);
        assert_eq!(files.reflink("/pool/a", "/pool/b").unwrap_err().code, FileErrorCode::Unsupported, "{kind}");
        assert_eq!(pool.names(), ["a"]);
    }
}

#[test]
fn two_file_systems_share_nothing() {
    let (Some(one), Some(other)) = (Pool::on("xfs", 320), Pool::on("xfs", 320)) else {
        return;
    };
    one.write("a", MIB, &[(0, &noise(4096, 1))]);
    let grant = |pool: &Pool, guest: &str| DirectoryGrant { host: pool.host(""), guest: guest.into(), write: true };
    let directories = Directories::new(&[grant(&one, "/one"), grant(&other, "/other")]).unwrap();
    let files = Files::new(
        directories,
        Jobs::new("test", JobLimits::default(), Programs::system()),
        OpenFiles::new(16),
        View::Full,
    );
    assert_eq!(files.reflink("/one/a", "/other/a").unwrap_err().code, FileErrorCode::Unsupported);
    assert_eq!(other.names(), Vec::<String>::new());
}

#[test]
fn blocks_set_aside_are_taken_up_and_hold_no_data() {
    for kind in ["ext4", "xfs", "btrfs", "tmpfs"] {
        let Some(pool) = Pool::on(kind, 320) else {
            return;
        };
        let files = pool.files();
        pool.write("a", 16 * MIB, &[(MIB, &noise(4096, 1))]);
        files.reserve("/pool/a", extent(0, 16 * MIB)).unwrap();
        let allocation = files.get_allocation("/pool/a").unwrap();
        assert_eq!(allocation.size_bytes, 16 * MIB);
        assert!(allocation.allocated_bytes >= 16 * MIB, "{kind}: {allocation:?}");
        let page = files.list_allocated("/pool/a", 0, 10).unwrap();
        assert_eq!(page, Page { extents: vec![extent(MIB, 4096)], next_offset: None }, "{kind}");
        files.punch("/pool/a", extent(0, 16 * MIB)).unwrap();
        assert!(files.get_allocation("/pool/a").unwrap().allocated_bytes < MIB, "{kind}");
        assert_eq!(files.list_allocated("/pool/a", 0, 10).unwrap().extents, [], "{kind}");
        assert!(pool.read("a").iter().all(|byte| *byte == 0), "{kind}");
    }
}

#[test]
fn setting_blocks_aside_unshares_them() {
    let Some(pool) = Pool::on("xfs", 320) else {
        return;
    };
    let files = pool.files();
    pool.write("a", 16 * MIB, &[(0, &noise(16 << 20, 1))]);
    files.reflink("/pool/a", "/pool/b").unwrap();
    let before = files.get_space("/pool").unwrap().available_bytes;
    files.reserve("/pool/b", extent(0, 16 * MIB)).unwrap();
    let after = files.get_space("/pool").unwrap().available_bytes;
    assert!(before - after >= 15 * MIB, "{before} {after}");
    assert!(pool.read("a") == pool.read("b"));
}

#[test]
fn a_full_disk_refuses_before_it_fills_up() {
    for kind in ["ext4", "xfs", "tmpfs"] {
        let Some(pool) = Pool::on(kind, 320) else {
            return;
        };
        let files = pool.files();
        pool.write("a", 1024 * MIB, &[]);
        let before = files.get_space("/pool").unwrap().available_bytes;
        let refused = files.reserve("/pool/a", extent(0, 1024 * MIB)).unwrap_err();
        assert_eq!(refused.code, FileErrorCode::NoSpace, "{kind}: {refused}");
        let after = files.get_space("/pool").unwrap().available_bytes;
        assert!(before.abs_diff(after) < MIB, "{kind}: {before} {after}");
    }
}

#[test]
fn ranges_beyond_the_file_are_invalid() {
    let pool = Pool::plain();
    pool.write("a", MIB, &[]);
    let files = pool.files();
    for range in [extent(0, 0), extent(MIB, 1), extent(0, MIB + 1), extent(u64::MAX, 2)] {
        assert_eq!(files.reserve("/pool/a", range).unwrap_err().code, FileErrorCode::Invalid);
        assert_eq!(files.punch("/pool/a", range).unwrap_err().code, FileErrorCode::Invalid);
    }
    assert_eq!(files.list_allocated("/pool/a", MIB + 1, 1).unwrap_err().code, FileErrorCode::Invalid);
    assert_eq!(files.list_allocated("/pool/a", MIB, 1).unwrap(), Page::default());
    assert_eq!(files.list_allocated("/pool/a", 0, 0).unwrap_err().code, FileErrorCode::Invalid);
}

#[test]
fn files_directories_and_the_grant_itself_sync() {
    let pool = Pool::plain();
    std::fs::create_dir(pool.host("d")).unwrap();
    pool.write("d/a", 10, &[]);
    let files = pool.files();
    for path in ["/pool/d/a", "/pool/d", "/pool/d/", "/pool", "/pool/"] {
        files.sync(path).unwrap();
    }
    assert_eq!(files.sync("/pool/none").unwrap_err().code, FileErrorCode::NotFound);
    assert_eq!(files.sync("/pool/d/a/").unwrap_err().code, FileErrorCode::Invalid);
}

#[test]
fn space_is_that_of_the_file_system() {
    let Some(pool) = Pool::on("tmpfs", 16) else {
        return;
    };
    std::fs::create_dir(pool.host("d")).unwrap();
    pool.write("d/a", MIB, &[(0, &noise(1 << 20, 1))]);
    let files = pool.files();
    for path in ["/pool", "/pool/d", "/pool/d/", "/pool/d/a"] {
        let space = files.get_space(path).unwrap();
        assert_eq!((space.total_bytes, space.reflink), (16 * MIB, false), "{path}");
        assert!(space.available_bytes <= 15 * MIB);
    }
    assert_eq!(files.get_space("/pool/none").unwrap_err().code, FileErrorCode::NotFound);
    assert_eq!(files.get_space("/pool/d/a/").unwrap_err().code, FileErrorCode::NotFound);
}

#[test]
fn only_kinds_with_a_program_are_offered() {
    let (pool, programs) = (Pool::plain(), Pool::plain());
    let offered =
        |files: &Files| files.list_file_systems().unwrap().into_iter().map(|kind| kind.name).collect::<Vec<_>>();
    let files = pool.files_with(JobLimits::default(), Programs::new(vec![programs.host("")]));
    assert_eq!(offered(&files), Vec::<String>::new());
    std::fs::write(programs.host("mkfs.xfs"), "not executable").unwrap();
    std::fs::write(programs.host("mkfs.ext4"), "executable").unwrap();
    assert!(run("chmod", &["755", text(&programs.host("mkfs.ext4"))]));
    assert_eq!(offered(&files), ["ext4"]);
}
