//! A candidate beside the one that serves, before it takes its place: first as a shadow that only hears what is
//! asked, then as a canary that serves a share of the objects, as the operator wishes. Owns when each begins and
//! how it ends; the copy of the state and the exchange follow as for any other candidate.

use super::machine::{At, Lifecycle, Phase};
use super::memory::Stage;
use super::{Cause, Effect, Force, Number, Passed, Tally, trial};
use crate::gate::{Refusal, RefusalId, StateHandover};

impl Lifecycle {
    /// The way of a candidate from the gate on.
    pub(super) fn go_ahead(&mut self, at: At, passed: Passed, effects: &mut Vec<Effect>) {
        match passed.candidate.manner.shadow {
            Some(time) if self.active.is_some() => {
                effects.push(Effect::Shadow(passed.number));
                self.phase = Phase::Shadowing(passed, Some(at.now.saturating_add(time)));
            }
            _ => self.share(at, passed, effects),
        }
    }

    /// After the shadow: a share of the objects first, if the operator wishes.
    fn share(&mut self, at: At, passed: Passed, effects: &mut Vec<Effect>) {
        let Some(percent) = passed.candidate.manner.canary.filter(|_| self.active.is_some()) else {
            self.take_over(at, passed, effects);
            return;
        };
        if passed.passage != StateHandover::Free {
            let words = "it writes a newer format of the state, so it cannot share it with the one that serves";
            let refusal = Refusal::new(RefusalId::CanaryFormat, words);
            self.reject(passed.number, &passed.candidate, &refusal, effects);
            return;
        }
        self.memory.say(passed.number, format!("a canary for {percent} of a hundred objects"));
        effects.push(Effect::Canary(passed.number, percent));
        effects.push(Effect::Remember);
        self.phase = Phase::Canary(passed, at.now.saturating_add(self.terms.trial));
    }

    fn take_over(&mut self, at: At, passed: Passed, effects: &mut Vec<Effect>) {
        let Passed { number, candidate, profile, passage } = passed;
        match passage {
            StateHandover::Free => self.activate(at, number, candidate, profile, effects),
            StateHandover::Copy => {
                effects.push(Effect::CopyState(number));
                self.phase = Phase::Copying(number, candidate, profile);
            }
        }
    }

    /// Takes a candidate away from beside the one that serves. Its number, if it was there.
    pub(super) fn leave_aside(&mut self, at: At, refusal: &Refusal, effects: &mut Vec<Effect>) -> Option<Number> {
        let (passed, is_canary) = match std::mem::take(&mut self.phase) {
            Phase::Shadowing(passed, _) => (passed, false),
            Phase::Canary(passed, _) => (passed, true),
            phase => {
                self.phase = phase;
                return None;
            }
        };
        let number = passed.number;
        if is_canary {
            // It has calls, which end on it; it is let go afterwards.
            effects.push(Effect::EndCanary(number));
            self.draining.insert(number, at.now.saturating_add(self.terms.drain));
        } else {
            effects.push(Effect::EndShadow(number));
        }
        self.reject(number, &passed.candidate, refusal, effects);
        Some(number)
    }

    /// The shadow's record, which the machine has asked for.
    pub(super) fn shadowed(
        &mut self,
        at: At,
        number: Number,
        (tally, words): (Tally, String),
        effects: &mut Vec<Effect>,
    ) {
        let passed = match std::mem::take(&mut self.phase) {
            Phase::Shadowing(passed, _) if passed.number == number => passed,
            phase => {
                self.phase = phase;
                return;
            }
        };
        self.memory.say(number, format!("as a shadow: {words}"));
        effects.push(Effect::Remember);
        let worse = trial::is_worse(tally, Tally::default()) && passed.candidate.force == Force::No;
        let failed = worse.then(|| Refusal::new(RefusalId::Shadow, format!("as a shadow it went wrong: {words}")));
        match failed.or_else(|| self.is_worthless(&passed.candidate)) {
            Some(refusal) => self.reject(number, &passed.candidate, &refusal, effects),
            None => self.share(at, passed, effects),
        }
    }

    /// The one that is a canary now.
    pub fn canary(&self) -> Option<Number> {
        match &self.phase {
            Phase::Canary(passed, _) => Some(passed.number),
            _ => None,
        }
    }

    /// A canary's record. What goes wrong more often than the one that serves is taken away and barred.
    pub(super) fn canary_observed(&mut self, at: At, tallies: (Tally, Tally), effects: &mut Vec<Effect>) {
        let (new, old) = tallies;
        let Phase::Canary(passed, _) = &self.phase else { return };
        if trial::is_worse(new, old) {
            let words = format!(
                "as a canary it went wrong: {} of {} calls, and {} of {} with the one that serves",
                new.bad, new.calls, old.bad, old.calls
            );
            self.memory.bar(passed.candidate.recipe.clone());
            effects.push(Effect::RolledBack(Cause::Trial));
            self.leave_aside(at, &Refusal::new(RefusalId::Canary, words), effects);
        }
    }

    /// When its time is over.
    pub(super) fn aside_until(&self) -> Option<u64> {
        match &self.phase {
            Phase::Shadowing(_, until) => *until,
            Phase::Canary(_, until) => Some(*until),
            _ => None,
        }
    }

    /// Its time is over.
    pub(super) fn aside_is_over(&mut self, at: At, effects: &mut Vec<Effect>) {
        match std::mem::take(&mut self.phase) {
            Phase::Shadowing(passed, Some(until)) if until <= at.now => {
                effects.push(Effect::EndShadow(passed.number));
                effects.push(Effect::TellShadow(passed.number));
                self.phase = Phase::Shadowing(passed, None);
            }
            Phase::Canary(passed, until) if until <= at.now => self.canary_for_all(at, passed, effects),
            phase => self.phase = phase,
        }
    }

    /// The canary has done well: all objects go to it.
    pub(super) fn canary_for_all(&mut self, at: At, passed: Passed, effects: &mut Vec<Effect>) {
        // What serves now may have changed meanwhile, by a rollback.
        if let Some(refusal) = self.is_worthless(&passed.candidate) {
            self.phase = Phase::Canary(passed, at.now);
            self.leave_aside(at, &refusal, effects);
            return;
        }
        self.take_over(at, passed, effects);
    }

    /// The calls of one that was drained have ended. What was refused as a canary stays refused.
    pub(super) fn retire(&mut self, number: Number) {
        if self.memory.entry(number).is_some_and(|entry| entry.stage == Stage::Draining) {
            self.memory.set(number, Stage::Retired);
        }
    }
}
