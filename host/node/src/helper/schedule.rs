//! Whose request is worked on next: first the volume's turn, then a slot; slots go round between backends.
//!
//! A pure decision over what waits and what runs. It must not start anything, and it does not know what has a turn: it
//! is told. A request that waits for its volume holds no slot, so nobody's queue is longer for it.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Bound;

use super::limits::{AT_ONCE, SERVERS_AT_ONCE, SERVERS_AT_ONCE_OF_ONE, WAITING_OF_ONE};
use super::turns::VolumeKey;

/// What waits and what runs.
#[derive(Debug)]
pub(crate) struct Schedule<J> {
    backends: BTreeMap<String, Queue<J>>,
    running: usize,
    /// Jobs at once, and those of one backend among them.
    most: (usize, usize),
    /// The backend that was served last.
    last: String,
}

#[derive(Debug)]
struct Queue<J> {
    /// In the order of arrival.
    waiting: VecDeque<(Option<VolumeKey>, J)>,
    running: usize,
}

impl<J> Schedule<J> {
    /// One for jobs that work, of which a backend may have `of_one` at once.
    pub(crate) fn for_work(of_one: usize) -> Self {
        Self::with((AT_ONCE, of_one))
    }

    /// One for jobs that wait for servers.
    pub(crate) fn for_servers() -> Self {
        Self::with((SERVERS_AT_ONCE, SERVERS_AT_ONCE_OF_ONE))
    }

    fn with(most: (usize, usize)) -> Self {
        Self { backends: BTreeMap::new(), running: 0, most, last: String::new() }
    }

    /// Queues a job of a backend, which needs the turn of a volume or none. Gives it back if too many wait.
    pub(crate) fn push(&mut self, backend: &str, key: Option<VolumeKey>, job: J) -> Result<(), J> {
        let queue =
            self.backends.entry(backend.to_owned()).or_insert_with(|| Queue { waiting: VecDeque::new(), running: 0 });
        if queue.waiting.len() >= WAITING_OF_ONE {
            return Err(job);
        }
        queue.waiting.push_back((key, job));
        Ok(())
    }

    fn queue(&mut self, backend: &str) -> &mut Queue<J> {
        self.backends.entry(backend.to_owned()).or_insert_with(|| Queue { waiting: VecDeque::new(), running: 0 })
    }

    /// The next job to run, with the turn that `take` gave for its volume; none: nothing can run now.
    pub(crate) fn next<T>(&mut self, mut take: impl FnMut(&VolumeKey) -> Option<T>) -> Option<(J, Option<T>)> {
        let (most, of_one) = self.most;
        if self.running >= most {
            return None;
        }
        let last = std::mem::take(&mut self.last);
        let after = self.backends.range_mut::<str, _>((Bound::Excluded(last.as_str()), Bound::Unbounded));
        let found = after.into_iter().find_map(|(name, queue)| Some((name.clone(), queue.next(of_one, &mut take)?)));
        let found = found.or_else(|| {
            let before = self.backends.range_mut::<str, _>((Bound::Unbounded, Bound::Included(last.as_str())));
            before.into_iter().find_map(|(name, queue)| Some((name.clone(), queue.next(of_one, &mut take)?)))
        });
        let Some((name, job)) = found else {
            self.last = last;
            return None;
        };
        self.last = name;
        self.running += 1;
        Some(job)
    }

    /// A job runs that waited for nothing; it ends like the others.
    pub(crate) fn ran_at_once(&mut self, backend: &str) {
        self.running += 1;
        self.queue(backend).running += 1;
    }

    /// A job of this backend has ended.
    pub(crate) fn ended(&mut self, backend: &str) {
        self.running = self.running.saturating_sub(1);
        if let Some(queue) = self.backends.get_mut(backend) {
            queue.running = queue.running.saturating_sub(1);
            if queue.running == 0 && queue.waiting.is_empty() {
                self.backends.remove(backend);
            }
        }
    }

    /// Takes everything out that waits.
    pub(crate) fn clear(&mut self) {
        for queue in self.backends.values_mut() {
            queue.waiting.clear();
        }
    }

    /// Whether nothing runs.
    pub(crate) fn is_idle(&self) -> bool {
        self.running == 0
    }
}

