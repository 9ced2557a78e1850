//! Crashes in every state, with real mounts: what was acknowledged stays, all else goes.

use std::fs::{self, File};
use std::io::Write;

use super::harness::{BACKEND, Site, call, code, is_mount, is_root, publication, request, run, wait, with};
use crate::helper::journal::{FILE, Header, Journal};
use crate::{Access, BindSource, Caller, EntryKind, ErrorCode, PathRole, PublicationKind};

/// Takes the last lines of the ledger away, as if the helper had died before it wrote them.
fn forget_last_lines(site: &Site, count: usize) {
    let path = site.path("state/node").join(FILE);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    fs::write(&path, lines[..lines.len() - count].concat()).unwrap();
}

/// The operation that each kind of entry comes from, and its target.
fn make(site: &Site, caller: &Caller, kind: EntryKind, target: &str) {
    let caller = with(caller, PathRole::Target, target);
    let node = &site.node;
    match kind {
        EntryKind::Device => {
            let image = site.image("x.img", "raw");
            wait(node.attach_image(&caller, "x", &image, Access::ReadWrite)).unwrap();
        }
        EntryKind::Mount => {
            let image = site.image("x.img", "ext4");
            let before = call("before", &[]);
            wait(node.attach_image(&before, "x", &image, Access::ReadWrite)).unwrap();
            wait(node.acknowledge(&before, None)).unwrap();
            wait(node.mount_device(&caller, request("x", target, "ext4"))).unwrap();
        }
        EntryKind::Bind => {
            fs::create_dir(site.path("pool/x")).unwrap();
            let source = BindSource::Granted("/pool/x".to_owned());
            wait(node.bind(&caller, "x", source, target, Access::ReadWrite)).unwrap();
        }
        EntryKind::Block => {
            let image = site.image("x.img", "raw");
            let before = call("before", &[]);
            wait(node.attach_image(&before, "x", &image, Access::ReadWrite)).unwrap();
            wait(node.acknowledge(&before, None)).unwrap();
            wait(node.publish_device(&caller, "x", target, Access::ReadWrite)).unwrap();
        }
        EntryKind::Freeze => panic!("freezes have tests of their own"),
    }
}

const KINDS: [EntryKind; 4] = [EntryKind::Device, EntryKind::Mount, EntryKind::Bind, EntryKind::Block];

/// Undoes by hand what `make` made, without the ledger's knowing.
fn undo_by_hand(site: &Site, kind: EntryKind, target: &str) {
    match kind {
        EntryKind::Device => {
            run("losetup", &["-d", &format!("/dev/{}", site.loops()[0])]);
        }
        _ => {
            run("umount", &[target]);
        }
    }
}

#[test]
fn what_was_made_and_not_acknowledged_is_undone() {
    if !is_root() {
        return;
    }
    for kind in KINDS {
        let site = Site::new();
        let target = site.pod("target");
        make(&site, &call("c", &[]), kind, &target);
        let report = site.crash();
        assert_eq!(report.undone.len(), 1, "{kind:?}: {report:?}");
        assert_eq!(report.undone[0].kind, kind);
        assert_eq!((site.mounts(), fs::exists(&target).unwrap()), (vec![], false), "{kind:?}");
        wait(site.node.detach_image(&call("end", &[]), "x")).unwrap();
        site.assert_clean();
    }
}

#[test]
fn an_intent_is_undone_whether_or_not_it_had_happened() {
    if !is_root() {
        return;
    }
    for kind in KINDS {
        for happened in [true, false] {
            let site = Site::new();
            let target = site.pod("target");
            make(&site, &call("c", &[]), kind, &target);
            site.kill();
            if !happened {
                undo_by_hand(&site, kind, &target);
            }
            forget_last_lines(&site, 1);
            let report = wait(site.node.respawn()).unwrap().unwrap();
            let counted = if happened { &report.undone } else { &report.vanished };
            assert_eq!(counted.len(), 1, "{kind:?} {happened}: {report:?}");
            assert!(!fs::exists(&target).unwrap(), "{kind:?} {happened}");
            wait(site.node.detach_image(&call("end", &[]), "x")).unwrap();
            site.assert_clean();
        }
    }
}

