//! What a transfer may build on, and who is fenced off.

use proptest::prelude::*;

use super::*;
use crate::testing::{mark, offer, own, told};

fn primary(epoch: u64, started_from: Option<Mark>) -> RoleText {
    RoleText { started_from, ..told(Role::Primary, epoch, None) }
}

#[test]
fn a_copy_takes_what_builds_on_its_contents() {
    let copy = own(Role::Secondary, 1, Some(mark(1, 5)));
    let next = offer(mark(1, 6), Some(mark(1, 5)), None);
    assert!(accepts(&copy, &primary(1, None), &next));
    assert!(!accepts(&copy, &primary(1, None), &offer(mark(1, 7), Some(mark(1, 6)), None)), "a base it lacks");
    assert!(!accepts(&copy, &primary(1, None), &offer(mark(1, 5), None, None)), "what it has already");
    assert!(!accepts(&own(Role::Primary, 1, None), &primary(1, None), &next), "it writes itself");
}

#[test]
fn an_old_primary_overwrites_nothing() {
    // Promoted by force at 1-5, written to, demoted: its contents are at a mark of its own.
    let promoted = own(Role::Secondary, 2, Some(mark(2, 1)));
    for stale in [offer(mark(1, 6), Some(mark(1, 5)), None), offer(mark(1, 7), None, None)] {
        assert!(!accepts(&promoted, &primary(1, None), &stale));
    }
    // Also where nothing was written after the promotion, so that its contents are still the old one's.
    let unchanged = own(Role::Secondary, 2, Some(mark(1, 5)));
    assert!(!accepts(&unchanged, &primary(1, None), &offer(mark(1, 6), Some(mark(1, 5)), None)));
    // The loser that wishes for it takes it, from a mark that both have or complete.
    let wishing = ReplicationRecord { resync: Some(1), image: None, base: Some(mark(1, 5)), ..promoted };
    assert!(accepts(&wishing, &primary(3, None), &offer(mark(3, 1), Some(mark(1, 5)), Some(1))));
    assert!(accepts(&wishing, &primary(3, None), &offer(mark(3, 1), None, Some(1))));
    assert!(!accepts(&wishing, &primary(3, None), &offer(mark(3, 1), None, Some(2))), "another wish");
}

#[test]
fn after_a_failover_the_old_primary_follows_from_where_the_new_one_began() {
    let demoted = own(Role::Secondary, 1, Some(mark(1, 6)));
    let next = offer(mark(2, 7), Some(mark(1, 6)), None);
    assert!(accepts(&demoted, &primary(2, Some(mark(1, 6))), &next));
    assert!(!is_diverged(&demoted, Some(&primary(2, Some(mark(1, 6))))));
    // Promoted by force before the last cut had arrived: that cut is lost, and says so.
    assert!(is_diverged(&demoted, Some(&primary(2, Some(mark(1, 5))))));
    assert!(!accepts(&demoted, &primary(2, Some(mark(1, 5))), &offer(mark(2, 7), Some(mark(1, 5)), None)));
}

#[test]
fn two_primaries_both_stop() {
    assert!(is_superseded(&own(Role::Primary, 1, None), &primary(2, None)));
    assert!(is_superseded(&own(Role::Primary, 2, None), &primary(1, None)));
    assert!(!is_superseded(&own(Role::Primary, 2, None), &told(Role::Secondary, 1, None)));
    assert!(is_superseded(&own(Role::Primary, 1, None), &told(Role::Secondary, 2, Some(mark(2, 1)))));
    assert!(!is_superseded(&own(Role::Primary, 1, None), &told(Role::Disabled, 2, None)));
}

#[test]
fn a_wish_is_answered_once() {
    let wishing = RoleText { resync: Some(3), ..told(Role::Secondary, 1, None) };
    let mut primary = own(Role::Primary, 1, None);
    assert_eq!(unanswered(&primary, &wishing), Some(3));
    primary.sending = Some(offer(mark(1, 1), None, Some(3)));
    assert_eq!(unanswered(&primary, &wishing), None);
    primary.sending = Some(offer(mark(1, 1), None, Some(2)));
    assert_eq!(unanswered(&primary, &wishing), Some(3));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_two_promotions_share_an_epoch(epochs in (0_u64..1 << 40, 0_u64..1 << 40)) {
        let one = ReplicationRecord { first: true, ..own(Role::Secondary, epochs.0, None) };
        let two = ReplicationRecord { first: false, ..own(Role::Secondary, epochs.1, None) };
        let (a, b) = (one.next_epoch(epochs.1), two.next_epoch(epochs.0));
        prop_assert!(a != b && a > epochs.0.max(epochs.1) && b > epochs.0.max(epochs.1));
    }

    /// Whatever an old primary offers, a side that was promoted since does not take it unasked.
    #[test]
    fn fencing_holds_for_any_offer(number in 0_u64..20, base in proptest::option::of(0_u64..20), image in 1_u64..9) {
        let newer = own(Role::Secondary, 2, Some(mark(2, image)));
        let offer = offer(mark(1, number), base.map(|base| mark(1, base)), None);
        prop_assert!(!accepts(&newer, &primary(1, None), &offer));
    }
}

#[test]
fn a_transfer_is_stranded_when_its_base_was_replaced() {
    let (copy, next) = (told(Role::Secondary, 1, Some(mark(1, 5))), offer(mark(1, 6), Some(mark(1, 5)), None));
    assert!(!is_stranded(&next, &copy));
    let overtaken = told(Role::Secondary, 1, Some(mark(1, 6)));
    assert!(is_stranded(&offer(mark(1, 7), Some(mark(1, 5)), None), &overtaken));
    assert!(!is_stranded(&next, &overtaken), "it has arrived");
    assert!(!is_stranded(&offer(mark(1, 7), None, None), &overtaken), "it needs no base");
}
