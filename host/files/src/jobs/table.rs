//! Which jobs there are: running, waiting and remembered. Pure.
//!
//! Owns every decision about keys and numbers, and starts, stops and waits for nothing itself; its
//! caller does, outside of the lock around this table.

use super::{
    Job, JobLimits, JobProgress, JobResult, JobState, Origin,
    stop::{Progress, Stop, Why},
};
use crate::{
    directories::Directories,
    error::{FileError, FileErrorCode},
};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

/// All that a thread needs to run a job.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) key: String,
    /// Tells this run from others of the same key.
    pub(super) serial: u64,
    pub(super) job: Arc<Job>,
    /// The job's hash.
    pub(super) description: Arc<str>,
    pub(super) directories: Arc<Directories>,
    pub(super) stop: Arc<Stop>,
    pub(super) progress: Arc<Progress>,
    /// Whether it lets calls go first.
    pub(super) gives_way: bool,
    /// Whether it works in a directory that may hang and that is not needed.
    pub(super) may_hang: bool,
}

#[derive(Debug)]
enum Phase {
    Waiting(Task),
    Running,
    Ended { result: Result<JobResult, FileError>, told: Told },
}

/// Whether somebody has been told how a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Yes,
    NotYet,
}

#[derive(Debug)]
struct Entry {
    serial: u64,
    /// What it does, by its hash: a thousand jobs are remembered, each of which may have been a megabyte.
    description: Arc<str>,
    stop: Arc<Stop>,
    progress: Arc<Progress>,
    origin: Origin,
    /// Whether it works where something may hang that is not needed.
    may_hang: bool,
    phase: Phase,
}

/// What became of a wish to run a job.
#[derive(Debug)]
pub(super) enum Submitted {
    /// It is there already, or waits its turn.
    Known { serial: u64 },
    /// The caller has to run it now.
    Start(Task),
}

/// What became of a wish to end a job.
#[derive(Debug)]
pub(super) enum Cancelled {
    /// It is gone from the table. What it held, to be dropped outside of the lock.
    Gone(Option<Origin>),
    /// It has been told to stop and is gone when it has ended.
    Stopping,
}

/// The jobs of one backend.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: HashMap<String, Entry>,
    waiting: VecDeque<String>,
    /// Ended jobs, oldest first; some may be gone or anew meanwhile.
    ended: VecDeque<(String, u64)>,
    cancelling: HashSet<String>,
    /// Where nothing hangs, or everything does.
    running: usize,
    /// Where something may hang that is not needed.
    at_risk: usize,
    serial: u64,
    draining: bool,
}

impl Table {
    /// Finds the job of this key, or takes a new one in. `origin` is taken only by a new one.
    pub(super) fn submit(
        &mut self,
        mut task: Task,
        origin: &mut Option<Origin>,
        limits: &JobLimits,
    ) -> Result<Submitted, FileError> {
        self.check_open(&task.key)?;
        if let Some(serial) = self.find(&task.key, &task.description)? {
            return Ok(Submitted::Known { serial });
        }
        let may_hang = task.may_hang;
        let starts = self.has_room(may_hang, limits);
        if !starts && self.waiting.len() >= limits.waiting {
            let words = format!("{} jobs run and {} wait already", self.running(), self.waiting.len());
            return Err(FileError::new(FileErrorCode::Limit, words));
        }
        self.serial += 1;
        task.serial = self.serial;
        let (key, serial) = (task.key.clone(), task.serial);
        let mut entry = Entry {
            serial,
            description: Arc::clone(&task.description),
            stop: Arc::clone(&task.stop),
            progress: Arc::clone(&task.progress),
            origin: origin.take().unwrap_or_default(),
            may_hang,
            phase: Phase::Running,
        };
        if starts {
            self.entries.insert(key, entry);
            *self.places(may_hang) += 1;
            return Ok(Submitted::Start(task));
        }
        entry.phase = Phase::Waiting(task);
        self.entries.insert(key.clone(), entry);
        self.waiting.push_back(key);
        Ok(Submitted::Known { serial })
    }

    fn check_open(&self, key: &str) -> Result<(), FileError> {
        if self.draining {
            return Err(Why::Draining.into());
        }
        if self.cancelling.contains(key) {
            return Err(FileError::new(FileErrorCode::Busy, "the job with this key is being cancelled"));
        }
        Ok(())
    }

    /// The run that a key stands for, if it still counts for a job of this hash. A failure counts until it has
    /// been told once, or nobody would learn of it.
    fn find(&self, key: &str, description: &str) -> Result<Option<u64>, FileError> {
        let Some(entry) = self.entries.get(key) else {
            return Ok(None);
        };
        let same = *entry.description == *description;
        match &entry.phase {
            Phase::Waiting(_) | Phase::Running if !same => {
                Err(FileError::new(FileErrorCode::Busy, "the job with this key is doing something else"))
            }
            Phase::Ended { result: Err(_), told: Told::Yes } => Ok(None),
            Phase::Ended { .. } if !same => Ok(None),
            Phase::Waiting(_) | Phase::Running | Phase::Ended { .. } => Ok(Some(entry.serial)),
        }
    }

