//! Which background work runs next. Pure: the runner tells what it learned and what time it is, and
//! is told what to start and when to look again.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// How often the backend is asked at least.
pub(crate) const ASK_EVERY: Duration = Duration::from_secs(10);
/// The first pause after a failed step; it doubles up to `LONGEST_PAUSE`.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between attempts of a failing step.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// A step that was put off because its objects were in use is tried again after this.
pub(crate) const PUT_OFF: Duration = Duration::from_millis(200);

/// An object that a work uses, as the lock table names it.
pub(crate) type Object = (&'static str, String);

/// One piece of work that the backend named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Work {
    /// The backend's name for it.
    pub id: String,
    /// What it works on.
    pub objects: Vec<Object>,
    /// When it is due, in milliseconds of the runner's clock.
    pub due: u64,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The work is done.
    Done,
    /// There is more to do.
    Again,
    /// Nothing to do now.
    Later,
    /// It failed.
    Failed,
    /// Its objects were in use, so it did not run.
    PutOff,
}

impl Ended {
    /// A fixed word for metrics.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Again => "again",
            Self::Later => "later",
            Self::Failed => "failed",
            Self::PutOff => "put-off",
        }
    }
}

/// What is known of the work of one backend.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    works: Vec<Work>,
    running: HashMap<String, Vec<Object>>,
    waits: HashMap<String, Wait>,
}

/// Why a work does not run although it is due.
#[derive(Debug, Clone, Copy)]
struct Wait {
    until: u64,
    failures: u32,
}

impl Schedule {
    /// Takes the backend's new list. What it no longer names is forgotten, except while it runs.
    pub(crate) fn learn(&mut self, works: Vec<Work>) {
        let named: HashSet<&str> = works.iter().map(|work| work.id.as_str()).collect();
        self.waits.retain(|id, _| named.contains(id.as_str()) || self.running.contains_key(id));
        self.works = works;
    }

    /// What to start at `now` when `budget` steps may run side by side: due, not waiting, one at a
    /// time per object. Work without objects does not count against the budget.
    pub(crate) fn start(&mut self, now: u64, budget: usize) -> Vec<Work> {
        let mut busy: HashSet<Object> = self.running.values().flatten().cloned().collect();
        let mut places = budget.saturating_sub(self.running.values().filter(|o| !o.is_empty()).count());
        let mut chosen = Vec::new();
        let mut candidates: Vec<_> = self.works.iter().filter(|work| self.may_run(work, now)).cloned().collect();
        candidates.sort_by_key(|work| work.due);
        for work in candidates {
            let own_slot = work.objects.is_empty();
            if (!own_slot && places == 0) || work.objects.iter().any(|object| busy.contains(object)) {
                continue;
            }
            if !own_slot {
                places -= 1;
                busy.extend(work.objects.iter().cloned());
            }
            self.running.insert(work.id.clone(), work.objects.clone());
            chosen.push(work);
        }
        chosen
    }

    fn may_run(&self, work: &Work, now: u64) -> bool {
        work.due <= now
            && !self.running.contains_key(&work.id)
            && self.waits.get(&work.id).is_none_or(|wait| wait.until <= now)
    }

    /// Notes how a step ended. Until the backend is asked again, only `Again`, a failure and a
    /// step put off leave the work in the list.
    pub(crate) fn ended(&mut self, id: &str, how: Ended, now: u64) {
        self.running.remove(id);
        let failures = self.waits.get(id).map_or(0, |wait| wait.failures);
        match how {
            Ended::Again => {
                self.waits.remove(id);
            }
            Ended::Done | Ended::Later => {
                self.waits.remove(id);
                self.works.retain(|work| work.id != id);
            }
            Ended::Failed => {
                let pause = millis(FIRST_PAUSE).saturating_mul(1 << failures.min(10)).min(millis(LONGEST_PAUSE));
                self.waits.insert(id.to_owned(), Wait { until: now.saturating_add(pause), failures: failures + 1 });
            }
            Ended::PutOff => {
                let until = now.saturating_add(millis(PUT_OFF));
                self.waits.insert(id.to_owned(), Wait { until, failures });
            }
        }
    }

    /// When something may become startable, if nothing else happens.
    pub(crate) fn next(&self, now: u64) -> Option<u64> {
        self.works
            .iter()
            .filter(|work| !self.running.contains_key(&work.id))
            .map(|work| work.due.max(self.waits.get(&work.id).map_or(0, |wait| wait.until)))
            .filter(|at| *at > now)
            .min()
    }

    /// Works that have failed and how often.
    #[cfg(test)]
    fn failing(&self) -> impl Iterator<Item = (&str, u32)> {
        self.waits.iter().filter(|(_, wait)| wait.failures > 0).map(|(id, wait)| (id.as_str(), wait.failures))
    }
}

/// When a moment of the wall clock is by the clock of the schedule, while the two show `wall` and `now`: as far from
/// now as it is by the wall. So a wall clock that is set while the host runs delays nothing for longer than until the
/// backend is asked again.
pub(crate) fn translated(moment: Duration, wall: Duration, now: u64) -> u64 {
    match moment.checked_sub(wall) {
        Some(ahead) => now.saturating_add(millis(ahead)),
        None => now.saturating_sub(millis(wall.saturating_sub(moment))),
    }
}

/// A span in the clock of the schedule.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
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
                        let objects: &[&str] = if n == 5 { &[] } else { &[object] };
                        work(&n.to_string(), objects, now.saturating_sub(u64::from(n)))
                    }).collect()),
                    1 | 2 => {
                        for w in schedule.start(now, 2) {
                            prop_assert!(w.due <= now);
                            prop_assert!(running.iter().all(|r| r.id != w.id));
                            prop_assert!(running.iter().all(|r| r.objects.iter().all(|o| !w.objects.contains(o))));
                            running.push(w);
                        }
                        prop_assert!(running.iter().filter(|w| !w.objects.is_empty()).count() <= 2);
                    }
                    _ => if let Some(w) = running.pop() {
                        let how = [Ended::Done, Ended::Again, Ended::Later, Ended::Failed, Ended::PutOff][usize::from(id % 5)];
                        schedule.ended(&w.id, how, now);
                    }
                }
            }
        }
    }
}
