//! File systems, bind mounts and everything that works on them, with real mounts.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::harness::{MIB, Site, call, code, is_mount, is_root, request, run, wait, with};
use crate::helper::system::table::MountTable;
use crate::{Access, BindSource, ErrorCode, PathRole, UsageUnit};

use Access::{ReadOnly, ReadWrite};

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap()
}

fn mounted(path: &str) -> BindSource {
    BindSource::Mounted(path.to_owned())
}

#[test]
fn a_volume_of_each_file_system_lives_its_life() {
    if !is_root() {
        return;
    }
    for file_system in ["ext4", "xfs", "btrfs"] {
        let site = Site::new();
        let (writable, readable) = (site.pod("rw"), site.pod("ro"));
        let caller = call("c", &[(PathRole::Target, &writable), (PathRole::Target, &readable)]);
        let staging = site.staged(&caller, "v", file_system);
        let caller = with(&caller, PathRole::Staging, &staging);
        for _ in 0..2 {
            wait(site.node.bind(&caller, "v", mounted(&staging), &writable, ReadWrite)).unwrap();
            wait(site.node.bind(&caller, "v", mounted(&staging), &readable, ReadOnly)).unwrap();
        }
        fs::write(format!("{writable}/file"), "x").unwrap();
        assert_eq!(fs::read(format!("{readable}/file")).unwrap(), b"x", "{file_system}");
        let refused = fs::write(format!("{readable}/file"), "y").unwrap_err();
        assert_eq!(errno(&refused), Errno::ROFS, "{file_system}");
        wait(site.node.set_group(&caller, "v", &writable, 4321)).unwrap();
        let root = fs::metadata(&staging).unwrap();
        assert_eq!((root.gid(), root.mode() & 0o2070), (4321, 0o2070), "{file_system}");
        let usage = wait(site.node.get_usage(&caller, "v", &readable)).unwrap();
        assert!(usage[0].total > usage[0].used && usage[0].used > 0, "{usage:?}");
        let counts_inodes = usage.iter().any(|it| it.unit == UsageUnit::Inodes);
        assert_eq!(counts_inodes, file_system != "btrfs");
        assert!(wait(site.node.trim(&caller, "v")).unwrap() > 0, "{file_system}");
        assert_eq!(code(wait(site.node.unmount(&caller, "v", &staging))), ErrorCode::Busy);
        for target in [&writable, &readable, &staging] {
            for _ in 0..2 {
                wait(site.node.unmount(&caller, "v", target)).unwrap();
            }
        }
        assert!(!fs::exists(&writable).unwrap() && !fs::exists(&readable).unwrap());
        assert!(fs::exists(&staging).unwrap(), "the staging path is the client's");
        wait(site.node.detach_image(&caller, "v")).unwrap();
        site.assert_clean();
    }
}