impl<J> Queue<J> {
    /// The first job whose volume is free. Those of one volume stay in their order.
    fn next<T>(&mut self, most: usize, take: &mut impl FnMut(&VolumeKey) -> Option<T>) -> Option<(J, Option<T>)> {
        if self.running >= most {
            return None;
        }
        let mut passed: HashSet<&VolumeKey> = HashSet::new();
        let mut found = None;
        for (at, (key, _)) in self.waiting.iter().enumerate() {
            let Some(key) = key else {
                found = Some((at, None));
                break;
            };
            if passed.contains(key) {
                continue;
            }
            if let Some(turn) = take(key) {
                found = Some((at, Some(turn)));
                break;
            }
            passed.insert(key);
        }
        let (at, turn) = found?;
        let (_, job) = self.waiting.remove(at)?;
        self.running += 1;
        Some((job, turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::limits::AT_ONCE_OF_ONE;

    fn key(volume: &str) -> VolumeKey {
        VolumeKey::new("b", volume)
    }

    /// Starts all that can run; what is among `busy` has no turn, nor has what was started.
    fn run<'j>(schedule: &mut Schedule<&'j str>, busy: &mut HashSet<VolumeKey>) -> Vec<&'j str> {
        let mut order = Vec::new();
        while let Some((job, _)) = schedule.next(|key| busy.insert(key.clone()).then_some(())) {
            order.push(job);
        }
        order
    }

    #[test]
    fn what_waits_for_its_volume_holds_no_slot() {
        let mut schedule = Schedule::for_work(AT_ONCE_OF_ONE);
        for _ in 0..WAITING_OF_ONE {
            schedule.push("a", Some(key("v")), "v").unwrap();
        }
        assert!(schedule.push("a", Some(key("v")), "v").is_err(), "too many wait");
        schedule.push("b", Some(key("w")), "w").unwrap();
        let mut busy = HashSet::new();
        assert_eq!(run(&mut schedule, &mut busy), ["v", "w"]);
        schedule.ended("b");
        schedule.push("b", None, "x").unwrap();
        assert_eq!(run(&mut schedule, &mut busy), ["x"]);
        // The next of a volume runs when its turn has come.
        busy.remove(&key("v"));
        schedule.ended("a");
        assert_eq!(run(&mut schedule, &mut busy), ["v"]);
    }

    #[test]
    fn slots_go_round_between_backends_and_one_has_a_share_at_most() {
        let backends: Vec<_> = (0..=AT_ONCE / AT_ONCE_OF_ONE).map(|n| format!("b{n:02}")).collect();
        let mut schedule = Schedule::for_work(AT_ONCE_OF_ONE);
        for backend in &backends {
            for _ in 0..40 {
                schedule.push(backend, None, backend.as_str()).unwrap();
            }
        }
        let mut none = HashSet::new();
        let first = run(&mut schedule, &mut none);
        assert_eq!(first.len(), AT_ONCE);
        let twice: Vec<_> = backends.iter().chain(&backends).collect();
        assert_eq!(first[..twice.len()], twice);
        for backend in &first {
            schedule.ended(backend);
        }
        let mut alone = Schedule::for_work(AT_ONCE_OF_ONE);
        for _ in 0..40 {
            alone.push("a", None, "a").unwrap();
        }
        assert_eq!(run(&mut alone, &mut none).len(), AT_ONCE_OF_ONE);
        alone.push("b", None, "b").unwrap();
        assert_eq!(run(&mut alone, &mut none), ["b"]);
        assert!(!alone.is_idle());
        alone.clear();
        for backend in ["b"].into_iter().chain(["a"; AT_ONCE_OF_ONE]) {
            alone.ended(backend);
        }
        assert!(alone.is_idle() && alone.backends.is_empty());
    }

    #[test]
    fn requests_on_one_volume_keep_their_order() {
        let mut schedule = Schedule::for_work(AT_ONCE_OF_ONE);
        for (volume, job) in [("v", "v1"), ("v", "v2"), ("w", "w1"), ("v", "v3")] {
            schedule.push("a", Some(key(volume)), job).unwrap();
        }
        let mut free_from_second_look = 0;
        // `v` comes free while the queue is looked through: the one behind must not overtake.
        let next = schedule.next(|key| {
            free_from_second_look += usize::from(key.volume == "v");
            (key.volume == "w" || free_from_second_look > 1).then_some(())
        });
        assert_eq!(next.map(|(job, _)| job), Some("w1"));
        assert_eq!(schedule.next(|_| Some(())).map(|(job, _)| job), Some("v1"));
    }
}
