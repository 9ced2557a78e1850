//! What comes up for staging: what is found, what waits, what is refused without a look, and what the
//! operator allows. The outcome of a staging is `machine.rs`' part.

use super::machine::{At, Lifecycle, Phase, answer, superseded};
use super::{Candidate, Effect, Force, Intake, LoadReason, Recipe, Rollout, Ticket};
use crate::gate::{Refusal, RefusalId};

impl Lifecycle {
    pub(super) fn found(&mut self, at: At, candidate: Candidate, effects: &mut Vec<Effect>) {
        let reopens = candidate.why == LoadReason::Reload && self.intake != Intake::Open;
        if reopens {
            self.intake = Intake::Open;
            effects.push(Effect::Intake(Intake::Open));
        }
        if let Some(older) = self.waiting.take() {
            superseded(older.ticket, effects);
        }
        match &mut self.phase {
            Phase::Staging(_, staged) | Phase::Copying(_, staged, _) if staged.recipe == candidate.recipe => {
                // The same again: both the present and the earlier caller are told.
                if candidate.force == staged.force && candidate.ticket.is_none() {
                    return;
                }
                self.waiting = Some(candidate);
            }
            Phase::Shadowing(passed, _) | Phase::Canary(passed, _) if passed.candidate.recipe == candidate.recipe => {
                self.found_aside(at, candidate, effects);
            }
            Phase::Shadowing(..) | Phase::Canary(..) => {
                self.waiting = Some(candidate);
                self.leave_aside(at, &Refusal::new(RefusalId::Superseded, "something newer came"), effects);
            }
            Phase::Idle if reopens => self.reopen(candidate, effects),
            Phase::Idle => self.consider(candidate, effects),
            _ => self.waiting = Some(candidate),
        }
    }

    /// A reload that has ended a drain has done that, even where what is there is not allowed to serve.
    fn reopen(&mut self, candidate: Candidate, effects: &mut Vec<Effect>) {
        let serves_another = self.active.as_ref().is_some_and(|active| active.recipe != candidate.recipe);
        match self.forbids(&candidate) {
            Some(refusal) if serves_another => {
                let words =
                    format!("calls are taken again by what serves; what is there was not loaded: {}", refusal.words);
                answer(candidate.ticket, Ok(words), effects);
                self.turn_away(&Candidate { ticket: None, ..candidate }, refusal, effects);
            }
            _ => self.consider(candidate, effects),
        }
    }

    /// What is tried already is found again. By the operator's word a canary serves all objects at once.
    fn found_aside(&mut self, at: At, candidate: Candidate, effects: &mut Vec<Effect>) {
        let is_word = candidate.why == LoadReason::Reload && candidate.manner == Rollout::default();
        if candidate.ticket.is_some() {
            self.waiting = Some(candidate);
        }
        match std::mem::take(&mut self.phase) {
            Phase::Canary(passed, _) if is_word => self.canary_for_all(at, passed, effects),
            phase => self.phase = phase,
        }
    }

    /// A host that starts beside a component that is refused serves the last good one.
    pub(super) fn fall_back(&mut self, effects: &mut Vec<Effect>) {
        let serves_nothing = self.active.is_none() && self.phase == Phase::Idle && self.waiting.is_none();
        let was_refused = self.memory.history.last().is_some_and(|last| last.refusal.is_some());
        if !serves_nothing || !was_refused || self.fell_back {
            return;
        }
        self.fell_back = true;
        if let Some(good) = &self.memory.good {
            let recipe = good.recipe.clone();
            self.consider(
                Candidate {
                    recipe,
                    why: LoadReason::LastGood,
                    force: Force::No,
                    manner: Rollout::default(),
                    ticket: None,
                },
                effects,
            );
        }
    }

    /// Looks at a candidate while nothing else is under way.
    pub(super) fn consider(&mut self, candidate: Candidate, effects: &mut Vec<Effect>) {
        if self.active.as_ref().is_some_and(|active| active.recipe == candidate.recipe) {
            answer(candidate.ticket, Ok("this very generation serves already".to_owned()), effects);
            return;
        }
        if let Some(refusal) = self.forbids(&candidate) {
            self.turn_away(&candidate, refusal, effects);
            return;
        }
        let number = self.memory.begin(candidate.recipe.clone(), candidate.why.words());
        effects.push(Effect::Remember);
        effects.push(Effect::Stage(number, candidate.clone()));
        self.phase = Phase::Staging(number, candidate);
    }

