//! The table, cell by cell.

use Refusal::{ForceRequired, NeverWhole, NotEnabled, NotHereYet, PeerPrimary, PeerUnreadable};
use Verdict::{Promote, Refuse, Standing};
use drivebay_sdk::ErrorCode;

use super::*;
use crate::testing::{mark, own, peer, told};

fn demoted(closing: u64) -> RoleText {
    RoleText { closing: Some(mark(1, closing)), ..told(Role::Secondary, 1, Some(mark(1, closing))) }
}

/// A copy that has taken in transfer 5.
fn copy() -> ReplicationRecord {
    ReplicationRecord { first: false, ..own(Role::Secondary, 1, Some(mark(1, 5))) }
}

#[test]
fn every_row_of_the_table() {
    let primary = || told(Role::Primary, 1, None);
    let unreadable = |heard| Peer { heard, told: Told::Unreadable("role.json: damaged".to_owned()) };
    let nothing = |heard| Peer { heard, told: Told::Nothing };
    for (row, peer, plain) in [
        ("demoted, its last transfer whole here", peer(true, demoted(5)), Promote),
        ("the same, and silent since", peer(false, demoted(5)), Promote),
        ("demoted, its last transfer not here yet", peer(true, demoted(6)), Refuse(NotHereYet)),
        ("the same, and silent since", peer(false, demoted(6)), Refuse(ForceRequired)),
        ("primary and alive", peer(true, primary()), Refuse(PeerPrimary)),
        ("about to be primary", peer(true, told(Role::Promoting, 1, None)), Refuse(PeerPrimary)),
        ("primary and silent", peer(false, primary()), Refuse(ForceRequired)),
        ("never seen", nothing(false), Refuse(ForceRequired)),
        ("alive and without a word", nothing(true), Refuse(PeerUnreadable)),
        ("alive and damaged", unreadable(true), Refuse(PeerUnreadable)),
        ("silent and damaged", unreadable(false), Refuse(ForceRequired)),
    ] {
        assert_eq!(decide(Some(&copy()), &peer, Force::No), plain, "{row}");
        assert_eq!(decide(Some(&copy()), &peer, Force::Yes), Promote, "{row}, with force");
        let torso = ReplicationRecord { whole: false, image: None, ..copy() };
        for force in [Force::No, Force::Yes] {
            assert_eq!(decide(None, &peer, force), Refuse(NotEnabled), "{row}");
            assert_eq!(decide(Some(&own(Role::Primary, 1, None)), &peer, force), Standing, "{row}");
            assert_eq!(decide(Some(&own(Role::Disabled, 1, None)), &peer, force), Refuse(NotEnabled), "{row}");
            assert_eq!(decide(Some(&torso), &peer, force), Refuse(NeverWhole), "{row}");
        }
    }
}

#[test]
fn the_side_demoted_last_goes_back_without_force() {
    let last = ReplicationRecord { closing: Some(mark(1, 6)), ..own(Role::Secondary, 1, Some(mark(1, 6))) };
    let behind = told(Role::Secondary, 1, Some(mark(1, 5)));
    assert_eq!(decide(Some(&last), &peer(true, behind.clone()), Force::No), Promote);
    assert_eq!(decide(Some(&last), &peer(false, behind), Force::No), Promote);
    // The other was promoted and demoted since: it has what this one lacks.
    let later = RoleText { closing: Some(mark(2, 7)), ..told(Role::Secondary, 2, Some(mark(2, 7))) };
    assert_eq!(decide(Some(&last), &peer(true, later), Force::No), Refuse(NotHereYet));
}

#[test]
fn the_loser_of_a_split_brain_needs_force_or_a_resync() {
    let loser = own(Role::Secondary, 1, None);
    let winner = RoleText { closing: Some(mark(2, 9)), ..told(Role::Secondary, 2, Some(mark(2, 9))) };
    assert_eq!(decide(Some(&loser), &peer(true, winner), Force::No), Refuse(NotHereYet));
    let resynced = own(Role::Secondary, 2, Some(mark(2, 9)));
    let winner = told(Role::Secondary, 2, Some(mark(2, 9)));
    assert_eq!(decide(Some(&resynced), &peer(true, winner), Force::No), Promote, "both are at one mark");
}

#[test]
fn failed_precondition_is_said_only_where_force_is_right() {
    for refusal in [NotEnabled, NeverWhole, PeerPrimary, NotHereYet, PeerUnreadable, ForceRequired] {
        let answer = refusal.answer("volume v");
        let forced = answer.code == ErrorCode::FailedPrecondition;
        assert_eq!(forced, matches!(refusal, NotEnabled | ForceRequired), "{refusal:?}");
        assert!(answer.message.contains("volume v"));
    }
    assert_eq!(ForceRequired.answer("v").reason.as_deref(), Some("force-required"));
    assert_eq!(NotEnabled.answer("v").reason.as_deref(), Some("not-enabled"));
    assert!(PeerPrimary.answer("v").message.contains("demote it there first"));
}