#[test]
fn what_was_acknowledged_is_not_touched_and_the_pod_writes_on() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let target = site.pod("target");
    let stage = call("stage", &[]);
    let staging = site.staged(&stage, "v", "ext4");
    let shown = publication("v", PublicationKind::Stage, &staging);
    wait(site.node.acknowledge(&stage, Some(shown.clone()))).unwrap();
    let publish = call("publish", &[(PathRole::Staging, &staging), (PathRole::Target, &target)]);
    let source = BindSource::Mounted(staging.clone());
    wait(site.node.bind(&publish, "v", source, &target, Access::ReadWrite)).unwrap();
    let published = publication("v", PublicationKind::Publish, &target);
    wait(site.node.acknowledge(&publish, Some(published.clone()))).unwrap();
    let mut pod = File::create(format!("{target}/log")).unwrap();
    for line in 0..3 {
        let report = site.crash();
        assert_eq!((report.kept.len(), report.undone.len()), (3, 0), "{report:?}");
        writeln!(pod, "line {line}").unwrap();
        pod.sync_all().unwrap();
    }
    let known = wait(site.node.publications(BACKEND, Some("v"))).unwrap();
    assert_eq!(known, [shown, published]);
    assert_eq!(fs::read_to_string(format!("{staging}/log")).unwrap().lines().count(), 3);
    // And everything can still be taken down in order by the next helper.
    drop(pod);
    wait(site.node.unmount(&publish, "v", &target)).unwrap();
    wait(site.node.unmount(&publish, "v", &staging)).unwrap();
    wait(site.node.detach_image(&publish, "v")).unwrap();
    assert_eq!(wait(site.node.publications(BACKEND, None)).unwrap(), vec![]);
    site.assert_clean();
}

#[test]
fn the_second_device_of_a_read_only_publication_survives_with_it() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let (kept, lost) = (site.pod("kept"), site.pod("lost"));
    let image = site.image("v.img", "raw");
    let first = call("first", &[(PathRole::Target, &kept)]);
    wait(site.node.attach_image(&first, "v", &image, Access::ReadWrite)).unwrap();
    wait(site.node.publish_device(&first, "v", &kept, Access::ReadOnly)).unwrap();
    let shown = publication("v", PublicationKind::Publish, &kept);
    wait(site.node.acknowledge(&first, Some(shown))).unwrap();
    let second = call("second", &[(PathRole::Target, &lost)]);
    wait(site.node.publish_device(&second, "v", &lost, Access::ReadWrite)).unwrap();
    let report = site.crash();
    assert_eq!((report.kept.len(), report.undone.len()), (3, 1), "{report:?}");
    assert!(is_mount(&kept) && !fs::exists(&lost).unwrap());
    assert_eq!(site.loops().len(), 2);
    wait(site.node.unmount(&first, "v", &kept)).unwrap();
    wait(site.node.detach_image(&first, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn an_undo_that_was_cut_off_is_finished() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("c", &[]);
    let staging = site.staged(&caller, "v", "xfs");
    let shown = publication("v", PublicationKind::Stage, &staging);
    wait(site.node.acknowledge(&caller, Some(shown))).unwrap();
    let caller = with(&caller, PathRole::Staging, &staging);
    wait(site.node.unmount(&caller, "v", &staging)).unwrap();
    wait(site.node.detach_image(&caller, "v")).unwrap();
    site.kill();
    // Undone, but neither line was struck out yet.
    forget_last_lines(&site, 2);
    let report = wait(site.node.respawn()).unwrap().unwrap();
    assert_eq!(report.vanished.len(), 2, "{report:?}");
    assert_eq!(wait(site.node.publications(BACKEND, None)).unwrap(), vec![], "it is not staged any more");
    site.assert_clean();
}

#[test]
fn after_a_reboot_nothing_is_believed_and_nothing_touched() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("c", &[]);
    let staging = site.staged(&caller, "v", "ext4");
    let shown = publication("v", PublicationKind::Stage, &staging);
    wait(site.node.acknowledge(&caller, Some(shown))).unwrap();
    site.kill();
    let state = site.path("state/node");
    let (_, header, records) = Journal::open(&state, "any").unwrap().unwrap();
    let header = Header::new(header.next_id, "another start of the machine");
    Journal::create(&state, &header, &records).unwrap();
    let report = wait(site.node.respawn()).unwrap().unwrap();
    assert_eq!((report.vanished.len(), report.kept.len()), (2, 0), "{report:?}");
    assert_eq!(wait(site.node.publications(BACKEND, None)).unwrap(), vec![]);
    // What is mounted now is not what the ledger spoke of, however alike.
    assert!(is_mount(&staging));
    assert_eq!(site.loops().len(), 1);
}

