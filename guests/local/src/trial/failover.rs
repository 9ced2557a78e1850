//! Failing over and back: planned, forced, split and healed.

use std::rc::Rc;

use drivebay_sdk::ErrorCode;
use drivebay_sdk::replication::{ReplicationHealth, Role};
use drivebay_sdk::replication_destination::ReplicationTarget;
use drivebay_sdk::types::ReplicationSource;

use super::requests::*;
use super::sites::*;
use super::volume_groups::{group_request, modify};
use super::world::World;

#[test]
fn over_and_back_without_a_byte_lost() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[("schedulingInterval", "1m")]);
    let refused = sites.b.promote(volume(&copy), false).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Aborted, "{}", refused.message);
    write(&sites.a, &id, 10_000, b"the last words");
    sites.a.demote(volume(&id)).unwrap();
    sites.a.demote(volume(&id)).unwrap();
    let early = sites.b.promote(volume(&copy), false).unwrap_err();
    assert_eq!(early.code, ErrorCode::Unavailable, "the last transfer is not here: {}", early.message);
    assert!(!sites.b.resync(volume(&copy)).unwrap());
    sites.work(8);
    assert!(resynced(&sites, &sites.b, volume(&copy)) && resynced(&sites, &sites.a, volume(&id)));
    sites.b.promote(volume(&copy), false).unwrap();
    sites.b.promote(volume(&copy), true).unwrap();
    assert_eq!(contents(&sites.a, &id), contents(&sites.b, &copy));
    let before = sites.b.moved_to("sites");
    write(&sites.b, &copy, 20_000, b"from the other side");
    sites.work(8);
    assert_eq!(contents(&sites.a, &id), contents(&sites.b, &copy));
    assert_eq!(sites.b.moved_to("sites") - before, 4_096, "only what changed travels back");
    assert_eq!(sites.b.info(volume(&copy)).unwrap().status, Some(ReplicationHealth::Healthy));
    sites.b.demote(volume(&copy)).unwrap();
    sites.work(8);
    sites.a.promote(volume(&id), false).unwrap();
    write(&sites.a, &id, 30_000, b"home");
    sites.work(8);
    assert_eq!(contents(&sites.a, &id), contents(&sites.b, &copy));
    assert!(sites.failed.borrow().is_empty(), "{:?}", sites.failed.borrow());
}

#[test]
fn over_and_back_before_the_first_side_has_looked() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[]);
    write(&sites.a, &id, 0, b"more");
    sites.a.demote(volume(&id)).unwrap();
    sites.work_alone(&sites.a, 4);
    sites.work_alone(&sites.b, 4);
    sites.b.promote(volume(&copy), false).unwrap();
    write(&sites.b, &copy, 20_000, b"from the other side");
    sites.b.demote(volume(&copy)).unwrap();
    sites.work(8);
    assert_eq!(contents(&sites.a, &id), contents(&sites.b, &copy));
    sites.a.promote(volume(&id), false).unwrap();
    assert!(sites.failed.borrow().is_empty(), "{:?}", sites.failed.borrow());
}

#[test]
fn what_is_demoted_before_the_peer_has_seen_it_is_taken_up() {
    let sites = Sites::new();
    let id = sites.a.create(&small("v")).unwrap().volume_id;
    write(&sites.a, &id, 100_000, b"never seen by the peer");
    sites.a.enable(volume(&id), &[]).unwrap();
    sites.a.demote(volume(&id)).unwrap();
    sites.work(8);
    assert!(resynced(&sites, &sites.a, volume(&id)));
    let copy = sites.a.copy_of(&id).unwrap();
    sites.b.promote(volume(&copy), false).unwrap();
    assert_eq!(contents(&sites.a, &id), contents(&sites.b, &copy));
}

#[test]
fn the_side_demoted_last_takes_its_role_back() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[]);
    write(&sites.a, &id, 0, b"more");
    sites.a.demote(volume(&id)).unwrap();
    sites.a.promote(volume(&id), false).unwrap();
    sites.work(8);
    assert_eq!(contents(&sites.a, &id), contents(&sites.b, &copy));
}

