//! Killed at every step, at either site: what is whole stays whole, roles never double, and the
//! replication goes on by itself.

use std::rc::Rc;

use drivebay_sdk::Result;
use drivebay_sdk::replication::Role;
use drivebay_sdk::replication_destination::ReplicationTarget;
use drivebay_sdk::types::ReplicationSource;

use super::World;
use super::sites::*;
use super::volume_groups::group_request;

/// Asks for something.
type Request = fn(&Sites, &str, &str) -> Result<()>;

/// What is under way while a site dies.
struct Case {
    /// At which site the process dies.
    at_a: bool,
    /// What is asked for, at the site that dies or the other.
    request: Request,
    /// Contents that the copy may have besides those of the source.
    prepare: fn(&Sites, &str, &str),
}

fn dying(sites: &Sites, at_a: bool) -> &World {
    if at_a { &sites.a } else { &sites.b }
}

fn try_all(case: &Case) {
    for steps in 0..400 {
        let sites = Sites::new();
        let (id, copy) = sites.replicated(&[("schedulingInterval", "1m")]);
        (case.prepare)(&sites, &id, &copy);
        let before = contents(&sites.b, &copy);
        let source = contents(&sites.a, &id);
        dying(&sites, case.at_a).die_after(steps);
        let asked = (case.request)(&sites, &id, &copy);
        sites.work(4);
        let died = dying(&sites, case.at_a).is_dead();
        let when = format!("after {steps} steps");
        dying(&sites, case.at_a).restart();
        assert!(
            [&before, &source].contains(&&contents(&sites.b, &copy)),
            "{when}: the copy is neither what it was nor what it should be"
        );
        sites.assert_one_primary(&volume(&id), &volume(&copy), &when);
        dying(&sites, case.at_a).recover().unwrap();
        sites.failed.borrow_mut().clear();
        asked.or_else(|_| (case.request)(&sites, &id, &copy)).unwrap_or_else(|error| panic!("{when}: {error:?}"));
        sites.work(70);
        assert_eq!(contents(&sites.b, &copy), contents(&sites.a, &id), "{when}: they never meet");
        assert_eq!(contents(&sites.a, &id), source, "{when}: the source has changed");
        sites.assert_one_primary(&volume(&id), &volume(&copy), &format!("{when}, at the end"));
        assert!(sites.failed.borrow().is_empty(), "{when}: {:?}", sites.failed.borrow());
        if !died {
            assert!(steps > 3, "nothing was changed");
            return;
        }
    }
    panic!("it never gets through");
}

fn due(sites: &Sites, id: &str, _: &str) {
    write(&sites.a, id, 200_000, b"on its way");
    sites.pass(60_000);
}

const NOTHING: Request = |_, _, _| Ok(());

#[test]
fn sending_a_transfer() {
    try_all(&Case { at_a: true, request: NOTHING, prepare: due });
}

#[test]
fn taking_a_transfer_in() {
    try_all(&Case { at_a: false, request: NOTHING, prepare: due });
}

#[test]
fn demoting() {
    let prepare: fn(&Sites, &str, &str) = |sites, id, _| write(&sites.a, id, 200_000, b"the last cut");
    try_all(&Case { at_a: true, request: |sites, id, _| sites.a.demote(volume(id)), prepare });
}

/// A transfer lies whole in the link, the peer has not taken it, and the source has changed again. The peer takes it
/// while the last cut, which was made without knowing so, is not yet offered: the two do not wait for each other.
#[test]
fn demoting_while_the_peer_takes_what_came_before() {
    for steps in 0..400 {
        let sites = Sites::new();
        let (id, copy) = sites.replicated(&[("schedulingInterval", "1m")]);
        due(&sites, &id, &copy);
        sites.work_alone(&sites.a, 4);
        write(&sites.a, &id, 300_000, b"what came after it");
        sites.a.die_after(steps);
        let asked = sites.a.demote(volume(&id));
        sites.work_alone(&sites.b, 4);
        let died = sites.a.is_dead();
        sites.a.restart();
        sites.a.recover().unwrap();
        asked.or_else(|_| sites.a.demote(volume(&id))).unwrap_or_else(|error| panic!("after {steps} steps: {error:?}"));
        let copied = sites.a.moved_to("sites");
        sites.work(70);
        sites.b.promote(volume(&copy), false).unwrap_or_else(|error| panic!("after {steps} steps: {error:?}"));
        assert_eq!(contents(&sites.b, &copy), contents(&sites.a, &id), "after {steps} steps");
        let copied = sites.a.moved_to("sites") - copied;
        // Died before it cut anything, it learns of the arrival in time for the cut to build on it.
        assert!(steps > 0 || copied <= 8_192, "{copied} bytes went, and two blocks had changed");
        if !died {
            return;
        }
    }
    panic!("it never gets through");
}

fn demoted(sites: &Sites, id: &str, _: &str) {
    write(&sites.a, id, 200_000, b"the last cut");
    sites.a.demote(volume(id)).unwrap();
    sites.work(8);
}

#[test]
fn promoting_the_copy() {
    try_all(&Case { at_a: false, request: |sites, _, copy| sites.b.promote(volume(copy), false), prepare: demoted });
}

#[test]
fn promoting_the_copy_while_the_other_side_dies() {
    try_all(&Case { at_a: true, request: |sites, _, copy| sites.b.promote(volume(copy), false), prepare: demoted });
}

