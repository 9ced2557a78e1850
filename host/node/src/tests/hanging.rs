//! A helper that begins while a server does not answer: what it left there is recovered beside everything else.

use std::fs::{self, File};
use std::time::Duration;

use super::harness::{BACKEND, MIB, Site, call, is_mount, is_root, launch, run, wait, with};
use super::starvation::wait_with_time;
use crate::client::Launch;
use crate::helper::journal::Journal;
use crate::helper::ledger::{Entry, FileId, Record, Shared, Stage};
use crate::helper::system::syscalls;
use crate::protocol::{NfsShare, Share};
use crate::{Access, BindSource, EntryKind, Node, PathRole};

/// So long nobody waits for what is done at once.
const PATIENCE: Duration = Duration::from_mins(1);

/// A mount of a share that a helper wrote down and died over.
fn begun(id: u64, target: &str) -> Entry {
    let asked =
        Share::Nfs(NfsShare { server: "192.0.2.1".to_owned(), export: "/export".to_owned(), subdirectory: None });
    Entry {
        id,
        backend: BACKEND.to_owned(),
        volume: "v".to_owned(),
        kind: EntryKind::Mount,
        path: target.to_owned(),
        place: target.to_owned(),
        backing: FileId { device: 0, inode: 0 },
        access: Access::ReadWrite,
        created_path: true,
        call: "before".to_owned(),
        stage: Stage::Intended,
        stands_on: None,
        source: None,
        recipe: None,
        mark: None,
        share: Some(Box::new(Shared { asked, source: "192.0.2.1:/export".to_owned() })),
        connected: None,
    }
}

/// An image may be such that its check takes minutes; the next helper, which serves all backends, does not wait for that.
#[test]
fn a_check_without_end_ends_with_its_host() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    let programs = site.path("programs");
    fs::create_dir(&programs).unwrap();
    fs::write(programs.join("e2fsck"), "#!/bin/sh\nexec sleep 900\n").unwrap();
    run("chmod", &["755", programs.join("e2fsck").to_str().unwrap()]);
    site.kill();
    let Launch::Program { exe, mut arguments, variable, mandate } = launch(site.mandate.clone()) else { return };
    arguments.insert(0, exe.to_str().unwrap().to_owned());
    arguments.insert(0, format!("PATH={}:{}", programs.display(), std::env::var("PATH").unwrap()));
    let slow = Node::start(Launch::Program { exe: "/usr/bin/env".into(), arguments, variable, mandate }).unwrap();
    let image = site.image("v.img", "ext4");
    let caller = call("c", &[]);
    let was_served = wait_with_time(async {
        slow.recover().await.unwrap();
        slow.attach_image(&caller, "v", &image, Access::ReadWrite).await.unwrap();
        // Under way, and given up with its host.
        let renewal = slow.renew_uuid(&caller, "v", "ext4");
        assert!(tokio::time::timeout(Duration::from_millis(500), renewal).await.is_err(), "it takes long");
        drop(slow);
        tokio::time::timeout(PATIENCE, site.node.respawn()).await.is_ok_and(|begun| begun.unwrap().is_some())
    });
    assert!(was_served, "the next helper waits for it");
    assert!(site.loops().is_empty(), "what the call had made is undone");
    site.assert_clean();
}

#[test]
fn what_hangs_is_recovered_beside_what_is_served() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    fs::create_dir(site.path("pool/d")).unwrap();
    // In the place of a server: a file system that holds whoever removes something from it.
    let (image, slow) = (site.path("slow.img"), site.staging("slow"));
    File::create(&image).unwrap().set_len(32 * MIB).unwrap();
    run("mkfs.ext4", &["-F", "-q", image.to_str().unwrap()]);
    run("mount", &["-o", "loop", image.to_str().unwrap(), &slow]);
    let target = format!("{slow}/target");
    fs::create_dir(&target).unwrap();
    site.kill();
    let (mut journal, header, _) = Journal::open(&site.path("state/node"), "any").unwrap().unwrap();
    journal.append(&Record::Put(begun(header.next_id, &target))).unwrap();
    drop(journal);
    let root = File::open(&slow).unwrap();
    syscalls::freeze(&root).unwrap();

    let other = site.pod("other");
    let caller = with(&call("c", &[(PathRole::Target, &other)]), PathRole::Target, &target);
    let served = async {
        site.node.respawn().await.unwrap().unwrap();
        let source = BindSource::Granted("/pool/d".to_owned());
        site.node.bind(&caller, "w", source, &other, Access::ReadWrite).await.unwrap();
    };
    let (was_served, was_held) = wait_with_time(async {
        let was_served = tokio::time::timeout(PATIENCE, served).await.is_ok();
        (was_served, fs::exists(&target).unwrap())
    });
    syscalls::thaw(&root).unwrap();
    assert!(was_served, "all wait for what hangs");
    assert!(is_mount(&other) && was_held, "it did hang");
    // This waits for the volume's turn, which recovery has.
    wait(site.node.unmount(&caller, "v", &target)).unwrap();
    assert!(!fs::exists(&target).unwrap());
    wait(site.node.unmount(&caller, "w", &other)).unwrap();
    drop(root);
    run("umount", &[&slow]);
    site.assert_clean();
}
