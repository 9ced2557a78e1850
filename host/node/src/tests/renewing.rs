//! New UUIDs: a copy and its original are mounted side by side.

use std::fs::{self, File};

use super::harness::{BACKEND, Site, call, code, is_root, request, run, wait, with};
use crate::helper::journal::Journal;
use crate::helper::ledger::{FileId, Record, Renewal};
use crate::{Access, ErrorCode, PathRole};

use std::os::unix::fs::MetadataExt;

fn uuid(device: &str) -> String {
    run("blkid", &["-p", "-o", "value", "-s", "UUID", &format!("/dev/{device}")])
}

#[test]
fn a_copy_of_a_mounted_file_system_is_mounted_beside_it() {
    if !is_root() {
        return;
    }
    for file_system in ["ext4", "xfs", "btrfs"] {
        let site = Site::new();
        let copy = site.staging("copy");
        let caller = call("c", &[(PathRole::Staging, &copy)]);
        let origin = site.staged(&caller, "v", file_system);
        fs::write(format!("{origin}/file"), "x").unwrap();
        let first_loop = site.loops().remove(0);
        // Synced but not frozen: what was written is only in the copy's journal.
        File::open(format!("{origin}/file")).unwrap().sync_all().unwrap();
        fs::copy(site.path("pool/v.img"), site.path("pool/w.img")).unwrap();
        wait(site.node.attach_image(&caller, "w", "/pool/w.img", Access::ReadWrite)).unwrap();
        let second_loop = site.loops().into_iter().find(|it| *it != first_loop).unwrap();
        assert_eq!(uuid(&first_loop), uuid(&second_loop));
        for _ in 0..2 {
            let before = uuid(&second_loop);
            wait(site.node.renew_uuid(&caller, "w", file_system)).unwrap();
            assert_ne!(uuid(&second_loop), before, "{file_system}");
        }
        wait(site.node.mount_device(&caller, request("w", &copy, file_system))).unwrap();
        assert_eq!(fs::read(format!("{copy}/file")).unwrap(), b"x", "{file_system}");
        fs::write(format!("{copy}/file"), "of the copy").unwrap();
        assert_eq!(fs::read(format!("{origin}/file")).unwrap(), b"x", "{file_system}");
        let busy = wait(site.node.renew_uuid(&caller, "w", file_system));
        assert_eq!(code(busy), ErrorCode::Busy, "{file_system}");
        let caller = with(&caller, PathRole::Staging, &origin);
        for (volume, path) in [("v", &origin), ("w", &copy)] {
            wait(site.node.unmount(&caller, volume, path)).unwrap();
            wait(site.node.detach_image(&caller, volume)).unwrap();
        }
        site.assert_clean();
    }
}

#[test]
fn a_renewal_that_was_cut_off_is_done_again_before_the_first_mount() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let image = site.image("v.img", "ext4");
    let staging = site.staging("staging");
    let caller = call("c", &[(PathRole::Staging, &staging)]);
    wait(site.node.attach_image(&caller, "v", &image, Access::ReadWrite)).unwrap();
    wait(site.node.acknowledge(&caller, None)).unwrap();
    site.kill();
    let metadata = fs::metadata(site.path("pool/v.img")).unwrap();
    let image = FileId { device: metadata.dev(), inode: metadata.ino() };
    let (mut journal, _, _) = Journal::open(&site.path("state/node"), "any").unwrap().unwrap();
    let (backend, volume) = (BACKEND.to_owned(), "v".to_owned());
    let begun = Record::Renew(Renewal { backend, volume, image });
    journal.append(&begun).unwrap();
    wait(site.node.respawn()).unwrap().unwrap();
    let mounted = wait(site.node.mount_device(&caller, request("v", &staging, "ext4")));
    assert_eq!(code(mounted), ErrorCode::Busy);
    wait(site.node.renew_uuid(&caller, "v", "ext4")).unwrap();
    wait(site.node.mount_device(&caller, request("v", &staging, "ext4"))).unwrap();
    wait(site.node.unmount(&caller, "v", &staging)).unwrap();
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn what_is_no_such_file_system_keeps_its_contents() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("c", &[]);
    let image = site.image("v.img", "raw");
    wait(site.node.attach_image(&caller, "v", &image, Access::ReadOnly)).unwrap();
    assert_eq!(code(wait(site.node.renew_uuid(&caller, "v", "ext4"))), ErrorCode::Invalid);
    wait(site.node.detach_image(&caller, "v")).unwrap();
    wait(site.node.attach_image(&caller, "v", &image, Access::ReadWrite)).unwrap();
    for file_system in ["ext4", "xfs", "btrfs"] {
        let renewed = wait(site.node.renew_uuid(&caller, "v", file_system));
        assert_eq!(code(renewed), ErrorCode::Failed, "{file_system}");
    }
    assert_eq!(code(wait(site.node.renew_uuid(&caller, "v", "vfat"))), ErrorCode::Unsupported);
    let bytes = fs::read(site.path("pool/v.img")).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0));
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}