#[test]
fn a_volume_in_use_is_not_demoted() {
    let sites = Sites::new();
    let (id, _) = sites.replicated(&[]);
    sites.a.stage(&id, mount()).unwrap();
    let refused = sites.a.demote(volume(&id)).unwrap_err();
    assert_eq!((refused.code, refused.reason.as_deref()), (ErrorCode::FailedPrecondition, Some("in-use")));
    assert_eq!(sites.a.role(&volume(&id)), Role::Primary);
}

#[test]
fn a_silent_primary_is_replaced_by_force_and_fenced_when_it_comes_back() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[("schedulingInterval", "1m")]);
    let last_complete = contents(&sites.a, &id);
    write(&sites.a, &id, 0, b"never sent");
    sites.work_alone(&sites.b, 12);
    assert_eq!(sites.b.promote(volume(&copy), false).unwrap_err().code, ErrorCode::Aborted, "within three heartbeats");
    sites.work_alone(&sites.b, 12);
    let refused = sites.b.promote(volume(&copy), false).unwrap_err();
    assert_eq!(refused.code, ErrorCode::FailedPrecondition);
    assert_eq!(refused.reason.as_deref(), Some("force-required"));
    sites.b.promote(volume(&copy), true).unwrap();
    assert_eq!(contents(&sites.b, &copy), last_complete);
    write(&sites.b, &copy, 50_000, b"written at the new primary");
    let written = contents(&sites.b, &copy);
    // The old one comes back, sends what it has, and is not listened to.
    sites.work(80);
    assert_eq!(contents(&sites.b, &copy), written);
    for (world, source) in [(&sites.a, volume(&id)), (&sites.b, volume(&copy))] {
        let info = world.info(source).unwrap_or_else(|error| {
            assert_eq!(error.code, ErrorCode::NotFound);
            sites.a.info(volume(&id)).unwrap()
        });
        assert_eq!(info.status, Some(ReplicationHealth::Degraded));
        assert!(info.status_message.contains("demote the losing side"), "{}", info.status_message);
    }
    // Demoted at once, also while it is in use; its writes stay until the resync.
    let diverged = contents(&sites.a, &id);
    assert_eq!(sites.a.resync(volume(&id)).unwrap_err().code, ErrorCode::FailedPrecondition);
    sites.a.demote(volume(&id)).unwrap();
    sites.work(80);
    assert_eq!(contents(&sites.a, &id), diverged);
    let before = sites.b.moved_to("sites");
    assert!(!sites.a.resync(volume(&id)).unwrap());
    assert_eq!(sites.a.role(&volume(&id)), Role::Resyncing);
    assert!(!sites.a.resync(volume(&id)).unwrap());
    sites.work(10);
    assert!(resynced(&sites, &sites.a, volume(&id)));
    assert_eq!(contents(&sites.a, &id), contents(&sites.b, &copy));
    assert_eq!(sites.b.moved_to("sites") - before, 4_096, "from the last mark that both had");
    sites.work(70);
    assert_eq!(sites.b.info(volume(&copy)).unwrap().status, Some(ReplicationHealth::Healthy));
}

#[test]
fn the_promoted_side_may_lose_as_well() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[]);
    write(&sites.a, &id, 0, b"the winner's");
    sites.b.promote(volume(&copy), true).unwrap();
    write(&sites.b, &copy, 60_000, b"the loser's");
    sites.work(8);
    sites.b.demote(volume(&copy)).unwrap();
    sites.work(8);
    assert_ne!(contents(&sites.a, &id), contents(&sites.b, &copy));
    assert!(!sites.b.resync(volume(&copy)).unwrap());
    sites.work(10);
    assert!(resynced(&sites, &sites.b, volume(&copy)));
    assert_eq!(contents(&sites.a, &id), contents(&sites.b, &copy));
    // Healed: a planned failover works again.
    write(&sites.a, &id, 5, b"x");
    sites.a.demote(volume(&id)).unwrap();
    sites.work(8);
    sites.b.promote(volume(&copy), false).unwrap();
    assert_eq!(contents(&sites.a, &id), contents(&sites.b, &copy));
}

