//! When a copy is ready without any work.

use super::*;
use crate::standing::Told;
use crate::testing::{mark, own, peer, told};
use crate::wire::RoleText;

#[test]
fn ready_means_whole_and_of_one_history() {
    let at = |number| own(Role::Secondary, 1, Some(mark(1, number)));
    let primary = told(Role::Primary, 1, None);
    let demoted =
        |number| RoleText { closing: Some(mark(1, number)), ..told(Role::Secondary, 1, Some(mark(1, number))) };
    let asking = |own: ReplicationRecord| ReplicationRecord { asks: 2, asked: Some(2), ..own };
    let answering = |noted| RoleText { noted: Some(noted), ..primary.clone() };
    let old = RoleText { noted: None, ..primary.clone() };
    let silent = Peer { heard: false, told: Told::Nothing };
    let wishing = ReplicationRecord { resync: Some(1), ..at(5) };
    let torso = ReplicationRecord { whole: false, image: None, ..at(5) };
    let parted = RoleText { started_from: Some(mark(1, 4)), ..told(Role::Primary, 2, None) };
    for (case, own, peer, ready) in [
        ("it follows the primary", at(5), peer(true, primary.clone()), true),
        ("neither side writes, the last transfer is here", at(5), peer(true, demoted(5)), true),
        ("neither side writes, the last transfer is on its way", at(5), peer(true, demoted(6)), false),
        ("the peer says nothing", at(5), silent.clone(), false),
        ("the peer is not heard", at(5), peer(false, primary.clone()), false),
        ("the peer has not answered yet", asking(at(5)), peer(true, answering(1)), false),
        ("the peer has answered", asking(at(5)), peer(true, answering(2)), true),
        ("a peer of a version that answers no questions", asking(at(5)), peer(true, old), true),
        ("a resync is under way", wishing, peer(true, primary.clone()), false),
        ("nothing was ever whole", torso, silent, false),
        ("what was written here is not of the peer's history", at(5), peer(true, parted), false),
        ("a lost split brain", own(Role::Secondary, 1, None), peer(true, primary), false),
    ] {
        assert_eq!(is_ready(&own, &peer), ready, "{case}");
    }
}
