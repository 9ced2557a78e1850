//! The machine itself: one step an input. Owns what is active, ready, staged and draining; the way back
//! is in `revert.rs`.

use std::collections::BTreeMap;

use super::memory::{Good, Stage};
use super::{
    Candidate, Connections, Effect, Input, Intake, LoadReason, Memory, Number, Passed, Recipe, Terms, Ticket, trial,
};
use crate::gate::{Baseline, Profile, Refusal, RefusalId, compare};

/// A generation that could serve at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standby {
    /// Its number.
    pub number: Number,
    /// What it is.
    pub recipe: Recipe,
    /// What it says of itself.
    pub profile: Profile,
    /// It took the state over from code that writes an older format, so the way back leads through the
    /// copy.
    pub copied: bool,
}

/// What is under way beside serving; one thing at a time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Phase {
    /// Nothing.
    #[default]
    Idle,
    /// A candidate is being made and looked at.
    Staging(Number, Candidate),
    /// It hears what is asked, until this moment; none: its record is awaited.
    Shadowing(Passed, Option<u64>),
    /// It serves a share of the objects, until this moment.
    Canary(Passed, u64),
    /// The state is being copied for it.
    Copying(Number, Candidate, Profile),
    /// It is being found out what a way back would lose.
    Comparing(super::Revert),
    /// The copy of the state is being brought back.
    Restoring(super::Revert),
}

/// The moment of a step, in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct At {
    /// Since some beginning; never goes back.
    pub now: u64,
    /// Since 1970, for the history.
    pub wall: u64,
}

/// The life of one backend's generations.
#[derive(Debug, Default)]
pub struct Lifecycle {
    pub(super) terms: Terms,
    pub(super) memory: Memory,
    pub(super) intake: Intake,
    pub(super) phase: Phase,
    pub(super) waiting: Option<Candidate>,
    pub(super) active: Option<Standby>,
    pub(super) ready: Option<Standby>,
    /// Deadlines of those whose calls are ending.
    pub(super) draining: BTreeMap<Number, u64>,
    /// When the trial of the active one is over.
    pub(super) trial: Option<u64>,
    /// The last good one was tried because nothing else could serve.
    pub(super) fell_back: bool,
}

impl Lifecycle {
    /// A backend with nothing loaded, and what is remembered of its earlier lives.
    pub fn new(terms: Terms, mut memory: Memory) -> Self {
        memory.after_restart();
        Self { terms, memory, ..Self::default() }
    }

    /// From now on.
    pub fn set_terms(&mut self, terms: Terms) {
        self.terms = terms;
    }

    /// What is to survive a restart.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// What serves.
    pub fn active(&self) -> Option<&Standby> {
        self.active.as_ref()
    }

    /// What could serve at once instead.
    pub fn ready(&self) -> Option<&Standby> {
        self.ready.as_ref()
    }

    /// What is under way.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Whether calls are taken.
    pub fn intake(&self) -> Intake {
        self.intake
    }

    /// Whether the active generation is on trial.
    pub fn is_on_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// Whether the calls of this one are ending.
    pub fn is_draining(&self, number: Number) -> bool {
        self.draining.contains_key(&number)
    }

    /// When something happens by itself.
    pub fn next(&self) -> Option<u64> {
        self.draining.values().copied().chain(self.trial).chain(self.aside_until()).min()
    }