#[test]
fn abandoning_undoes_what_the_call_made_and_leaves_what_it_found() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let stage = call("stage", &[]);
    let staging = site.staged(&stage, "v", "ext4");
    wait(site.node.acknowledge(&stage, None)).unwrap();
    let target = site.pod("target");
    let publish = call("publish", &[(PathRole::Staging, &staging), (PathRole::Target, &target)]);
    wait(site.node.mount_device(&publish, request("v", &staging, "ext4"))).unwrap();
    let source = BindSource::Mounted(staging.clone());
    wait(site.node.bind(&publish, "v", source.clone(), &target, Access::ReadWrite)).unwrap();
    let held = File::create(format!("{target}/file")).unwrap();
    assert_eq!(code(wait(site.node.abandon(&publish))), ErrorCode::Busy);
    drop(held);
    for _ in 0..2 {
        wait(site.node.abandon(&publish)).unwrap();
    }
    assert!(is_mount(&staging) && !fs::exists(&target).unwrap());
    // After it was acknowledged a late abandon changes nothing.
    wait(site.node.bind(&publish, "v", source, &target, Access::ReadWrite)).unwrap();
    let shown = publication("v", PublicationKind::Publish, &target);
    wait(site.node.acknowledge(&publish, Some(shown))).unwrap();
    wait(site.node.abandon(&publish)).unwrap();
    assert!(is_mount(&target));
    wait(site.node.unmount(&publish, "v", &target)).unwrap();
    wait(site.node.unmount(&publish, "v", &staging)).unwrap();
    wait(site.node.detach_image(&publish, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn a_mount_that_somebody_took_away_is_neither_published_nor_in_the_way() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let stage = call("stage", &[]);
    let staging = site.staged(&stage, "v", "ext4");
    let stage = with(&stage, PathRole::Staging, &staging);
    let shown = publication("v", PublicationKind::Stage, &staging);
    wait(site.node.acknowledge(&stage, Some(shown.clone()))).unwrap();
    assert_eq!(wait(site.node.publications(BACKEND, Some("v"))).unwrap(), [shown]);
    run("umount", &[&staging]);
    assert_eq!(wait(site.node.publications(BACKEND, Some("v"))).unwrap(), vec![]);
    wait(site.node.mount_device(&stage, request("v", &staging, "ext4"))).unwrap();
    assert!(is_mount(&staging));
    wait(site.node.unmount(&stage, "v", &staging)).unwrap();
    wait(site.node.detach_image(&stage, "v")).unwrap();
    site.assert_clean();
}

#[test]
fn a_publication_without_mounts_stands_until_it_is_forgotten() {
    let site = Site::new();
    let caller = call("c", &[]);
    let shown = publication("v", PublicationKind::Publish, "/somewhere/else");
    wait(site.node.acknowledge(&caller, Some(shown.clone()))).unwrap();
    site.crash();
    assert_eq!(wait(site.node.publications(BACKEND, Some("v"))).unwrap(), [shown]);
    for _ in 0..2 {
        wait(site.node.forget(&caller, "v", "/somewhere/else")).unwrap();
    }
    site.crash();
    assert_eq!(wait(site.node.publications(BACKEND, None)).unwrap(), vec![]);
}