#[test]
fn repeats_with_other_arguments_are_noticed() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let target = site.pod("target");
    let caller = call("c", &[(PathRole::Target, &target)]);
    let staging = site.staged(&caller, "v", "ext4");
    let caller = with(&caller, PathRole::Staging, &staging);
    let same = request("v", &staging, "ext4");
    wait(site.node.mount_device(&caller, same.clone())).unwrap();
    let mut differing = vec![same.clone(), same.clone(), request("v", &staging, "xfs")];
    differing[0].options = vec!["noatime".to_owned()];
    differing[1].access = ReadOnly;
    for request in differing {
        let mounted = wait(site.node.mount_device(&caller, request));
        assert_eq!(code(mounted), ErrorCode::AlreadyExists);
    }
    wait(site.node.bind(&caller, "v", mounted(&staging), &target, ReadWrite)).unwrap();
    let read_only = wait(site.node.bind(&caller, "v", mounted(&staging), &target, ReadOnly));
    assert_eq!(code(read_only), ErrorCode::AlreadyExists);
    // Another volume finds the place taken, and does not take it down.
    let other = wait(site.node.bind(&caller, "w", mounted(&staging), &target, ReadWrite));
    assert_eq!(code(other), ErrorCode::NotFound);
    wait(site.node.unmount(&caller, "w", &target)).unwrap();
    assert!(is_mount(&target));
    wait(site.node.unmount(&caller, "v", &target)).unwrap();
    wait(site.node.unmount(&caller, "v", &staging)).unwrap();
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn what_cannot_be_mounted_leaves_nothing_behind() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let target = site.pod("target");
    let caller = call("c", &[(PathRole::Target, &target)]);
    let unattached = wait(site.node.mount_device(&caller, request("v", &target, "ext4")));
    assert_eq!(code(unattached), ErrorCode::NotFound);
    let image = site.image("v.img", "raw");
    wait(site.node.attach_image(&caller, "v", &image, ReadWrite)).unwrap();
    let empty = wait(site.node.mount_device(&caller, request("v", &target, "ext4")));
    assert_eq!(code(empty), ErrorCode::Failed);
    let mut secret = request("v", &target, "ext4");
    secret.options = vec!["password=s3cr3t".to_owned()];
    let refused = wait(site.node.mount_device(&caller, secret)).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Invalid);
    assert!(!refused.message.contains("s3cr3t"));
    let other = wait(site.node.mount_device(&caller, request("v", &target, "vfat")));
    assert_eq!(code(other), ErrorCode::Unsupported);
    assert!(!fs::exists(&target).unwrap(), "a target that was made for a mount that failed");
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn options_and_access_reach_the_mount() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let target = site.pod("target");
    let caller = call("c", &[(PathRole::Target, &target)]);
    let image = site.image("v.img", "ext4");
    wait(site.node.attach_image(&caller, "v", &image, ReadWrite)).unwrap();
    let mut wanted = request("v", &target, "ext4");
    wanted.options = ["noatime", "nodev", "data=ordered", "commit=7"].map(str::to_owned).to_vec();
    wanted.access = ReadOnly;
    wait(site.node.mount_device(&caller, wanted)).unwrap();
    let text = run("findmnt", &["-no", "OPTIONS", &target]);
    for option in ["ro", "noatime", "nosuid", "nodev", "commit=7", "errors=remount-ro"] {
        assert!(text.split(',').any(|it| it == option), "{option} is not in {text}");
    }
    let bound = site.pod("bound");
    let caller = with(&caller, PathRole::Target, &bound);
    let writable = wait(site.node.bind(&caller, "v", mounted(&target), &bound, ReadWrite));
    assert_eq!(code(writable), ErrorCode::Invalid);
    wait(site.node.unmount(&caller, "v", &target)).unwrap();
    assert!(!fs::exists(&target).unwrap());
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

/// What the kernel says of a mount.
fn shown(path: &str) -> Vec<String> {
    run("findmnt", &["-no", "OPTIONS", path]).split(',').map(str::to_owned).collect()
}

#[test]
fn what_a_backend_shows_runs_nothing_as_root_and_opens_no_device() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    fs::create_dir(site.path("pool/d")).unwrap();
    for file_system in ["ext4", "xfs", "btrfs"] {
        let (call, target) = (call("c", &[]), site.pod("target"));
        let staging = site.staged(&call, "v", file_system);
        let caller = with(&with(&call, PathRole::Staging, &staging), PathRole::Target, &target);
        for (source, volume) in [(mounted(&staging), "v"), (BindSource::Granted("/pool/d".to_owned()), "w")] {
            wait(site.node.bind(&caller, volume, source, &target, ReadWrite)).unwrap();
            for path in [&staging, &target] {
                let options = shown(path);
                assert!(options.contains(&"nosuid".to_owned()) && options.contains(&"nodev".to_owned()), "{options:?}");
            }
            wait(site.node.unmount(&caller, volume, &target)).unwrap();
        }
        wait(site.node.unmount(&caller, "v", &staging)).unwrap();
        wait(site.node.detach_image(&caller, "v")).unwrap();
        fs::remove_dir(&staging).unwrap();
        fs::remove_file(site.path("pool/v.img")).unwrap();
    }
    site.assert_clean();
}

