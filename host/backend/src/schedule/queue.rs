//! The works of one backend in the order in which they may start. Owns the indices: beginning and ending a step
//! looks at the few works that it concerns, however many the backend named.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Ended, FIRST_PAUSE, LONGEST_PAUSE, Object, PUT_OFF, Work, millis};

/// When a work may start, and which.
type Turn = (u64, String);

/// What is known of the work of one backend.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    works: HashMap<String, Work>,
    /// What runs, with its objects; also what the backend no longer names.
    running: HashMap<String, Vec<Object>>,
    /// Objects of what runs.
    busy: HashSet<Object>,
    waits: HashMap<String, Wait>,
    /// Works with objects that wait for nothing but their time and a place.
    with_objects: BTreeSet<Turn>,
    /// The same for works without.
    without_objects: BTreeSet<Turn>,
    /// Works that wait for an object. When it is free, the first of them goes back to where it waits for a place; the
    /// others would find the object in use again.
    parked: HashMap<Object, BTreeSet<Turn>>,
    /// How many works were looked at.
    #[cfg(test)]
    pub(super) looked_at: usize,
}

/// Why a work does not run although it is due.
#[derive(Debug, Clone, Copy)]
struct Wait {
    until: u64,
    failures: u32,
}

impl Schedule {
    /// Takes the backend's new list, in which each id stands once. What it no longer names is forgotten, except while it
    /// runs.
    pub(crate) fn learn(&mut self, works: Vec<Work>) {
        self.works = works.into_iter().map(|work| (work.id.clone(), work)).collect();
        self.waits.retain(|id, _| self.works.contains_key(id) || self.running.contains_key(id));
        self.with_objects.clear();
        self.without_objects.clear();
        self.parked.clear();
        let ids: Vec<_> = self.works.keys().cloned().collect();
        for id in ids {
            self.queue(&id);
        }
    }

    /// What to start at `now`: due, not waiting, one at a time per object. `budget` steps with objects may run side by
    /// side, and as many without, so that long steps delay no heartbeat.
    pub(crate) fn start(&mut self, now: u64, budget: usize) -> Vec<Work> {
        let without = self.running.values().filter(|objects| objects.is_empty()).count();
        let with = self.running.len() - without;
        let mut chosen = Vec::new();
        for _ in without..budget {
            let Some(work) = take(&mut self.without_objects, now).and_then(|id| self.works.get(&id)).cloned() else {
                break;
            };
            self.begin(&work);
            chosen.push(work);
        }
        let mut places = budget.saturating_sub(with);
        while places > 0 {
            let Some(work) = take(&mut self.with_objects, now).and_then(|id| self.works.get(&id)).cloned() else {
                break;
            };
            if let Some(object) = work.objects.iter().find(|object| self.busy.contains(*object)).cloned() {
                self.park(&work, object);
                continue;
            }
            self.begin(&work);
            chosen.push(work);
            places -= 1;
        }
        chosen.sort_by_key(|work| work.due);
        chosen
    }

    fn begin(&mut self, work: &Work) {
        #[cfg(test)]
        {
            self.looked_at += 1;
        }
        self.busy.extend(work.objects.iter().cloned());
        self.running.insert(work.id.clone(), work.objects.clone());
    }

    /// Has a work wait for an object that is in use.
    fn park(&mut self, work: &Work, object: Object) {
        #[cfg(test)]
        {
            self.looked_at += 1;
        }
        let turn = (self.turn(work), work.id.clone());
        let free: Vec<_> = work.objects.iter().filter(|object| !self.busy.contains(*object)).cloned().collect();
        self.parked.entry(object).or_default().insert(turn);
        // It may have been the one that stood for others which wait for these.
        for object in free {
            self.wake(&object);
        }
    }

    /// Has the first work that waits for the object wait for a place.
    fn wake(&mut self, object: &Object) {
        let Some(waiting) = self.parked.get_mut(object) else { return };
        if let Some(turn) = waiting.pop_first() {
            self.with_objects.insert(turn);
        }
        if waiting.is_empty() {
            self.parked.remove(object);
        }
    }

    /// When a work may start, as far as its time and its failures go.
    fn turn(&self, work: &Work) -> u64 {
        work.due.max(self.waits.get(&work.id).map_or(0, |wait| wait.until))
    }

    /// Has a work wait for its time, if it is named and does not run.
    fn queue(&mut self, id: &str) {
        #[cfg(test)]
        {
            self.looked_at += 1;
        }
        let Some(work) = self.works.get(id).filter(|_| !self.running.contains_key(id)) else { return };
        let turn = (self.turn(work), id.to_owned());
        if work.objects.is_empty() {
            self.without_objects.insert(turn);
        } else {
            self.with_objects.insert(turn);
        }
    }

    /// Notes how a step ended. Until the backend is asked again, only `Again`, a failure and a
    /// step put off leave the work in the list.
    pub(crate) fn ended(&mut self, id: &str, how: Ended, now: u64) {
        let objects = self.running.remove(id).unwrap_or_default();
        let failures = self.waits.get(id).map_or(0, |wait| wait.failures);
        match how {
            Ended::Again => {
                self.waits.remove(id);
            }
            Ended::Done | Ended::Later => {
                self.waits.remove(id);
                self.works.remove(id);
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
        self.queue(id);
        for object in objects {
            self.busy.remove(&object);
            self.wake(&object);
        }
    }

    /// When something may become startable, if nothing else happens.
    pub(crate) fn next(&self, now: u64) -> Option<u64> {
        let later = (now.saturating_add(1), String::new());
        let first = |turns: &BTreeSet<Turn>| turns.range(later.clone()..).next().map(|(at, _)| *at);
        [first(&self.with_objects), first(&self.without_objects)].into_iter().flatten().min()
    }

    /// What could run if there were places, found by looking at every work.
    #[cfg(test)]
    pub(super) fn startable(&self, now: u64) -> Vec<&Work> {
        let may_run = |work: &&Work| {
            self.turn(work) <= now
                && !self.running.contains_key(&work.id)
                && !work.objects.iter().any(|object| self.busy.contains(object))
        };
        self.works.values().filter(may_run).collect()
    }

    /// Works that have failed and how often.
    #[cfg(test)]
    pub(super) fn failing(&self) -> impl Iterator<Item = (&str, u32)> {
        self.waits.iter().filter(|(_, wait)| wait.failures > 0).map(|(id, wait)| (id.as_str(), wait.failures))
    }
}

/// The first of them whose time has come.
fn take(turns: &mut BTreeSet<Turn>, now: u64) -> Option<String> {
    let is_due = turns.first().is_some_and(|(at, _)| *at <= now);
    is_due.then(|| turns.pop_first()).flatten().map(|(_, id)| id)
}
