//! What runs when, told without a clock.

use proptest::prelude::*;

use super::*;

fn work(id: &str, objects: &[&str], due: u64) -> Work {
    Work { id: id.into(), objects: objects.iter().map(|o| ("volume", (*o).to_owned())).collect(), due }
}

fn ids(works: &[Work]) -> Vec<&str> {
    works.iter().map(|w| w.id.as_str()).collect()
}

#[test]
fn moments_are_as_far_away_as_by_the_wall_whatever_was_set_meanwhile() {
    let at = Duration::from_secs;
    for (moment, wall, now, expected) in [
        (at(1_000), at(1_000), 5_000, 5_000),
        (at(1_003), at(1_000), 5_000, 8_000),
        (at(998), at(1_000), 5_000, 3_000),
        (at(0), at(1_000), 5_000, 0),
        // An hour was added to the wall clock since the runner began: what is due is due.
        (at(4_600), at(4_600), 5_000, 5_000),
        // A far future stays one.
        (Duration::MAX, at(1_000), 5_000, u64::MAX),
    ] {
        assert_eq!(translated(moment, wall, now), expected, "{moment:?} {wall:?}");
    }
}

#[test]
fn one_at_a_time_per_object_and_no_more_than_the_budget() {
    let mut schedule = Schedule::default();
    schedule.learn(vec![work("a1", &["a"], 0), work("a2", &["a"], 1), work("b", &["b"], 2), work("c", &["c"], 3)]);
    assert_eq!(ids(&schedule.start(10, 2)), ["a1", "b"]);
    assert!(schedule.start(10, 2).is_empty());
    schedule.ended("a1", Ended::Done, 11);
    assert_eq!(ids(&schedule.start(11, 2)), ["a2"]);
}

#[test]
fn work_without_objects_is_never_delayed_by_long_steps() {
    let mut schedule = Schedule::default();
    schedule.learn(vec![work("a", &["a"], 0), work("beat", &[], 5)]);
    assert_eq!(ids(&schedule.start(0, 1)), ["a"]);
    assert_eq!(ids(&schedule.start(5, 1)), ["beat"]);
}

#[test]
fn work_without_objects_has_places_of_its_own_and_no_more() {
    let mut schedule = Schedule::default();
    let beats: Vec<_> = (0..10).map(|n| work(&format!("b{n}"), &[], n)).collect();
    schedule.learn([beats, vec![work("a", &["a"], 0)]].concat());
    assert_eq!(ids(&schedule.start(10, 2)), ["b0", "a", "b1"]);
    assert!(schedule.start(10, 2).is_empty());
    schedule.ended("b0", Ended::Done, 11);
    assert_eq!(ids(&schedule.start(11, 2)), ["b2"]);
}

/// Beginning and ending a step must not look at all the others: 50,000 works cost a neighbour seconds.
#[test]
fn a_step_looks_at_few_works_however_many_there_are() {
    for objects in [&[][..], &["one"], &["one", "two"]] {
        let mut schedule = Schedule::default();
        schedule.learn((0..1_000).map(|n| work(&n.to_string(), objects, n)).collect());
        schedule.looked_at = 0;
        let mut running = Vec::new();
        for now in 1_000..101_000 {
            running.extend(schedule.start(now, 4));
            let ended: Work = running.remove(0);
            schedule.ended(&ended.id, Ended::Again, now);
            schedule.next(now);
        }
        // Each begins and ends, and may find its object in use, or make room for one that did.
        assert!(schedule.looked_at < 100_000 * 4 + 2_000, "{objects:?}: {}", schedule.looked_at);
    }
}

#[test]
fn pauses_grow_and_end_with_success() {
    let mut schedule = Schedule::default();
    schedule.learn(vec![work("a", &["a"], 0)]);
    let mut now = 0;
    for pause in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000] {
        assert_eq!(schedule.start(now, 1).len(), 1);
        schedule.ended("a", Ended::Failed, now);
        assert!(schedule.start(now + pause - 1, 1).is_empty());
        assert_eq!(schedule.next(now), Some(now + pause));
        now += pause;
    }
    assert_eq!(schedule.failing().count(), 1);
    assert_eq!(schedule.start(now, 1).len(), 1);
    schedule.ended("a", Ended::Again, now);
    assert_eq!(schedule.failing().count(), 0);
    assert_eq!(schedule.start(now, 1).len(), 1, "there is more to do at once");
}

#[test]
fn a_missed_time_is_made_up_once() {
    let mut schedule = Schedule::default();
    schedule.learn(vec![work("a", &["a"], 0)]);
    assert_eq!(schedule.start(1_000_000, 4).len(), 1);
    schedule.ended("a", Ended::Done, 1_000_000);
    assert!(schedule.start(2_000_000, 4).is_empty());
}

proptest! {
    /// Whatever is learned and whatever ends: never two steps on one object, never one id
    /// twice, never more than the budget.
    #[test]
    fn invariants(ops in prop::collection::vec((0..4_u8, 0..6_u8, 0..3_u8, 0..50_u64), 1..100)) {
        let mut schedule = Schedule::default();
        let mut running: Vec<Work> = Vec::new();
        let mut now = 0;
        for (op, id, object, step) in ops {
            now += step;
            match op {
                0 => schedule.learn((0..=id).map(|n| {
                    let object = ["x", "y", "z"][usize::from((object + n) % 3)];
                    let objects: &[&str] = match n { 4 => &["x", "z"], 5 => &[], _ => &[object] };
                    work(&n.to_string(), objects, now.saturating_sub(u64::from(n)))
                }).collect()),
                1 | 2 => {
                    for w in schedule.start(now, 2) {
                        prop_assert!(w.due <= now);
                        prop_assert!(running.iter().all(|r| r.id != w.id));
                        prop_assert!(running.iter().all(|r| r.objects.iter().all(|o| !w.objects.contains(o))));
                        running.push(w);
                    }
                    let without = running.iter().filter(|w| w.objects.is_empty()).count();
                    let with = running.len() - without;
                    prop_assert!(without <= 2 && with <= 2);
                    for idle in schedule.startable(now) {
                        let is_full = if idle.objects.is_empty() { without == 2 } else { with == 2 };
                        prop_assert!(is_full, "{:?} could run beside {:?}", idle, running);
                    }
                }
                _ => if let Some(w) = running.pop() {
                    let how = [Ended::Done, Ended::Again, Ended::Later, Ended::Failed, Ended::PutOff][usize::from(id % 5)];
                    schedule.ended(&w.id, how, now);
                }
            }
        }
    }
}
