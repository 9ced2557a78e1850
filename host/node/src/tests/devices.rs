//! Loop devices and raw publications, with real devices.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileTypeExt;

use super::harness::{
    BACKEND, MIB, PERMISSIONS, Site, call, code, grants, is_mount, is_root, request, run, wait, with,
};
use crate::helper::ops::filesystem::may_resize_ext4;
use crate::{Access, Caller, EntryKind, ErrorCode, PathRole, Permissions, UsageUnit};

use Access::{ReadOnly, ReadWrite};

#[test]
fn attaching_is_repeatable_and_detaching_frees_the_device() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("c", &[]);
    let image = site.image("v.img", "raw");
    let other = site.image("w.img", "raw");
    for _ in 0..2 {
        wait(site.node.attach_image(&caller, "v", &image, ReadWrite)).unwrap();
        assert_eq!(site.loops().len(), 1);
    }
    let differently = wait(site.node.attach_image(&caller, "v", &image, ReadOnly));
    assert_eq!(code(differently), ErrorCode::AlreadyExists);
    let another = wait(site.node.attach_image(&caller, "v", &other, ReadWrite));
    assert_eq!(code(another), ErrorCode::AlreadyExists);
    let second_volume = wait(site.node.attach_image(&caller, "w", &image, ReadWrite));
    assert_eq!(code(second_volume), ErrorCode::Busy);
    let entries = wait(site.node.list_entries(&caller, Some("v"))).unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!((entries[0].kind, &entries[0].path), (EntryKind::Device, &site.loops()[0]));
    for _ in 0..2 {
        wait(site.node.detach_image(&caller, "v")).unwrap();
    }
    site.assert_clean();
}

#[test]
fn a_device_that_is_not_ours_keeps_its_image() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let image = site.image("v.img", "raw");
    let path = site.path("pool/v.img");
    run("losetup", &["-f", path.to_str().unwrap()]);
    let attached = wait(site.node.attach_image(&call("c", &[]), "v", &image, ReadWrite));
    assert_eq!(code(attached), ErrorCode::Busy);
    let reading = wait(site.node.attach_image(&call("c", &[]), "v", &image, ReadOnly));
    assert_eq!(code(reading), ErrorCode::Busy, "the other one writes");
    site.crash();
    assert_eq!(site.loops().len(), 1, "it is still there");
    run("losetup", &["-d", &format!("/dev/{}", site.loops()[0])]);
    site.assert_clean();
}

#[test]
fn a_read_only_grant_gives_a_read_only_device() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("c", &[]);
    site.image("v.img", "raw");
    wait(site.node.attach_image(&caller, "v", "/frozen-pool/v.img", ReadOnly)).unwrap();
    let read_only = fs::read_to_string(format!("/sys/block/{}/ro", site.loops()[0])).unwrap();
    assert_eq!(read_only.trim(), "1");
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn a_device_in_use_is_busy_and_usable_again_afterwards() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("c", &[]);
    let image = site.image("v.img", "raw");
    wait(site.node.attach_image(&caller, "v", &image, ReadWrite)).unwrap();
    let name = site.loops()[0].clone();
    // Not exclusive, as a program in a pod would have it.
    let held = File::open(format!("/dev/{name}")).unwrap();
    assert_eq!(code(wait(site.node.detach_image(&caller, "v"))), ErrorCode::Busy);
    // Attaching anew takes back the device's promise to vanish with its last user.
    wait(site.node.attach_image(&caller, "v", &image, ReadWrite)).unwrap();
    drop(held);
    assert_eq!(site.loops(), [name.as_str()]);
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn a_raw_device_is_published_writable_and_read_only_at_once() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let (writable, readable) = (site.pod("rw"), site.pod("ro"));
    let caller = call("c", &[(PathRole::Target, &writable), (PathRole::Target, &readable)]);
    let image = site.image("v.img", "raw");
    wait(site.node.attach_image(&caller, "v", &image, ReadWrite)).unwrap();
    for _ in 0..2 {
        wait(site.node.publish_device(&caller, "v", &writable, ReadWrite)).unwrap();
        wait(site.node.publish_device(&caller, "v", &readable, ReadOnly)).unwrap();
    }
    let differently = wait(site.node.publish_device(&caller, "v", &writable, ReadOnly));
    assert_eq!(code(differently), ErrorCode::AlreadyExists);
    assert!(fs::metadata(&writable).unwrap().file_type().is_block_device());
    let mut device = OpenOptions::new().write(true).open(&writable).unwrap();
    device.write_all(b"written by a pod").unwrap();
    device.sync_all().unwrap();
    let written = OpenOptions::new().write(true).open(&readable).and_then(|mut it| it.write_all(b"x"));
    assert!(written.is_err(), "the read-only device took a write");
    let mut text = [0; 16];
    File::open(&readable).unwrap().read_exact(&mut text).unwrap();
    assert_eq!(&text, b"written by a pod");
    let usage = wait(site.node.get_usage(&caller, "v", &readable)).unwrap();
    assert_eq!((usage.len(), usage[0].total, usage[0].unit), (1, 32 * MIB, UsageUnit::Bytes));
    assert_eq!(code(wait(site.node.freeze(&caller, "v"))), ErrorCode::Unsupported);
    assert_eq!(code(wait(site.node.detach_image(&caller, "v"))), ErrorCode::Busy);
    drop(device);
    for target in [&readable, &writable] {
        wait(site.node.unmount(&caller, "v", target)).unwrap();
        assert!(!fs::exists(target).unwrap());
    }
    assert_eq!(site.loops().len(), 1, "the second device went with its publication");
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn a_raw_device_and_a_mounted_file_system_exclude_each_other() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let target = site.pod("target");
    let caller = call("c", &[(PathRole::Target, &target)]);
    let staging = site.staged(&caller, "v", "ext4");
    let published = wait(site.node.publish_device(&caller, "v", &target, ReadWrite));
    assert_eq!(code(published), ErrorCode::Busy);
    assert!(!fs::exists(&target).unwrap());
    let caller = with(&caller, PathRole::Staging, &staging);
    wait(site.node.unmount(&caller, "v", &staging)).unwrap();
    wait(site.node.publish_device(&caller, "v", &target, ReadWrite)).unwrap();
    let mounted = wait(site.node.mount_device(&caller, request("v", &staging, "ext4")));
    assert_eq!(code(mounted), ErrorCode::Busy);
    wait(site.node.unmount(&caller, "v", &target)).unwrap();
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn growing_reaches_devices_and_mounted_file_systems() {
    if !is_root() {
        return;
    }
    for file_system in ["ext4", "xfs", "btrfs", "raw"] {
        let site = Site::new();
        let caller = call("c", &[]);
        let image = site.image("v.img", file_system);
        let staging = site.staging("staging");
        let caller = with(&caller, PathRole::Staging, &staging);
        wait(site.node.attach_image(&caller, "v", &image, ReadWrite)).unwrap();
        let mounted = file_system != "raw";
        if mounted {
            wait(site.node.mount_device(&caller, request("v", &staging, file_system))).unwrap();
        }
        let mut file = OpenOptions::new().write(true).open(site.path("pool/v.img")).unwrap();
        let doubled = file.seek(SeekFrom::End(0)).unwrap() * 2;
        file.set_len(doubled).unwrap();
        if file_system == "ext4" && !may_resize_ext4() {
            println!("skipped: growing a mounted ext4 needs CAP_SYS_RESOURCE");
            assert_eq!(code(wait(site.node.grow(&caller, "v"))), ErrorCode::Unsupported);
            continue;
        }
        for _ in 0..2 {
            assert_eq!(wait(site.node.grow(&caller, "v")).unwrap(), doubled, "{file_system}");
        }
        if mounted {
            let usage = wait(site.node.get_usage(&caller, "v", &staging)).unwrap();
            assert!(usage[0].total > doubled * 7 / 10, "{file_system} has {} bytes", usage[0].total);
            wait(site.node.unmount(&caller, "v", &staging)).unwrap();
            assert!(!is_mount(&staging));
        }
        wait(site.node.detach_image(&caller, "v")).unwrap();
        site.assert_clean();
    }
}

