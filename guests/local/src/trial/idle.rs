//! What replication costs while nothing happens: the heartbeat, and a look now and then. Shown for
//! every state that two sides can be in for long, because each of them is left by another decision.

use super::sites::*;

/// Heartbeats in a minute: what one site does whatever is replicated.
const BEATS: u32 = 12;

/// How many looks at a replication a minute may take beside them: one in five seconds, where
/// something is amiss.
const LOOKS: u32 = 12;

/// Steps that each site takes in a minute in which nobody does anything.
fn assert_rests(sites: &Sites, state: &str) {
    // What was begun comes to its end.
    sites.work(30);
    let mut steps = (0, 0);
    for _ in 0..120 {
        steps.0 += sites.run(&sites.a);
        steps.1 += sites.run(&sites.b);
        sites.pass(500);
    }
    assert!(steps.0 >= BEATS - 1 && steps.1 >= BEATS - 1, "{state}: {steps:?}: the heart stands still");
    assert!(steps.0 <= BEATS + LOOKS && steps.1 <= BEATS + LOOKS, "{state}: {steps:?}: it never rests");
}

#[test]
fn a_pair_rests_in_every_state() {
    for sites in [Sites::new(), Sites::without_sharing()] {
        let (id, copy) = sites.replicated(&[]);
        assert_rests(&sites, "in step");
        sites.a.demote(volume(&id)).unwrap();
        assert_rests(&sites, "both secondary");
        sites.b.promote(volume(&copy), false).unwrap();
        assert_rests(&sites, "failed over");
        sites.a.promote(volume(&id), true).unwrap();
        assert_rests(&sites, "both primary");
        write(&sites.b, &copy, 8_192, b"lost");
        sites.b.demote(volume(&copy)).unwrap();
        assert_rests(&sites, "diverged");
        assert!(!sites.b.resync(volume(&copy)).unwrap());
        assert_rests(&sites, "resynced");
        sites.a.disable(volume(&id)).unwrap();
        sites.b.enable(volume(&copy), &[]).unwrap();
        assert_rests(&sites, "disabled at one side");
        sites.b.disable(volume(&copy)).unwrap();
        assert_rests(&sites, "disabled");
    }
}

#[test]
fn a_pair_rests_without_its_peer_and_beside_damage() {
    let sites = Sites::new();
    let (id, _) = sites.replicated(&[("schedulingInterval", "1h")]);
    for file in sites.files_of(&sites.a).iter().filter(|file| file.ends_with("role.json")) {
        std::fs::write(file, "damaged").unwrap();
    }
    assert_rests(&sites, "beside a damaged role file");
    sites.work_alone(&sites.a, 4_000);
    let mut steps = 0;
    for _ in 0..120 {
        steps += sites.run(&sites.a);
        sites.pass(500);
    }
    assert!(steps <= BEATS + LOOKS, "alone, with a cut that nobody fetches: {steps}");
    assert!(sites.a.info(volume(&id)).unwrap().status_message.contains("silent"));
}
