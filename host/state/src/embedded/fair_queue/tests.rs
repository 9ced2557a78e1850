//! The order of the line, told by order alone: no clock and no disk.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{FairQueue, MAX_GROUP_COST, MAX_GROUP_WORK, Piece};

const NAMESPACES: [&str; 3] = ["a", "b", "c"];
/// As large as a commit can be.
const LARGEST: u64 = 2 * MAX_GROUP_COST;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Work {
    namespace: &'static str,
    number: usize,
    cost: u64,
    /// Parts that are left; 0: it is whole.
    parts: usize,
}

impl Piece for Work {
    fn namespace(&self) -> &str {
        self.namespace
    }

    fn cost(&self) -> u64 {
        self.cost
    }

    fn held(&self) -> u64 {
        self.cost
    }

    fn has_parts(&self) -> bool {
        self.parts > 0
    }
}

/// Whole ones mostly, small and as large as a commit can be; and some with up to three parts.
fn work() -> impl Strategy<Value = (usize, u64, usize)> {
    let cost = prop_oneof![6 => 1_u64..20_000, 1 => 1_u64..=LARGEST];
    (0..NAMESPACES.len(), cost, prop_oneof![5 => Just(0), 1 => 1_usize..4])
}

/// Work that comes, then a group that is taken; many times.
fn history() -> impl Strategy<Value = Vec<Vec<(usize, u64, usize)>>> {
    vec(vec(work(), 0..12), 1..40)
}

/// Does a group: what has parts is put back until its last one is done. Gives what is done for good.
fn done(fair_queue: &mut FairQueue<Work>, group: Vec<Work>) -> Vec<Work> {
    let (again, whole): (Vec<_>, Vec<_>) = group.into_iter().partition(|work| work.parts > 1);
    for work in again {
        fair_queue.put_back(Work { parts: work.parts - 1, ..work });
    }
    whole
}

fn add(fair_queue: &mut FairQueue<Work>, number: usize, (namespace, cost, parts): (usize, u64, usize)) {
    let piece = Work { namespace: NAMESPACES[namespace], number, cost, parts };
    assert_eq!(fair_queue.push(piece, u64::MAX), None);
}

proptest! {
    #[test]
    fn nothing_is_lost_and_every_namespace_keeps_its_order(history in history()) {
        let mut fair_queue = FairQueue::new();
        let (mut given, mut ended) = (0, Vec::new());
        for works in history {
            for work in works {
                add(&mut fair_queue, given, work);
                given += 1;
            }
            let group = fair_queue.next_group();
            ended.extend(done(&mut fair_queue, group));
        }
        while !fair_queue.is_empty() {
            let group = fair_queue.next_group();
            prop_assert!(!group.is_empty(), "work that nobody does");
            ended.extend(done(&mut fair_queue, group));
        }
        prop_assert!(fair_queue.next_group().is_empty() && ended.len() == given);
        for namespace in NAMESPACES {
            let of: Vec<_> = ended.iter().filter(|work| work.namespace == namespace).collect();
            prop_assert!(of.is_sorted_by_key(|work| work.number), "{of:?}");
            prop_assert_eq!(fair_queue.held(namespace), of.iter().map(|work| work.cost).sum::<u64>());
        }
        for work in &ended {
            fair_queue.release(work);
        }
        prop_assert!(NAMESPACES.iter().all(|namespace| fair_queue.held(namespace) == 0));
    }

    #[test]
    fn a_group_is_one_part_or_whole_pieces_within_its_bound(history in history()) {
        let mut fair_queue = FairQueue::new();
        let mut was_part = false;
        for works in history {
            for work in works {
                add(&mut fair_queue, 0, work);
            }
            let others_wait = fair_queue.waiting.iter().any(|work| !work.has_parts());
            let first = fair_queue.waiting.front().cloned();
            let group = fair_queue.next_group();
            let cost: u64 = group.iter().map(|work| work.cost).sum();
            let is_part = group.iter().any(Work::has_parts);
            prop_assert!(group.len() == 1 || !is_part, "{:?}", group);
            prop_assert!(group.len() == 1 || (cost <= MAX_GROUP_COST && group.len() <= MAX_GROUP_WORK), "{:?}", group);
            // Who waits behind a copy of its own namespace waits for all of it; nobody else does.
            let may_go = first.is_some_and(|first| !first.has_parts()) && others_wait;
            prop_assert!(!(was_part && is_part && may_go), "two parts in a row: {:?}", group);
            was_part = is_part;
            drop(done(&mut fair_queue, group));
        }
    }
}

#[test]
fn what_a_namespace_holds_is_bounded_until_it_is_done() {
    let mut fair_queue = FairQueue::new();
    let piece = |namespace, cost| Work { namespace, number: 0, cost, parts: 0 };
    assert_eq!(fair_queue.push(piece("a", 150), 100), None, "one alone is never refused");
    assert_eq!(fair_queue.push(piece("a", 1), 100), Some(piece("a", 1)));
    let taken = fair_queue.next_group();
    assert_eq!(fair_queue.push(piece("a", 1), 100), Some(piece("a", 1)), "it is still in memory");
    assert_eq!(fair_queue.push(piece("b", 60), 100), None, "others are not asked");
    assert_eq!(fair_queue.push(piece("b", 40), 100), None);
    assert_eq!(fair_queue.push(piece("b", 1), 100), Some(piece("b", 1)));
    for piece in &taken {
        fair_queue.release(piece);
    }
    assert_eq!(fair_queue.push(piece("a", 1), 100), None);
}