#[test]
fn two_backends_do_not_see_each_others_volumes() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("c", &[]);
    let image = site.image("v.img", "raw");
    wait(site.node.attach_image(&caller, "v", &image, ReadWrite)).unwrap();
    let mut other = call("c", &[]);
    other.backend = "other".to_owned();
    let permissions = site.mandate.backends.get(BACKEND).unwrap();
    site.configure(&[BACKEND, "other"].map(|name| (name.to_owned(), permissions.clone())).into());
    wait(site.node.permit("other", permissions)).unwrap();
    assert_eq!(wait(site.node.list_entries(&other, None)).unwrap(), vec![]);
    wait(site.node.detach_image(&other, "v")).unwrap();
    wait(site.node.abandon(&other)).unwrap();
    assert_eq!(site.loops().len(), 1, "another backend's volume of the same name was detached");
    assert_eq!(code(wait(site.node.attach_image(&other, "v", &image, ReadWrite))), ErrorCode::Busy);
    assert_eq!(caller.backend, BACKEND);
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn a_backend_has_so_many_devices_and_no_more() {
    if !is_root() {
        return;
    }
    let site = Site::configured(|root| {
        let permissions = Permissions { directories: grants(root), devices: 2, ..PERMISSIONS };
        [BACKEND, "other"].map(|name| (name.to_owned(), permissions.clone())).into()
    });
    let caller = call("c", &[]);
    let attach = |caller: &Caller, volume: &str| {
        let image = site.image(&format!("{}-{volume}.img", caller.backend), "raw");
        wait(site.node.attach_image(caller, volume, &image, ReadWrite))
    };
    attach(&caller, "v").unwrap();
    attach(&caller, "w").unwrap();
    let refused = attach(&caller, "x").unwrap_err();
    assert!(refused.code == ErrorCode::Limit && refused.message.contains("node-devices"), "{refused}");
    assert_eq!(site.loops().len(), 2);
    // A raw device for reading has a loop device of its own.
    let target = site.pod("target");
    let publishing = with(&caller, PathRole::Target, &target);
    let shown = wait(site.node.publish_device(&publishing, "v", &target, ReadOnly));
    assert_eq!(code(shown), ErrorCode::Limit);
    assert!(!fs::exists(&target).unwrap());
    // Another backend has its own, and one that was given back is free again.
    let mut other = caller.clone();
    other.backend = "other".to_owned();
    attach(&other, "v").unwrap();
    wait(site.node.detach_image(&caller, "w")).unwrap();
    attach(&caller, "x").unwrap();
    for (caller, volume) in [(&caller, "v"), (&caller, "x"), (&other, "v")] {
        wait(site.node.detach_image(caller, volume)).unwrap();
    }
    site.assert_clean();
}