    /// How far a run is; none: it was cancelled. Telling a failure is remembered.
    pub(super) fn tell(&mut self, key: &str, serial: u64) -> Option<JobState> {
        let entry = self.entries.get_mut(key).filter(|entry| entry.serial == serial)?;
        match &mut entry.phase {
            Phase::Waiting(_) | Phase::Running => {
                let (done_bytes, total_bytes) = entry.progress.read();
                Some(JobState::Running(JobProgress { done_bytes, total_bytes }))
            }
            Phase::Ended { result, told } => {
                *told = Told::Yes;
                Some(result.clone().map_or_else(JobState::Failed, JobState::Done))
            }
        }
    }

    /// Whether a run is still waiting or running.
    pub(super) fn is_under_way(&self, key: &str, serial: u64) -> bool {
        let entry = self.entries.get(key).filter(|entry| entry.serial == serial);
        entry.is_some_and(|entry| !matches!(entry.phase, Phase::Ended { .. }))
    }

    /// Whether any job that this call started is still waiting or running.
    pub(super) fn is_call_under_way(&self, call: &str) -> bool {
        let of_call = |entry: &&Entry| entry.origin.call.as_deref() == Some(call);
        self.entries.values().filter(of_call).any(|entry| !matches!(entry.phase, Phase::Ended { .. }))
    }

    /// What a run holds, to be dropped before it counts as ended.
    pub(super) fn release(&mut self, key: &str) -> Option<Box<dyn Send>> {
        self.entries.get_mut(key)?.origin.hold.take()
    }

    /// A run has ended. Gives the next one to start.
    pub(super) fn end(&mut self, key: &str, result: Result<JobResult, FileError>, limits: &JobLimits) -> Option<Task> {
        let may_hang = self.entries.get(key).is_some_and(|entry| entry.may_hang);
        let places = self.places(may_hang);
        *places = places.saturating_sub(1);
        if self.cancelling.contains(key) {
            self.entries.remove(key);
        } else if let Some(entry) = self.entries.get_mut(key) {
            entry.phase = Phase::Ended { result, told: Told::NotYet };
            self.ended.push_back((key.to_owned(), entry.serial));
        }
        self.forget(limits.remembered);
        self.next(limits)
    }

    fn forget(&mut self, remembered: usize) {
        while self.ended.len() > remembered {
            let Some((key, serial)) = self.ended.pop_front() else {
                return;
            };
            let same = |entry: &Entry| entry.serial == serial;
            if self.entries.get(&key).is_some_and(same) {
                self.entries.remove(&key);
            }
        }
    }

    fn next(&mut self, limits: &JobLimits) -> Option<Task> {
        let may_start = |key: &String| self.entries.get(key).is_some_and(|it| self.has_room(it.may_hang, limits));
        let key = self.waiting.remove(self.waiting.iter().position(may_start)?)?;
        let entry = self.entries.get_mut(&key)?;
        match std::mem::replace(&mut entry.phase, Phase::Running) {
            Phase::Waiting(task) => {
                *self.places(task.may_hang) += 1;
                Some(task)
            }
            // It cannot be: what waits has not begun.
            begun => {
                entry.phase = begun;
                None
            }
        }
    }

    fn has_room(&self, may_hang: bool, limits: &JobLimits) -> bool {
        (if may_hang { self.at_risk } else { self.running }) < limits.running
    }

    fn places(&mut self, may_hang: bool) -> &mut usize {
        if may_hang { &mut self.at_risk } else { &mut self.running }
    }

    /// Begins to cancel a key: until [`Self::cancelled`] no job of this key can start.
    pub(super) fn cancel(&mut self, key: &str) -> Result<Cancelled, FileError> {
        if !self.cancelling.insert(key.to_owned()) {
            return Err(FileError::new(FileErrorCode::Busy, "the job with this key is being cancelled"));
        }
        let Some(entry) = self.entries.get(key) else {
            return Ok(Cancelled::Gone(None));
        };
        if matches!(entry.phase, Phase::Running) {
            entry.stop.request(Why::Cancelled);
            return Ok(Cancelled::Stopping);
        }
        self.waiting.retain(|waiting| waiting != key);
        Ok(Cancelled::Gone(self.entries.remove(key).map(|entry| entry.origin)))
    }

    /// The key is free again.
    pub(super) fn cancelled(&mut self, key: &str) {
        self.cancelling.remove(key);
    }

    /// Whether a job of this key is still to end.
    pub(super) fn is_known(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Takes no more jobs, forgets those that wait and tells those that run to stop. Gives what the
    /// forgotten ones held, to be dropped outside of the lock.
    pub(super) fn drain(&mut self) -> Vec<Origin> {
        self.draining = true;
        for entry in self.entries.values().filter(|entry| matches!(entry.phase, Phase::Running)) {
            entry.stop.request(Why::Draining);
        }
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().filter_map(|key| self.entries.remove(&key)).map(|entry| entry.origin).collect()
    }

    /// How many run.
    pub(super) fn running(&self) -> usize {
        self.running + self.at_risk
    }
}