#[test]
fn a_demotion_that_the_peer_never_got_is_lost_by_force_only() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[]);
    let last_complete = contents(&sites.b, &copy);
    write(&sites.a, &id, 0, b"in the last cut");
    sites.a.demote(volume(&id)).unwrap();
    assert_eq!(sites.b.promote(volume(&copy), false).unwrap_err().code, ErrorCode::Unavailable);
    sites.b.promote(volume(&copy), true).unwrap();
    assert_eq!(contents(&sites.b, &copy), last_complete);
    sites.work(80);
    assert_eq!(contents(&sites.b, &copy), last_complete, "what comes late is not applied");
    assert!(!sites.a.resync(volume(&id)).unwrap());
    sites.work(10);
    assert!(resynced(&sites, &sites.a, volume(&id)));
    assert_eq!(contents(&sites.a, &id), last_complete);
}

/// Asks for a resync while the other site goes on.
fn resynced(sites: &Rc<Sites>, world: &World, source: ReplicationSource) -> bool {
    let all = Rc::clone(sites);
    let is_a = std::ptr::eq(world, &raw const *sites.a);
    *world.on_pause.borrow_mut() = Some(Box::new(move || {
        all.run(if is_a { &all.b } else { &all.a });
        all.pass(500);
    }));
    let ready = world.resync(source).unwrap();
    *world.on_pause.borrow_mut() = None;
    ready
}

fn work_while_pausing(sites: &Rc<Sites>) {
    let all = Rc::clone(sites);
    *sites.a.on_pause.borrow_mut() = Some(Box::new(move || {
        all.run(&all.a);
        all.run(&all.b);
        all.pass(500);
    }));
}

#[test]
fn sync_on_demote_ends_when_the_peer_has_it_all() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[("mode", "sync-on-demote")]);
    write(&sites.a, &id, 10_000, b"the last words");
    work_while_pausing(&sites);
    sites.a.demote(volume(&id)).unwrap();
    sites.b.promote(volume(&copy), false).unwrap();
    assert_eq!(contents(&sites.a, &id), contents(&sites.b, &copy));
    *sites.a.on_pause.borrow_mut() = None;
}

#[test]
fn sync_on_demote_changes_nothing_while_the_peer_is_silent() {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[("mode", "sync-on-demote")]);
    write(&sites.a, &id, 10_000, b"more");
    sites.work_alone(&sites.a, 30);
    let before = sites.a.pool.files();
    let refused = sites.a.demote(volume(&id)).unwrap_err();
    assert_eq!((refused.code, refused.reason.as_deref()), (ErrorCode::Unavailable, Some("peer-unreachable")));
    assert_eq!(sites.a.role(&volume(&id)), Role::Primary);
    assert_eq!(sites.a.pool.files(), before);
    // A link that is gone is no different.
    sites.work(8);
    let moved = sites.link.path().join("moved");
    std::fs::rename(sites.link.path().join("sites"), &moved).unwrap();
    assert_eq!(sites.a.demote(volume(&id)).unwrap_err().code, ErrorCode::Unavailable);
    sites.work(20);
    assert!(sites.a.info(volume(&id)).unwrap().status_message.contains("is gone"));
    std::fs::rename(&moved, sites.link.path().join("sites")).unwrap();
    sites.work(20);
    work_while_pausing(&sites);
    sites.a.demote(volume(&id)).unwrap();
    sites.b.promote(volume(&copy), false).unwrap();
    assert_eq!(contents(&sites.a, &id), contents(&sites.b, &copy));
    *sites.a.on_pause.borrow_mut() = None;
}

