//! The handle: many requests at once, a helper that dies, a state directory that cannot be used.

use std::sync::Arc;

use super::harness::{Site, call, code, is_root, kill, launch, wait};
use crate::{Access, BindSource, Caller, ErrorCode, Mandate, Node, PathRole};

#[test]
fn a_dead_helper_answers_gone_and_the_next_one_knows_the_grants() {
    let site = Site::new();
    let first = site.node.process_id();
    assert_eq!(wait(site.node.respawn()).unwrap(), None, "it is alive");
    site.kill();
    let listing = call("c", &[]);
    assert_eq!(code(wait(site.node.list_entries(&listing, None))), ErrorCode::Gone);
    assert!(wait(site.node.respawn()).unwrap().is_some());
    assert_ne!(site.node.process_id(), first);
    assert_eq!(wait(site.node.list_entries(&listing, None)).unwrap(), vec![]);
}

#[test]
fn requests_under_way_are_answered_when_the_helper_dies() {
    let site = Site::new();
    // It waits for the first one's lock, so its requests stay under way.
    let second = Node::start(launch(site.mandate.clone())).unwrap();
    let answers = wait(async { tokio::join!(second.load(), second.recover(), async { kill(&second) }) });
    assert_eq!((code(answers.0), code(answers.1)), (ErrorCode::Gone, ErrorCode::Gone));
    assert!(second.is_closed() && !site.node.is_closed());
}

#[test]
fn the_next_helper_waits_until_the_last_one_has_ended() {
    let site = Site::new();
    let second = Node::start(launch(site.mandate.clone())).unwrap();
    let load = wait(async { tokio::join!(second.load(), async { kill(&site.node) }) }).0;
    assert_eq!(load.unwrap().entries, 0);
    wait(site.node.closed());
}

#[test]
fn a_state_directory_that_cannot_be_used_is_said_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let node =
        Node::start(launch(Mandate { state_dir: directory.path().join("missing"), ..Mandate::default() })).unwrap();
    let error = wait(node.load()).unwrap_err();
    assert_eq!(error.code, ErrorCode::Gone);
    assert!(error.message.contains("missing"), "{}", error.message);
}

/// What ended the helper would end the node work of all backends.
#[test]
fn a_request_that_is_too_long_is_refused_and_the_helper_lives() {
    let site = Site::new();
    let caller = call("c", &[]);
    // In JSON six times as long, and more than any frame may be.
    let text = "\u{1}".repeat(11 << 20);
    assert_eq!(code(wait(site.node.attach_image(&caller, "v", &text, Access::ReadOnly))), ErrorCode::Invalid);
    assert_eq!(code(wait(site.node.detach_image(&caller, &text))), ErrorCode::Invalid);
    assert_eq!(
        code(wait(site.node.bind(&caller, "v", BindSource::Granted(text), "/t", Access::ReadOnly))),
        ErrorCode::Invalid
    );
    assert_eq!(wait(site.node.list_entries(&caller, None)).unwrap(), vec![]);
    assert!(!site.node.is_closed());
    // What the client's call names does not count.
    let volumes: Vec<_> = (0..2_000).map(|n| format!("{n:0100}")).collect();
    let caller = Caller { volumes, ..caller };
    assert_eq!(wait(site.node.list_entries(&caller, None)).unwrap(), vec![]);
}

#[test]
fn a_backend_that_is_not_configured_is_not_granted() {
    let site = Site::new();
    let mut stranger = call("c", &[]);
    stranger.backend = "stranger".to_owned();
    assert_eq!(code(wait(site.node.detach_image(&stranger, "v"))), ErrorCode::NotGranted);
    assert_eq!(code(wait(site.node.list_entries(&stranger, None))), ErrorCode::NotGranted);
    assert_eq!(wait(site.node.publications("stranger", None)).unwrap(), vec![]);
}

#[test]
fn many_requests_at_once_are_all_answered() {
    let site = Arc::new(Site::new());
    let target = site.pod("target");
    let threads: Vec<_> = (0..150)
        .map(|number| {
            let (site, target) = (Arc::clone(&site), target.clone());
            std::thread::spawn(move || {
                let caller = call("c", &[(PathRole::Target, &target)]);
                let volume = format!("v{}", number % 7);
                wait(site.node.unmount(&caller, &volume, &target)).unwrap();
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn when_the_host_is_gone_the_helper_thaws_and_ends() {
    use super::harness::{request, with};
    use crate::Access;
    if !is_root() {
        return;
    }
    let site = Site::new();
    let caller = call("c", &[]);
    // A second handle, with a state directory of its own, whose only owner is dropped below.
    let state = site.path("other-state");
    std::fs::create_dir(&state).unwrap();
    let mandate = Mandate { state_dir: state, ..site.mandate.clone() };
    let image = site.image("v.img", "ext4");
    let staging = site.staging("staging");
    let node = Node::start(launch(mandate.clone())).unwrap();
    let caller = with(&caller, PathRole::Staging, &staging);
    wait(node.attach_image(&caller, "v", &image, Access::ReadWrite)).unwrap();
    wait(node.mount_device(&caller, request("v", &staging, "ext4"))).unwrap();
    wait(node.freeze(&caller, "v")).unwrap();
    drop(node);
    // Ends only when writes go on: the first helper's hold would last 30 s.
    let started = std::time::Instant::now();
    std::fs::write(format!("{staging}/file"), "x").unwrap();
    assert!(started.elapsed() < std::time::Duration::from_secs(20));
    // The lock of the state directory is free as soon as the helper has ended.
    let node = Node::start(launch(mandate.clone())).unwrap();
    let report = wait(node.recover()).unwrap();
    assert_eq!(report.undone.len(), 2, "{report:?}");
    assert_eq!((site.mounts(), site.loops()), (vec![], vec![]));
}