    /// Takes in what happened; gives what is to be done, in this order.
    pub fn step(&mut self, at: At, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Found(candidate) => self.found(at, candidate, &mut effects),
            Input::Unread(candidate, refusal) => self.turn_away(&candidate, refusal, &mut effects),
            Input::Staged(number, profile) => self.staged(at, number, profile, &mut effects),
            Input::Copied(number) => self.copied(at, number, &mut effects),
            Input::Refused(number, refusal) => self.refused(number, &refusal, &mut effects),
            Input::Observed { number, new, old } => self.observed(at, number, (new, old), &mut effects),
            Input::Shadowed(number, tally, words) => self.shadowed(at, number, (tally, words), &mut effects),
            Input::Drained(number) => self.drained(number, &mut effects),
            Input::Rollback(force, ticket) => self.rollback(at, force, ticket, &mut effects),
            Input::Compared(number, lost) => self.compared(number, &lost, &mut effects),
            Input::Restored(number) => self.restored(at, number, &mut effects),
            Input::NotRestored(number, why) => self.not_restored(number, &why, &mut effects),
            Input::Pin(code, ticket) => self.pin(at, code, ticket, &mut effects),
            Input::Close(intake, ticket) => self.close(intake, ticket, &mut effects),
            Input::Tick => self.tick(at, &mut effects),
        }
        self.fall_back(&mut effects);
        effects
    }

    fn staged(&mut self, at: At, number: Number, profile: Profile, effects: &mut Vec<Effect>) {
        let Some(candidate) = self.staging(number) else {
            effects.push(Effect::Drop(number));
            return;
        };
        if let Some(entry) = self.memory.entry(number) {
            entry.version = Some(profile.version.clone());
        }
        if let Some(refusal) = self.is_worthless(&candidate) {
            self.reject(number, &candidate, &refusal, effects);
            return;
        }
        let served =
            self.active.as_ref().map(|active| &active.profile).or(self.memory.good.as_ref().map(|good| &good.profile));
        let seen = self.memory.seen.as_deref().filter(|_| candidate.why != LoadReason::LastGood);
        let against = Baseline { active: served, seen, written: self.memory.written, force: candidate.force };
        match compare(&profile, against) {
            Err(refusal) => self.reject(number, &candidate, &refusal, effects),
            Ok(passage) => self.go_ahead(at, Passed { number, candidate, profile, passage }, effects),
        }
    }

    fn copied(&mut self, at: At, number: Number, effects: &mut Vec<Effect>) {
        match std::mem::take(&mut self.phase) {
            Phase::Copying(copying, candidate, profile) if copying == number => match self.is_worthless(&candidate) {
                Some(refusal) => self.reject(number, &candidate, &refusal, effects),
                None => self.activate(at, number, candidate, profile, effects),
            },
            phase => {
                self.phase = phase;
                effects.push(Effect::Drop(number));
            }
        }
    }

    /// Why a candidate is of no use any more, though it was staged well.
    pub(super) fn is_worthless(&self, candidate: &Candidate) -> Option<Refusal> {
        let is_other = |recipe: &Recipe| *recipe != candidate.recipe;
        if self.waiting.as_ref().is_some_and(|waiting| is_other(&waiting.recipe)) {
            return Some(Refusal::new(RefusalId::Superseded, "something newer came while it was staged"));
        }
        // A rollback meanwhile may have brought it back, and the way back must not lead to itself.
        let is_back = self.active.as_ref().is_some_and(|active| !is_other(&active.recipe));
        is_back.then(|| Refusal::new(RefusalId::Superseded, "a rollback has brought the same one back"))
    }

    fn refused(&mut self, number: Number, refusal: &Refusal, effects: &mut Vec<Effect>) {
        match self.staging(number) {
            Some(candidate) => self.reject(number, &candidate, refusal, effects),
            None => effects.push(Effect::Drop(number)),
        }
    }

    /// The candidate of this staging, which is over now; none: it was given up before.
    fn staging(&mut self, number: Number) -> Option<Candidate> {
        match std::mem::take(&mut self.phase) {
            Phase::Staging(staging, candidate) | Phase::Copying(staging, candidate, _) if staging == number => {
                Some(candidate)
            }
            phase => {
                self.phase = phase;
                None
            }
        }
    }

    /// Notes a refusal and goes on with what waits. One whose calls are ending is let go when they have.
    pub(super) fn reject(
        &mut self,
        number: Number,
        candidate: &Candidate,
        refusal: &Refusal,
        effects: &mut Vec<Effect>,
    ) {
        self.memory.reject(number, refusal);
        let is_draining = self.draining.contains_key(&number);
        effects.push(if is_draining { Effect::Drain(number) } else { Effect::Drop(number) });
        effects.push(Effect::Remember);
        answer(candidate.ticket, Err(refusal.clone()), effects);
        self.go_on(effects);
    }

    pub(super) fn activate(
        &mut self,
        at: At,
        number: Number,
        candidate: Candidate,
        profile: Profile,
        effects: &mut Vec<Effect>,
    ) {
        let copied = self.memory.written.is_some_and(|written| written < profile.writes);
        if candidate.why != LoadReason::LastGood {
            self.memory.seen = Some(profile.version.clone());
        }
        answer(candidate.ticket, Ok(format!("generation {number} serves")), effects);
        self.exchange(at, Standby { number, recipe: candidate.recipe, profile, copied }, effects);
        if self.ready.is_some() {
            self.trial = Some(at.now.saturating_add(self.terms.trial));
        } else {
            self.keep_good(effects);
        }
        self.go_on(effects);
    }

    /// The swap: the old one drains and stays ready, the one before it is let go.
    pub(super) fn exchange(&mut self, at: At, next: Standby, effects: &mut Vec<Effect>) {
        let connections = match &self.active {
            Some(old) if old.profile.abilities != next.profile.abilities => Connections::Close,
            _ => Connections::Stay,
        };
        self.memory.written = Some(next.profile.writes);
        // By force, or as the way back from something worse: what serves may serve again after a restart.
        self.memory.barred.remove(&next.recipe);
        self.memory.set(next.number, Stage::Active);
        if let Some(entry) = self.memory.entry(next.number) {
            entry.activated = Some(at.wall);
        }
        // It may have been draining since the last swap; now its calls may go on.
        self.draining.remove(&next.number);
        effects.push(Effect::Activate(next.number, connections));
        let old = self.active.replace(next);
        let before = std::mem::replace(&mut self.ready, old);
        if let Some(old) = &self.ready {
            self.memory.set(old.number, Stage::Draining);
            self.draining.insert(old.number, at.now.saturating_add(self.terms.drain));
            effects.push(Effect::Drain(old.number));
        }
        self.trial = None;
        if let Some(before) = before {
            self.let_go(before.number, effects);
        }
        effects.push(Effect::Remember);
    }

    /// Drops a generation, unless it serves, is kept ready, or has calls under way.
    pub(super) fn let_go(&mut self, number: Number, effects: &mut Vec<Effect>) {
        let is_kept = [&self.active, &self.ready].into_iter().flatten().any(|kept| kept.number == number);
        if !is_kept && !self.draining.contains_key(&number) {
            effects.push(Effect::Drop(number));
        }
    }

    fn drained(&mut self, number: Number, effects: &mut Vec<Effect>) {
        if self.draining.remove(&number).is_none() {
            return;
        }
        self.retire(number);
        effects.push(Effect::Remember);
        self.let_go(number, effects);
    }

    pub(super) fn keep_good(&mut self, effects: &mut Vec<Effect>) {
        if let Some(active) = &self.active {
            self.memory.good = Some(Good { recipe: active.recipe.clone(), profile: active.profile.clone() });
            effects.push(Effect::KeepGood(active.number));
            effects.push(Effect::Remember);
        }
    }

    fn observed(&mut self, at: At, number: Number, tallies: (trial::Tally, trial::Tally), effects: &mut Vec<Effect>) {
        if self.canary() == Some(number) {
            self.canary_observed(at, tallies, effects);
            return;
        }
        let is_on_trial = self.trial.is_some() && self.active.as_ref().is_some_and(|active| active.number == number);
        let (new, old) = tallies;
        if is_on_trial && trial::is_worse(new, old) {
            let why = format!(
                "rolled back in its trial: {} of {} calls went wrong, and {} of {} before",
                new.bad, new.calls, old.bad, old.calls
            );
            self.roll_back_by_itself(at, why, effects);
        }
    }

    fn tick(&mut self, at: At, effects: &mut Vec<Effect>) {
        let late: Vec<_> = self.draining.iter().filter(|(_, ends)| **ends <= at.now).map(|(n, _)| *n).collect();
        for number in late {
            effects.push(Effect::End(number));
            // What has not ended then is told to end once more.
            self.draining.insert(number, at.now.saturating_add(END_AGAIN));
        }
        if self.trial.is_some_and(|over| over <= at.now) {
            self.trial = None;
            self.keep_good(effects);
        }
        self.aside_is_over(at, effects);
    }
}

/// A call that was just entering its guest may miss the word, so it is said again.
const END_AGAIN: u64 = 1_000;

pub(super) fn answer(ticket: Option<Ticket>, result: Result<String, Refusal>, effects: &mut Vec<Effect>) {
    if let Some(ticket) = ticket {
        effects.push(Effect::Answer(ticket, result));
    }
}

pub(super) fn superseded(ticket: Option<Ticket>, effects: &mut Vec<Effect>) {
    let refusal = Refusal::new(RefusalId::Superseded, "something newer came before it was looked at");
    answer(ticket, Err(refusal), effects);
}