#[test]
fn an_image_that_asks_for_a_panic_does_not_get_it() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let image = site.image("v.img", "ext4");
    run("tune2fs", &["-e", "panic", site.path("pool/v.img").to_str().unwrap()]);
    let staging = site.staging("staging");
    let caller = call("c", &[(PathRole::Staging, &staging)]);
    wait(site.node.attach_image(&caller, "v", &image, ReadWrite)).unwrap();
    wait(site.node.mount_device(&caller, request("v", &staging, "ext4"))).unwrap();
    let options = shown(&staging);
    assert!(options.contains(&"errors=remount-ro".to_owned()), "{options:?}");
    wait(site.node.unmount(&caller, "v", &staging)).unwrap();
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn a_damaged_image_is_refused_before_its_first_mount() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let path = site.path("pool/v.img");
    File::create(&path).unwrap().set_len(32 * MIB).unwrap();
    // Without checksums, so that the count of inodes alone is wrong.
    run("mkfs.ext4", &["-F", "-q", "-O", "^metadata_csum", path.to_str().unwrap()]);
    let image = File::options().read(true).write(true).open(&path).unwrap();
    let mut count = [0; 4];
    image.read_exact_at(&mut count, 1024).unwrap();
    image.write_all_at(&(u32::from_le_bytes(count) + 8).to_le_bytes(), 1024).unwrap();
    let staging = site.staging("staging");
    let caller = call("c", &[(PathRole::Staging, &staging)]);
    wait(site.node.attach_image(&caller, "v", "/pool/v.img", ReadWrite)).unwrap();
    let refused = wait(site.node.mount_device(&caller, request("v", &staging, "ext4"))).unwrap_err();
    assert!(refused.message.contains("damaged") && refused.message.contains("e2fsck"), "{refused}");
    assert!(!is_mount(&staging));
    wait(site.node.detach_image(&caller, "v")).unwrap();
    // Put right, it is mounted.
    image.write_all_at(&count, 1024).unwrap();
    wait(site.node.attach_image(&caller, "v", "/pool/v.img", ReadWrite)).unwrap();
    for _ in 0..2 {
        wait(site.node.mount_device(&caller, request("v", &staging, "ext4"))).unwrap();
        wait(site.node.unmount(&caller, "v", &staging)).unwrap();
    }
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn access_is_changed_both_ways_and_writers_keep_it() {
    if !is_root() {
        return;
    }
    for (file_system, first) in [("ext4", ReadWrite), ("xfs", ReadOnly), ("btrfs", ReadOnly)] {
        let site = Site::new();
        let image = site.image("v.img", file_system);
        let staging = site.staging("staging");
        let caller = call("c", &[(PathRole::Staging, &staging)]);
        wait(site.node.attach_image(&caller, "v", &image, ReadWrite)).unwrap();
        let mut wanted = request("v", &staging, file_system);
        wanted.access = first;
        wait(site.node.mount_device(&caller, wanted)).unwrap();
        let file = format!("{staging}/file");
        wait(site.node.set_access(&caller, "v", &staging, ReadWrite)).unwrap();
        let writer = File::create(&file).unwrap();
        let busy = wait(site.node.set_access(&caller, "v", &staging, ReadOnly));
        assert_eq!(code(busy), ErrorCode::Busy, "{file_system}");
        drop(writer);
        for _ in 0..2 {
            wait(site.node.set_access(&caller, "v", &staging, ReadOnly)).unwrap();
            assert_eq!(errno(&fs::write(&file, "x").unwrap_err()), Errno::ROFS, "{file_system}");
        }
        assert_eq!(code(wait(site.node.trim(&caller, "v"))), ErrorCode::Unsupported);
        wait(site.node.set_access(&caller, "v", &staging, ReadWrite)).unwrap();
        fs::write(&file, "x").unwrap();
        wait(site.node.unmount(&caller, "v", &staging)).unwrap();
        wait(site.node.detach_image(&caller, "v")).unwrap();
        site.assert_clean();
    }
}

