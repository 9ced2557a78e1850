//! Growing that was cut off: whatever it left, the next mount is of a whole file system.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::harness::{Site, call, is_root, request, run, wait, with};
use crate::{Access, PathRole};

const SUPERBLOCK: usize = 1024;
const STATE: u64 = 1024 + 0x3a;
const ERRORS: u8 = 2;

/// Sets the size of an image and makes its unmounted file system as large.
fn grow_unmounted(image: &Path, bytes: u64) {
    OpenOptions::new().write(true).open(image).unwrap().set_len(bytes).unwrap();
    let path = image.to_str().unwrap();
    run("e2fsck", &["-f", "-y", path]);
    run("resize2fs", &[path]);
}

/// Mounts the image for writing, and shows that it has its file and is as large as it can be.
fn assert_mounts_whole(site: &Site, what: &str, bytes: u64) {
    let staging = site.pod("staging");
    let caller = with(&call("c", &[]), PathRole::Staging, &staging);
    wait(site.node.attach_image(&caller, "v", "/pool/v.img", Access::ReadWrite)).unwrap();
    let mounted = wait(site.node.mount_device(&caller, request("v", &staging, "ext4")));
    mounted.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(fs::read(format!("{staging}/file")).unwrap(), b"kept", "{what}");
    let usage = wait(site.node.get_usage(&caller, "v", &staging)).unwrap();
    assert!(usage[0].total > bytes * 7 / 10, "{what}: {} of {bytes} bytes", usage[0].total);
    wait(site.node.unmount(&caller, "v", &staging)).unwrap();
    wait(site.node.detach_image(&caller, "v")).unwrap();
    run("e2fsck", &["-f", "-n", site.path("pool/v.img").to_str().unwrap()]);
}

/// An image with a file in it that is no more mounted, and its size.
fn used_image(site: &Site) -> u64 {
    let caller = call("c", &[]);
    let staging = site.staged(&caller, "v", "ext4");
    let caller = with(&caller, PathRole::Staging, &staging);
    fs::write(format!("{staging}/file"), "kept").unwrap();
    wait(site.node.unmount(&caller, "v", &staging)).unwrap();
    wait(site.node.detach_image(&caller, "v")).unwrap();
    fs::rename(&staging, site.pod("staging")).unwrap();
    fs::metadata(site.path("pool/v.img")).unwrap().len()
}

/// The program that grows writes the superblock two bytes at a time, and last of all the checksum.
#[test]
fn a_superblock_that_was_written_in_part_is_repaired() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let bytes = 2 * used_image(&site);
    let image = site.path("pool/v.img");
    let old = fs::read(&image).unwrap();
    grow_unmounted(&image, bytes);
    let grown = fs::read(&image).unwrap();
    let mut words: Vec<usize> = (SUPERBLOCK..2 * SUPERBLOCK).step_by(2).collect();
    words.retain(|at| old[*at..at + 2] != grown[*at..at + 2]);
    assert!(words.len() > 3, "{words:?}");
    let mut refused = 0;
    for written in 0..words.len() {
        let mut torn = grown.clone();
        for at in &words[written..] {
            torn[*at..at + 2].copy_from_slice(&old[*at..at + 2]);
        }
        fs::write(&image, &torn).unwrap();
        let (path, staging) = (image.to_str().unwrap(), site.pod("staging"));
        let plain = std::process::Command::new("mount").args(["-o", "loop", path, &staging]).output().unwrap();
        if plain.status.success() {
            run("umount", &[&staging]);
            fs::write(&image, &torn).unwrap();
        } else {
            refused += 1;
        }
        assert_mounts_whole(&site, &format!("{written} of {} words", words.len()), bytes);
    }
    assert!(refused > 0, "the kernel takes every one of them, so there was nothing to repair");
    site.assert_clean();
}

#[test]
fn a_file_system_that_knows_of_errors_is_checked() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let bytes = used_image(&site);
    let image = site.path("pool/v.img");
    run("debugfs", &["-w", "-R", "set_super_value state 3", image.to_str().unwrap()]);
    let state = || {
        let mut state = [0];
        OpenOptions::new().read(true).open(&image).unwrap().read_exact_at(&mut state, STATE).unwrap();
        state[0]
    };
    assert_eq!(state() & ERRORS, ERRORS);
    assert_mounts_whole(&site, "with errors", bytes);
    assert_eq!(state() & ERRORS, 0, "mounting does not clear the mark, checking does");
    site.assert_clean();
}