#[test]
fn of_two_that_promote_at_once_one_gives_way() {
    for steps in 0..12 {
        let sites = Sites::new();
        let (id, copy) = sites.replicated(&[]);
        sites.a.demote(volume(&id)).unwrap();
        sites.work(8);
        // One is stopped in the middle, wherever that is, and goes on after the other.
        sites.a.die_after(steps);
        let first = sites.a.promote(volume(&id), false);
        sites.a.revive();
        let second = sites.b.promote(volume(&copy), false);
        sites.assert_one_primary(&volume(&id), &volume(&copy), &format!("after {steps} steps"));
        let again = sites.a.promote(volume(&id), false);
        sites.assert_one_primary(&volume(&id), &volume(&copy), &format!("after {steps} steps and again"));
        assert!(first.is_ok() || second.is_ok() || again.is_ok(), "nobody got it");
    }
}

#[test]
fn a_group_fails_over_as_one() {
    let sites = Sites::new();
    let ids: Vec<String> =
        (0..8).map(|number| sites.a.create(&small(&format!("v{number}"))).unwrap().volume_id).collect();
    let members: Vec<&str> = ids.iter().map(String::as_str).collect();
    let group = sites.a.call(|backend| backend.create_volume_group(&group_request("g", &members))).unwrap();
    let source = ReplicationSource::VolumeGroup(group.volume_group_id.clone());
    for id in &ids {
        sites.a.stage(id, mount()).unwrap();
    }
    sites.a.devices.acknowledge();
    sites.a.enable(source.clone(), &[("schedulingInterval", "1m")]).unwrap();
    let stamp = |number: u64| ids.iter().for_each(|id| write(&sites.a, id, 8_192, &number.to_be_bytes()));
    for number in 0..150 {
        stamp(number);
        sites.work(1);
    }
    let history = sites.a.devices.history.borrow().clone();
    let each = |word: &'static str| ids.iter().map(move |id| format!("{word} {id}"));
    let together: Vec<_> = each("freeze").chain(each("thaw")).collect();
    let cuts: Vec<_> = history.chunks(together.len()).collect();
    assert!(cuts.len() > 1 && cuts.iter().all(|cut| *cut == together), "not frozen as one: {cuts:?}");
    // Members are not replicated by themselves.
    let refused = sites.a.promote(volume(&ids[0]), false).unwrap_err();
    assert_eq!(refused.code, ErrorCode::FailedPrecondition);
    let state = sites.a.call(|backend| backend.replication.state_of(&volume(&ids[0]))).unwrap();
    assert_eq!(state.through_group.as_ref(), Some(&group.volume_group_id));
    for nobody in [volume("nobody"), ReplicationSource::VolumeGroup("nobody".to_owned())] {
        let error = sites.a.call(|backend| backend.replication.state_of(&nobody)).unwrap_err();
        assert_eq!(error.code, ErrorCode::NotFound, "{nobody:?}");
    }
    assert_eq!(sites.a.info(source.clone()).unwrap().status, Some(ReplicationHealth::Healthy));
    let ReplicationTarget::VolumeGroup(target) = sites.a.destination(source.clone()).unwrap() else {
        panic!("a group goes to a group");
    };
    assert_eq!(target.volume_ids.len(), 8);
    let at_b = ReplicationSource::VolumeGroup(target.volume_group_id.clone());
    assert_eq!(sites.b.call(|backend| backend.group_members(&target.volume_group_id)).unwrap().len(), 8);
    let stamps = || -> Vec<Vec<u8>> {
        target.volume_ids.iter().map(|(_, copy)| contents(&sites.b, copy)[8_192..8_200].to_vec()).collect()
    };
    sites.b.promote(at_b.clone(), true).unwrap();
    let first = stamps();
    assert!(first.iter().all(|stamp| *stamp == first[0]) && first[0] > vec![0; 8], "{first:?}");
    let copy = &target.volume_ids[0].1;
    sites.b.stage(copy, mount()).unwrap();
    sites.b.unstage(copy).unwrap();
    // Heal: the old side loses.
    for id in &ids {
        sites.a.unstage(id).unwrap();
    }
    sites.work(8);
    sites.a.demote(source.clone()).unwrap();
    sites.work(8);
    assert!(!sites.a.resync(source.clone()).unwrap());
    sites.work(10);
    assert!(resynced(&sites, &sites.a, source));
    for (id, copy) in &target.volume_ids {
        assert_eq!(contents(&sites.a, id), contents(&sites.b, copy));
    }
    assert!(sites.failed.borrow().is_empty(), "{:?}", sites.failed.borrow());
}