#[test]
fn a_busy_mount_is_not_taken_away() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("c", &[]);
    let staging = site.staged(&caller, "v", "ext4");
    let caller = with(&caller, PathRole::Staging, &staging);
    let held = File::create(format!("{staging}/file")).unwrap();
    assert_eq!(code(wait(site.node.unmount(&caller, "v", &staging))), ErrorCode::Busy);
    assert_eq!(code(wait(site.node.detach_image(&caller, "v"))), ErrorCode::Busy);
    assert!(is_mount(&staging));
    drop(held);
    wait(site.node.unmount(&caller, "v", &staging)).unwrap();
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn what_others_mounted_is_not_touched() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let target = site.staging("target");
    let caller = call("c", &[(PathRole::Target, &target)]);
    let staging = site.staged(&caller, "v", "ext4");
    let caller = with(&caller, PathRole::Staging, &staging);
    run("mount", &["-t", "tmpfs", "foreign", &target]);
    let bound = wait(site.node.bind(&caller, "v", mounted(&staging), &target, ReadWrite));
    assert_eq!(code(bound), ErrorCode::Busy);
    wait(site.node.unmount(&caller, "v", &target)).unwrap();
    assert!(is_mount(&target), "a mount that the ledger does not name was taken away");
    // Over a mount of ours: ours is still there, and nothing works on theirs by mistake.
    run("mount", &["-t", "tmpfs", "foreign", &staging]);
    let bound = site.pod("bound");
    let caller = with(&caller, PathRole::Target, &bound);
    let hidden = wait(site.node.bind(&caller, "v", mounted(&staging), &bound, ReadWrite));
    assert_eq!(code(hidden), ErrorCode::Busy);
    assert_eq!(code(wait(site.node.set_group(&caller, "v", &staging, 1))), ErrorCode::Busy);
    assert_eq!(code(wait(site.node.freeze(&caller, "v"))), ErrorCode::Busy);
    assert_eq!(code(wait(site.node.unmount(&caller, "v", &staging))), ErrorCode::Busy);
    for path in [&staging, &target] {
        rustix::mount::unmount(path, UnmountFlags::empty()).unwrap();
    }
    let source = MountTable::read().unwrap().topmost(&staging).unwrap().source.clone();
    assert_eq!(source, format!("/dev/{}", site.loops()[0]));
    wait(site.node.unmount(&caller, "v", &staging)).unwrap();
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn a_target_is_removed_also_when_nothing_is_mounted_there() {
    let site = Site::new();
    let (directory, file, full) = (site.staging("directory"), site.pod("file"), site.staging("full"));
    let (staging, missing) = (site.staging("staging"), site.pod("missing/below"));
    File::create(&file).unwrap();
    fs::write(format!("{full}/precious"), "x").unwrap();
    let target = PathRole::Target;
    let paths = [
        (target, directory.as_str()),
        (target, file.as_str()),
        (target, full.as_str()),
        (target, missing.as_str()),
        (PathRole::Staging, staging.as_str()),
    ];
    let caller = call("c", &paths);
    for (_, path) in paths {
        wait(site.node.unmount(&caller, "v", path)).unwrap();
    }
    let left = [&directory, &file, &full, &staging].map(|path| fs::exists(path).unwrap());
    assert_eq!(left, [false, false, true, true]);
    assert_eq!(fs::read(format!("{full}/precious")).unwrap(), b"x");
}

#[test]
fn a_single_file_is_bound() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let target = site.pod("target");
    let caller = call("c", &[(PathRole::Target, &target)]);
    fs::write(site.path("pool/file"), "x").unwrap();
    let source = BindSource::Granted("/pool/file".to_owned());
    wait(site.node.bind(&caller, "v", source, &target, ReadOnly)).unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"x");
    assert_eq!(errno(&fs::write(&target, "y").unwrap_err()), Errno::ROFS);
    wait(site.node.unmount(&caller, "v", &target)).unwrap();
    assert!(!fs::exists(&target).unwrap());
    site.assert_clean();
}
