//! Freezes: they hold writes, end by themselves, and say when a cut is not to be trusted.

use std::fs::{self, File};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::harness::{Site, call, code, is_root, request, wait, with};
use crate::helper::system::syscalls;
use crate::{Caller, ErrorCode, Operation, PathRole, Request};

fn freeze_for(site: &Site, caller: &Caller, milliseconds: u64) {
    let operation = Operation::Freeze { volume: "v".to_owned(), hold_ms: milliseconds };
    wait(site.node.request(Request { caller: caller.clone(), operation })).unwrap();
}

/// Freezing twice is refused by the kernel, which tells us without changing anything.
fn is_frozen(path: &str) -> bool {
    let root = File::open(path).unwrap();
    match syscalls::freeze(&root) {
        Err(Errno::BUSY) => true,
        Ok(()) => {
            syscalls::thaw(&root).unwrap();
            false
        }
        Err(errno) => panic!("freezing {path}: {errno}"),
    }
}

#[test]
fn a_freeze_holds_writes_until_the_thaw() {
    if !is_root() {
        return;
    }
    for file_system in ["ext4", "xfs", "btrfs"] {
        let site = Site::new();
        let caller = call("c", &[]);
        let staging = site.staged(&caller, "v", file_system);
        let caller = with(&caller, PathRole::Staging, &staging);
        for _ in 0..2 {
            wait(site.node.freeze(&caller, "v")).unwrap();
        }
        assert!(is_frozen(&staging), "{file_system}");
        assert_eq!(wait(site.node.load()).unwrap().frozen, 1);
        let file = format!("{staging}/file");
        let writer = thread::spawn(move || fs::write(file, "x"));
        // Whatever would wait for the frozen file system is refused instead.
        assert_eq!(code(wait(site.node.unmount(&caller, "v", &staging))), ErrorCode::Busy);
        assert_eq!(code(wait(site.node.set_group(&caller, "v", &staging, 1))), ErrorCode::Busy);
        wait(site.node.get_usage(&caller, "v", &staging)).unwrap();
        assert!(!writer.is_finished());
        wait(site.node.thaw(&caller, "v")).unwrap();
        writer.join().unwrap().unwrap();
        assert_eq!(code(wait(site.node.thaw(&caller, "v"))), ErrorCode::NotFound);
        wait(site.node.unmount(&caller, "v", &staging)).unwrap();
        wait(site.node.detach_image(&caller, "v")).unwrap();
        site.assert_clean();
    }
}

#[test]
fn a_freeze_ends_by_itself_and_the_thaw_says_so() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("c", &[]);
    let staging = site.staged(&caller, "v", "ext4");
    let started = Instant::now();
    freeze_for(&site, &caller, 300);
    // Blocks until the watchdog lets go.
    fs::write(format!("{staging}/file"), "x").unwrap();
    assert!(started.elapsed() >= Duration::from_millis(300));
    assert_eq!(code(wait(site.node.thaw(&caller, "v"))), ErrorCode::NotFound);
    assert!(!is_frozen(&staging));
    let caller = with(&caller, PathRole::Staging, &staging);
    wait(site.node.unmount(&caller, "v", &staging)).unwrap();
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn a_thaw_by_somebody_else_is_noticed() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("c", &[]);
    let staging = site.staged(&caller, "v", "ext4");
    wait(site.node.freeze(&caller, "v")).unwrap();
    syscalls::thaw(File::open(&staging).unwrap()).unwrap();
    assert_eq!(code(wait(site.node.thaw(&caller, "v"))), ErrorCode::NotFound);
    // The reverse: frozen by somebody else is busy, and stays frozen.
    syscalls::freeze(File::open(&staging).unwrap()).unwrap();
    assert_eq!(code(wait(site.node.freeze(&caller, "v"))), ErrorCode::Busy);
    assert!(is_frozen(&staging));
    syscalls::thaw(File::open(&staging).unwrap()).unwrap();
    let caller = with(&caller, PathRole::Staging, &staging);
    wait(site.node.unmount(&caller, "v", &staging)).unwrap();
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn a_volume_that_is_not_mounted_is_held_unmounted() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("c", &[]);
    let staging = site.staged(&caller, "v", "ext4");
    let caller = with(&caller, PathRole::Staging, &staging);
    wait(site.node.unmount(&caller, "v", &staging)).unwrap();
    wait(site.node.freeze(&caller, "v")).unwrap();
    let mounted = wait(site.node.mount_device(&caller, request("v", &staging, "ext4")));
    assert_eq!(code(mounted), ErrorCode::Busy, "a mount would write during the cut");
    wait(site.node.thaw(&caller, "v")).unwrap();
    // A call that failed between the two lets go as well.
    wait(site.node.freeze(&caller, "v")).unwrap();
    wait(site.node.abandon(&caller)).unwrap();
    assert_eq!(code(wait(site.node.thaw(&caller, "v"))), ErrorCode::NotFound);
    site.assert_clean();
}

#[test]
fn a_frozen_volume_is_thawed_after_a_crash_and_stays_mounted() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("stage", &[]);
    let staging = site.staged(&caller, "v", "ext4");
    wait(site.node.acknowledge(&caller, None)).unwrap();
    wait(site.node.freeze(&call("cut", &[]), "v")).unwrap();
    site.kill();
    assert!(is_frozen(&staging), "nobody was there to thaw it");
    let report = wait(site.node.respawn()).unwrap().unwrap();
    assert_eq!((report.undone.len(), report.kept.len()), (1, 2), "{report:?}");
    assert!(!is_frozen(&staging));
    fs::write(format!("{staging}/file"), "x").unwrap();
    assert_eq!(code(wait(site.node.thaw(&call("cut", &[]), "v"))), ErrorCode::NotFound);
}

#[test]
fn an_abandoned_call_thaws_what_it_froze() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("stage", &[]);
    let staging = site.staged(&caller, "v", "ext4");
    wait(site.node.acknowledge(&caller, None)).unwrap();
    let cut = call("cut", &[]);
    wait(site.node.freeze(&cut, "v")).unwrap();
    wait(site.node.abandon(&cut)).unwrap();
    assert!(!is_frozen(&staging));
    assert_eq!(wait(site.node.load()).unwrap().frozen, 0);
}