    /// Refuses a candidate without staging it. The same refusal again is no news.
    pub(super) fn turn_away(&mut self, candidate: &Candidate, refusal: Refusal, effects: &mut Vec<Effect>) {
        let is_news =
            self.memory.history.last().is_none_or(|last| {
                last.recipe != candidate.recipe || last.refusal.as_deref() != Some(refusal.id.word())
            });
        if is_news || candidate.why == LoadReason::Start || candidate.ticket.is_some() {
            let number = self.memory.begin(candidate.recipe.clone(), candidate.why.words());
            self.memory.reject(number, &refusal);
            effects.push(Effect::Remember);
        }
        answer(candidate.ticket, Err(refusal), effects);
    }

    /// What is refused without a look at it.
    pub(super) fn forbids(&self, candidate: &Candidate) -> Option<Refusal> {
        let Recipe { code, .. } = &candidate.recipe;
        if let Some(pinned) = self.memory.pinned.as_ref().filter(|pinned| *pinned != code) {
            let words = format!("its digest is sha256:{code}, and the operator allows only sha256:{pinned}");
            return Some(Refusal::new(RefusalId::Pinned, words));
        }
        if candidate.force == Force::No && self.memory.barred.contains(&candidate.recipe) {
            let words = "this very generation (code, settings, grants and limits) was rolled back";
            return Some(Refusal::new(RefusalId::Barred, words));
        }
        None
    }

    /// Takes up what waits, if nothing is under way.
    pub(super) fn go_on(&mut self, effects: &mut Vec<Effect>) {
        if self.phase == Phase::Idle
            && let Some(candidate) = self.waiting.take()
        {
            self.consider(candidate, effects);
        }
    }

    pub(super) fn pin(&mut self, at: At, code: Option<String>, ticket: Ticket, effects: &mut Vec<Effect>) {
        let serves = self.active.as_ref().map(|active| active.recipe.code.as_str());
        let words = match &code {
            None => "any component is allowed again".to_owned(),
            Some(code) if serves == Some(code) => "it serves, and stays".to_owned(),
            Some(code) => format!("sha256:{code} is loaded as soon as the file is there"),
        };
        self.memory.pinned = code;
        effects.push(Effect::Remember);
        effects.push(Effect::Answer(ticket, Ok(words)));
        let tried = match &self.phase {
            Phase::Staging(_, candidate) | Phase::Copying(_, candidate, _) => Some(candidate),
            Phase::Shadowing(passed, _) | Phase::Canary(passed, _) => Some(&passed.candidate),
            Phase::Idle | Phase::Comparing(_) | Phase::Restoring(_) => None,
        };
        if let Some(refusal) = tried.and_then(|candidate| self.forbids(candidate)) {
            self.give_up(at, &refusal, effects);
        }
    }

    /// Gives up what is being staged.
    pub(super) fn give_up(&mut self, at: At, refusal: &Refusal, effects: &mut Vec<Effect>) {
        match std::mem::take(&mut self.phase) {
            Phase::Staging(number, candidate) | Phase::Copying(number, candidate, _) => {
                // Its end is still to come, and is of no interest then.
                self.memory.reject(number, refusal);
                effects.push(Effect::Remember);
                answer(candidate.ticket, Err(refusal.clone()), effects);
                self.go_on(effects);
            }
            phase => {
                self.phase = phase;
                self.leave_aside(at, refusal, effects);
            }
        }
    }

    pub(super) fn close(&mut self, intake: Intake, ticket: Ticket, effects: &mut Vec<Effect>) {
        self.intake = intake;
        effects.push(Effect::Intake(intake));
        let words = match intake {
            Intake::Open => "calls are taken",
            Intake::Drained => "no more calls are taken; `drivebay reload` takes them again",
            Intake::Stopped => "no more calls are taken and the sockets close; `drivebay reload` opens them again",
        };
        effects.push(Effect::Answer(ticket, Ok(words.to_owned())));
    }
}