/// The link is away: the copy was promoted by force meanwhile, and nobody could say so. A resync is not ready before
/// the peer has been heard, and then it is carried out without being asked for again.
#[test]
fn a_resync_that_nobody_could_answer_is_carried_out_when_the_peer_is_heard() {
    // With a heartbeat that still counts when the link is back, and with none.
    for seconds in [4, 40] {
        no_answer(seconds);
    }
}

fn no_answer(seconds: u32) {
    let sites = Sites::new();
    let (id, copy) = sites.replicated(&[]);
    sites.lose_link();
    write(&sites.a, &id, 50_000, b"written while nobody was heard");
    sites.work(seconds);
    sites.b.promote(volume(&copy), true).unwrap();
    write(&sites.b, &copy, 70_000, b"the winner's");
    sites.a.demote(volume(&id)).unwrap();
    assert!(!sites.a.resync(volume(&id)).unwrap(), "the peer is silent");
    sites.restore_link();
    // What stands in the link is from before.
    assert!(!sites.a.resync(volume(&id)).unwrap(), "the peer has said nothing since");
    sites.work(80);
    assert_eq!(contents(&sites.a, &id), contents(&sites.b, &copy));
    assert!(resynced(&sites, &sites.a, volume(&id)));
}

/// It stands alone at both sites, and what is left of the group goes on as one.
#[test]
fn a_member_leaves_a_group_that_is_replicated() {
    for at in [0, 1, 8] {
        let sites = Sites::new();
        let ids: Vec<String> =
            ["x", "y", "z"].iter().map(|name| sites.a.create(&small(name)).unwrap().volume_id).collect();
        let members: Vec<&str> = ids.iter().map(String::as_str).collect();
        let group = sites.a.call(|backend| backend.create_volume_group(&group_request("g", &members))).unwrap();
        let source = ReplicationSource::VolumeGroup(group.volume_group_id.clone());
        sites.a.enable(source.clone(), &[("schedulingInterval", "1m")]).unwrap();
        sites.work(8);
        let ReplicationTarget::VolumeGroup(target) = sites.a.destination(source.clone()).unwrap() else {
            panic!("a group goes to a group");
        };
        let copies: std::collections::BTreeMap<String, String> = target.volume_ids.into_iter().collect();
        let at_b = ReplicationSource::VolumeGroup(target.volume_group_id.clone());
        write(&sites.a, &ids[0], 60_000, b"before it leaves");
        sites.work(at);
        let leave = |left: &[&str]| modify(&sites.a, &group.volume_group_id, left);
        leave(&[&ids[1], &ids[2]]).unwrap();
        leave(&[&ids[1], &ids[2]]).unwrap();
        assert_eq!(leave(&[]).unwrap_err().code, ErrorCode::FailedPrecondition);
        assert_eq!(leave(&members).unwrap_err().code, ErrorCode::FailedPrecondition, "none joins");
        write(&sites.a, &ids[1], 60_000, b"after it has left");
        sites.work(80);
        // Both are ordinary volumes.
        for (world, id) in [(&sites.a, &ids[0]), (&sites.b, &copies[&ids[0]])] {
            world.stage(id, mount()).unwrap();
            world.unstage(id).unwrap();
            world.delete(id).unwrap();
        }
        assert_eq!(sites.b.call(|backend| backend.group_members(&target.volume_group_id)).unwrap().len(), 2);
        sites.a.demote(source).unwrap();
        sites.work(8);
        sites.b.promote(at_b, false).unwrap();
        for id in &ids[1..] {
            assert_eq!(contents(&sites.a, id), contents(&sites.b, &copies[id]));
        }
        assert!(sites.failed.borrow().is_empty(), "{:?}", sites.failed.borrow());
    }
}