fn split(sites: &Sites, id: &str, copy: &str) {
    // The side at A wins, so that the source stays what it is.
    sites.b.promote(volume(copy), true).unwrap();
    write(&sites.b, copy, 70_000, b"to be thrown away");
    sites.work(8);
    write(&sites.a, id, 80_000, b"what counts");
    sites.b.demote(volume(copy)).unwrap();
}

#[test]
fn resyncing() {
    for at_a in [true, false] {
        try_all(&Case { at_a, request: |sites, _, copy| sites.b.resync(volume(copy)).map(|_| ()), prepare: split });
    }
}

/// The whole way from enabling to the first whole copy.
#[test]
fn enabling() {
    for at_a in [true, false] {
        for steps in 0..400 {
            let sites = Sites::new();
            sites.work(1);
            let id = sites.a.create(&small("v")).unwrap().volume_id;
            write(&sites.a, &id, 0, b"data");
            sites.b.volumes();
            dying(&sites, at_a).die_after(steps);
            let asked = sites.a.enable(volume(&id), &[]);
            sites.work(7);
            let died = dying(&sites, at_a).is_dead();
            dying(&sites, at_a).restart();
            dying(&sites, at_a).recover().unwrap();
            sites.failed.borrow_mut().clear();
            asked.or_else(|_| sites.a.enable(volume(&id), &[])).unwrap();
            sites.work(25);
            let copy = sites.a.copy_of(&id).unwrap_or_else(|error| panic!("after {steps} steps: {error:?}"));
            assert_eq!(contents(&sites.b, &copy), contents(&sites.a, &id), "after {steps} steps");
            assert_eq!(sites.b.volumes().len(), 1, "after {steps} steps: copies that nobody needs");
            assert_eq!(sites.b.role(&volume(&copy)), Role::Secondary);
            assert!(sites.failed.borrow().is_empty(), "after {steps} steps: {:?}", sites.failed.borrow());
            if !died {
                break;
            }
            assert!(steps < 399, "it never gets through");
        }
    }
}

/// An acknowledged `sync-on-demote` is whole at the peer, wherever the primary dies.
#[test]
fn an_acknowledged_demotion_is_never_lost() {
    for steps in 0..400 {
        let sites = Sites::new();
        let (id, copy) = sites.replicated(&[("mode", "sync-on-demote")]);
        write(&sites.a, &id, 10_000, b"the last words");
        let all = Rc::clone(&sites);
        *sites.a.on_pause.borrow_mut() = Some(Box::new(move || {
            all.run(&all.a);
            all.run(&all.b);
            all.pass(500);
        }));
        sites.a.die_after(steps);
        let demoted = sites.a.demote(volume(&id));
        let died = sites.a.is_dead();
        if demoted.is_ok() {
            // Its host is never seen again.
            sites.work_alone(&sites.b, 3);
            sites.b.promote(volume(&copy), false).unwrap_or_else(|error| panic!("after {steps} steps: {error:?}"));
            assert_eq!(contents(&sites.b, &copy), contents(&sites.a, &id), "after {steps} steps");
        } else {
            sites.a.restart();
            sites.a.recover().unwrap();
            sites.work(8);
            sites.a.demote(volume(&id)).unwrap_or_else(|error| panic!("after {steps} steps: {error:?}"));
            sites.b.promote(volume(&copy), false).unwrap_or_else(|error| panic!("after {steps} steps: {error:?}"));
            assert_eq!(contents(&sites.b, &copy), contents(&sites.a, &id), "after {steps} steps");
        }
        *sites.a.on_pause.borrow_mut() = None;
        if !died {
            return;
        }
    }
    panic!("it never gets through");
}

/// Half of a group put in place is finished by the next call, also by a forced promotion.
#[test]
fn a_group_is_never_at_two_moments() {
    let mut seen = std::collections::BTreeSet::new();
    for steps in 0..400 {
        let sites = Sites::new();
        let ids: Vec<String> =
            (0..3).map(|number| sites.a.create(&small(&format!("v{number}"))).unwrap().volume_id).collect();
        let members: Vec<&str> = ids.iter().map(String::as_str).collect();
        let group = sites.a.call(|backend| backend.create_volume_group(&group_request("g", &members))).unwrap();
        let source = ReplicationSource::VolumeGroup(group.volume_group_id);
        sites.a.enable(source.clone(), &[("schedulingInterval", "1m")]).unwrap();
        sites.work(8);
        let ReplicationTarget::VolumeGroup(target) = sites.a.destination(source).unwrap() else {
            panic!("a group goes to a group");
        };
        for id in &ids {
            write(&sites.a, id, 8_192, b"new");
        }
        sites.pass(60_000);
        sites.work_alone(&sites.a, 2);
        sites.b.die_after(steps);
        sites.work_alone(&sites.b, 2);
        let died = sites.b.is_dead();
        sites.b.restart();
        // Nothing but its own pool is left to go by.
        std::fs::rename(sites.link.path().join("sites"), sites.link.path().join("moved")).unwrap();
        sites.b.promote(ReplicationSource::VolumeGroup(target.volume_group_id), true).unwrap();
        let stamps: Vec<Vec<u8>> =
            target.volume_ids.iter().map(|(_, copy)| contents(&sites.b, copy)[8_192..8_195].to_vec()).collect();
        assert!(stamps.iter().all(|stamp| *stamp == stamps[0]), "after {steps} steps: {stamps:?}");
        seen.insert(stamps[0].clone());
        if !died {
            assert_eq!(seen.len(), 2, "it was never both before and after the transfer");
            return;
        }
    }
    panic!("it never gets through");
}
