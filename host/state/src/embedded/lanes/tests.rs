//! The order of the lanes, told by order alone: no clock and no disk.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Lanes, MAX_GROUP_COST, MAX_GROUP_WORK, Piece, QUANTUM};

const LANES: [&str; 4] = ["a", "b", "c", "d"];
/// As large as a commit can be.
const LARGEST: u64 = 2 * MAX_GROUP_COST;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Work {
    lane: &'static str,
    number: usize,
    cost: u64,
}

impl Piece for Work {
    fn lane(&self) -> &str {
        self.lane
    }

    fn cost(&self) -> u64 {
        self.cost
    }

    fn held(&self) -> u64 {
        self.cost
    }
}

fn cost() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 1_u64..20_000, 1 => QUANTUM - 1..=QUANTUM + 1, 1 => 1_u64..=LARGEST]
}

/// Work by lane and cost that comes, then a group that is taken; many times.
fn history() -> impl Strategy<Value = Vec<Vec<(usize, u64)>>> {
    vec(vec((0..LANES.len(), cost()), 0..12), 1..40)
}

fn add(lanes: &mut Lanes<Work>, lane: &'static str, cost: u64) {
    assert_eq!(lanes.push(Work { lane, number: 0, cost }, u64::MAX), None);
}

/// How many large pieces there are, and what the small ones cost together.
fn sizes(pieces: &[Work]) -> (usize, u64) {
    let large = pieces.iter().filter(|piece| piece.cost > QUANTUM).count();
    (large, pieces.iter().filter(|piece| piece.cost <= QUANTUM).map(|piece| piece.cost).sum())
}

proptest! {
    #[test]
    fn nothing_is_lost_and_every_lane_keeps_its_order(history in history()) {
        let mut lanes = Lanes::new();
        let (mut given, mut taken) = (Vec::new(), Vec::new());
        for pieces in history {
            for (lane, cost) in pieces {
                let piece = Work { lane: LANES[lane], number: given.len(), cost };
                given.push(piece.clone());
                prop_assert_eq!(lanes.push(piece, u64::MAX), None);
            }
            taken.extend(lanes.next_group());
        }
        while !lanes.is_empty() {
            let group = lanes.next_group();
            prop_assert!(!group.is_empty(), "work that nobody does");
            taken.extend(group);
        }
        prop_assert!(lanes.next_group().is_empty());
        for lane in LANES {
            let of = |all: &[Work]| all.iter().filter(|piece| piece.lane == lane).cloned().collect::<Vec<_>>();
            prop_assert_eq!(of(&given), of(&taken));
            prop_assert!(lanes.held(lane) == of(&given).iter().map(Piece::held).sum::<u64>());
        }
        for piece in &taken {
            lanes.release(piece);
        }
        prop_assert!(LANES.iter().all(|lane| lanes.held(lane) == 0));
    }

    #[test]
    fn a_group_is_small_pieces_within_its_bound_or_one_large_piece(history in history()) {
        let mut lanes = Lanes::new();
        for pieces in history {
            for (lane, cost) in pieces {
                add(&mut lanes, LANES[lane], cost);
            }
            let group = lanes.next_group();
            let (large, small) = sizes(&group);
            prop_assert!(large == 0 || group.len() == 1, "{:?}", group);
            prop_assert!(small <= MAX_GROUP_COST && group.len() <= MAX_GROUP_WORK, "{:?}", group);
        }
    }

    /// Whoever has little to do waits for one large piece and one group of small ones at most.
    #[test]
    fn one_small_piece_waits_for_at_most_one_group(
        hostile in vec((0_usize..3, cost()), 0..200),
        before in 0_usize..50,
        cost in 1_u64..20_000,
    ) {
        let mut lanes = Lanes::new();
        for (lane, cost) in hostile {
            add(&mut lanes, LANES[lane], cost);
        }
        for _ in 0..before {
            lanes.next_group();
        }
        let mine = Work { lane: "d", number: 1, cost };
        prop_assert!(lanes.push(mine.clone(), u64::MAX).is_none());
        let groups = [lanes.next_group(), lanes.next_group()];
        prop_assert!(groups.iter().any(|group| group.contains(&mine)), "{:?}", groups);
    }
}

/// Takes groups for as long as everybody has work, and tells what each lane was served.
fn shares(costs: [u64; 3]) -> [u64; 3] {
    let mut lanes = Lanes::new();
    for (lane, cost) in LANES.into_iter().zip(costs) {
        for number in 0..usize::try_from(16 * LARGEST / cost).unwrap() {
            assert!(lanes.push(Work { lane, number, cost }, u64::MAX).is_none());
        }
    }
    let mut served = [0; 3];
    while lanes.turns.len() == 3 {
        for piece in lanes.next_group() {
            let lane = LANES.iter().position(|lane| *lane == piece.lane).unwrap();
            served[lane] += piece.cost;
        }
    }
    served
}

#[test]
fn lanes_that_always_have_work_are_served_alike() {
    for costs in [[LARGEST, LARGEST, LARGEST], [LARGEST, 8 * 1024, LARGEST], [QUANTUM + 1, 4096, 100 * 1024]] {
        let served = shares(costs);
        let (least, most) = (served.iter().min().unwrap(), served.iter().max().unwrap());
        // A group of a large piece earns the small ones nothing: twice as much at most, and one piece.
        assert!(*most <= 2 * least + LARGEST, "{costs:?}: {served:?}");
    }
}

#[test]
fn who_is_alone_is_not_held_back() {
    let mut lanes = Lanes::new();
    for number in 0..100 {
        assert!(lanes.push(Work { lane: "a", number, cost: QUANTUM / 16 }, u64::MAX).is_none());
    }
    assert_eq!(lanes.next_group().len(), 100.min(usize::try_from(MAX_GROUP_COST / (QUANTUM / 16)).unwrap()));
}

#[test]
fn what_a_lane_holds_is_bounded_until_it_is_done() {
    let mut lanes = Lanes::new();
    let piece = |lane, cost| Work { lane, number: 0, cost };
    assert_eq!(lanes.push(piece("a", 150), 100), None, "one alone is never refused");
    assert_eq!(lanes.push(piece("a", 1), 100), Some(piece("a", 1)));
    let taken = lanes.next_group();
    assert_eq!(lanes.push(piece("a", 1), 100), Some(piece("a", 1)), "it is still in memory");
    assert_eq!(lanes.push(piece("b", 60), 100), None, "others are not asked");
    assert_eq!(lanes.push(piece("b", 40), 100), None);
    assert_eq!(lanes.push(piece("b", 1), 100), Some(piece("b", 1)));
    for piece in &taken {
        lanes.release(piece);
    }
    assert_eq!(lanes.push(piece("a", 1), 100), None);
}
