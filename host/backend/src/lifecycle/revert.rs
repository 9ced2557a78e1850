//! The way back: to the generation that is kept ready, by the operator's word or by the trial's. Where
//! the format of the state has changed, the way leads through the copy that was made at the swap.

use super::machine::{At, Lifecycle, Phase, answer};
use super::{Cause, Effect, Force, Number, Revert, Ticket};
use crate::gate::{Refusal, RefusalId};

impl Lifecycle {
    pub(super) fn rollback(&mut self, at: At, force: Force, ticket: Ticket, effects: &mut Vec<Effect>) {
        if matches!(self.phase, Phase::Comparing(_) | Phase::Restoring(_)) {
            let refusal = Refusal::new(RefusalId::Busy, "a rollback is under way");
            effects.push(Effect::Answer(ticket, Err(refusal)));
            return;
        }
        let refusal = Refusal::new(RefusalId::Superseded, "the operator rolled back");
        if let Phase::Shadowing(passed, _) | Phase::Canary(passed, _) = &self.phase {
            // What serves all others is the one to go back to.
            let (tried, recipe) = (passed.number, passed.candidate.recipe.clone());
            self.memory.bar(recipe);
            let words = format!("generation {tried} is not tried any longer; what serves stays");
            effects.push(Effect::Answer(ticket, Ok(words)));
            effects.push(Effect::RolledBack(Cause::Operator));
            self.leave_aside(at, &refusal, effects);
            return;
        }
        let (Some(active), Some(_)) = (&self.active, &self.ready) else {
            let refusal = Refusal::new(RefusalId::Nothing, "no generation before this one is kept ready");
            effects.push(Effect::Answer(ticket, Err(refusal)));
            return;
        };
        let from = active.number;
        // The operator's word is newer than whatever is staged or waits.
        if let Some(older) = self.waiting.take() {
            answer(older.ticket, Err(refusal.clone()), effects);
        }
        self.give_up(at, &refusal, effects);
        let why = "rolled back by the operator".to_owned();
        self.revert(at, Revert { from, why, force, ticket: Some(ticket) }, effects);
    }

    /// The trial's verdict. What is under way keeps its turn: the verdict comes again.
    pub(super) fn roll_back_by_itself(&mut self, at: At, why: String, effects: &mut Vec<Effect>) {
        if self.ready.is_some() {
            // What it is compared with goes.
            self.leave_aside(at, &Refusal::new(RefusalId::Superseded, "what served was rolled back"), effects);
        }
        let Some(active) = &self.active else { return };
        let needs_turn = active.copied && self.phase != Phase::Idle;
        if self.ready.is_none() || needs_turn {
            return;
        }
        let revert = Revert { from: active.number, why, force: Force::No, ticket: None };
        self.revert(at, revert, effects);
    }

    fn revert(&mut self, at: At, revert: Revert, effects: &mut Vec<Effect>) {
        if self.active.as_ref().is_some_and(|active| active.copied) {
            effects.push(Effect::CompareState(revert.from));
            self.phase = Phase::Comparing(revert);
        } else {
            self.swap_back(at, revert, effects);
        }
    }

    pub(super) fn compared(&mut self, number: Number, lost: &[String], effects: &mut Vec<Effect>) {
        let revert = match std::mem::take(&mut self.phase) {
            Phase::Comparing(revert) if revert.from == number => revert,
            phase => {
                self.phase = phase;
                return;
            }
        };
        if !lost.is_empty() && revert.force == Force::No {
            let words = format!("going back would lose what was written since: {}", lost.join(", "));
            self.memory.say(number, format!("not rolled back: {words}"));
            effects.push(Effect::Remember);
            answer(revert.ticket, Err(Refusal::new(RefusalId::Loss, words)), effects);
            // The trial has nothing more to decide: its verdict cannot be carried out.
            self.trial = None;
            self.go_on(effects);
            return;
        }
        if !lost.is_empty() {
            self.memory.say(number, format!("lost by the rollback: {}", lost.join(", ")));
        }
        effects.push(Effect::RestoreState(number));
        self.phase = Phase::Restoring(revert);
    }

    pub(super) fn restored(&mut self, at: At, number: Number, effects: &mut Vec<Effect>) {
        if let Some(revert) = self.restoring(number) {
            self.swap_back(at, revert, effects);
            self.go_on(effects);
        }
    }

    pub(super) fn not_restored(&mut self, number: Number, why: &str, effects: &mut Vec<Effect>) {
        if let Some(revert) = self.restoring(number) {
            self.memory.say(number, format!("not rolled back: {why}"));
            effects.push(Effect::Remember);
            answer(revert.ticket, Err(Refusal::new(RefusalId::Copy, why)), effects);
            self.trial = None;
            self.go_on(effects);
        }
    }

    fn restoring(&mut self, number: Number) -> Option<Revert> {
        match std::mem::take(&mut self.phase) {
            Phase::Restoring(revert) if revert.from == number => Some(revert),
            phase => {
                self.phase = phase;
                None
            }
        }
    }

    /// The swap to the one kept ready. The one that is left is barred and let go.
    fn swap_back(&mut self, at: At, revert: Revert, effects: &mut Vec<Effect>) {
        let Some(back) = self.ready.take() else { return };
        let number = back.number;
        effects.push(Effect::RolledBack(if revert.ticket.is_some() { Cause::Operator } else { Cause::Trial }));
        if let Some(left) = &self.active {
            self.memory.bar(left.recipe.clone());
            self.memory.say(left.number, revert.why);
        }
        self.memory.say(number, format!("generation {} was rolled back", revert.from));
        self.exchange(at, back, effects);
        // What was rolled back is no way back itself; it goes when its calls have ended.
        self.ready = None;
        self.keep_good(effects);
        answer(revert.ticket, Ok(format!("generation {number} serves again")), effects);
    }
}
