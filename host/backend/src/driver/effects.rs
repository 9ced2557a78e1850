//! Carrying out what the lifecycle says, one effect after the other. Long ones become tasks whose end is a
//! message; the swap itself is one store.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::keep::Kept;
use super::{Driver, Message, Status, state};
use crate::environment::NoState;
use crate::gate::{Refusal, RefusalId};
use crate::lifecycle::{Connections, Effect, Input, Intake, Number};
use crate::{Generation, Readiness, environment, life};
use drivebay_observe::metrics::metrics;
use drivebay_state::{Namespace, Quota};

/// A digest as operators know it.
fn named(digest: &str) -> String {
    format!("sha256:{digest}")
}

/// Why no calls are taken while the copy of the state is brought back.
const RESTORING: &str = "a rollback brings the copy of its state back; repeat the call";

impl Driver {
    /// One step: the lifecycle decides, and what it says is done.
    pub(super) async fn step(&mut self, input: Input) {
        let effects = self.machine.step(self.at(), input);
        let mut answers = Vec::new();
        let mut changed = false;
        for effect in effects {
            match effect {
                Effect::Remember => changed = true,
                Effect::Answer(ticket, answer) => answers.push((ticket, answer)),
                effect => self.carry_out(effect).await,
            }
        }
        if changed {
            self.keep.remember(self.machine.memory()).await;
        }
        for (ticket, answer) in &answers {
            self.decided(*ticket, answer.is_ok());
        }
        self.leave_barred().await;
        self.publish();
        self.tell_refusal();
        for (ticket, answer) in answers {
            if let Some(reply) = self.asked.remove(&ticket) {
                // The caller may have gone away.
                let _ = reply.send(answer);
            }
        }
    }

    async fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Stage(number, candidate) => self.stage(number, candidate).await,
            Effect::CopyState(number) => self.copy_state(number),
            Effect::CompareState(number) => self.compare_state(number),
            Effect::RestoreState(number) => self.restore_state(number),
            Effect::Activate(number, connections) => self.activate(number, connections).await,
            Effect::Shadow(number) => self.shadow(number),
            Effect::EndShadow(_) => self.end_shadow(),
            Effect::TellShadow(number) => self.tell_shadow(number),
            Effect::Canary(number, percent) => self.canary(number, percent),
            Effect::EndCanary(_) => self.backend.canary.store(None),
            Effect::RolledBack(cause) => metrics().rolled_back(&self.backend.name, cause.word()),
            Effect::Drain(number) => self.wait_for_calls(number),
            Effect::End(number) => self.end_calls(number),
            Effect::Drop(number) => drop(self.held.remove(&number)),
            Effect::KeepGood(number) => self.keep_good(number).await,
            Effect::Intake(intake) => self.take_in(intake),
            // Done when all others are.
            Effect::Remember | Effect::Answer(..) => {}
        }
    }

    /// Lets operators see how it stands. First, wherever something is said: who has read it in the log asks next.
    pub(super) fn publish(&self) {
        self.backend.status.store(Arc::new(Status::of(&self.backend.name, &self.machine, self.source())));
    }

    /// Says a refusal once.
    fn tell_refusal(&mut self) {
        let Some(entry) = self.machine.memory().last_refusal().filter(|entry| Some(entry.number) > self.told) else {
            return;
        };
        self.told = Some(entry.number);
        let word = entry.refusal.as_deref().unwrap_or_default();
        let id = RefusalId::ALL.iter().copied().find(|id| id.word() == word).unwrap_or(RefusalId::Host);
        let refusal = Refusal::new(id, entry.why.last().cloned().unwrap_or_default());
        metrics().refused(&self.backend.name, id.word());
        let (backend, generation) = (&self.backend.name, entry.number.0);
        let digest = named(&entry.recipe.code);
        tracing::warn!(backend, generation, digest, refusal = word, "refused: {refusal}");
        self.refusal = Some(refusal);
    }

    pub(super) fn generation(&self, number: Number) -> Option<Arc<Generation>> {
        let generation = self.held.get(&number).and_then(|held| held.generation.clone());
        if generation.is_none() {
            tracing::error!(backend = self.backend.name, generation = number.0, "this generation is not there");
        }
        generation
    }

    async fn activate(&mut self, number: Number, connections: Connections) {
        let Some(generation) = self.generation(number) else { return };
        let facts = &generation.facts;
        for missing in &facts.missing {
            tracing::warn!(backend = self.backend.name, missing, "a grant that it could use is not given");
        }
        let (version, digest) = (facts.version.clone(), named(&generation.digest));
        self.backend.activate(generation);
        self.publish();
        metrics().swapped(&self.backend.name);
        tracing::info!(backend = self.backend.name, generation = number.0, version, digest, "generation serves");
        if connections == Connections::Close {
            tracing::info!(backend = self.backend.name, "capabilities changed: connections are closed on purpose");
        }
        self.backend.socket_state.send_modify(|socket_state| {
            socket_state.open = self.machine.intake() != Intake::Stopped;
            socket_state.epoch += u64::from(connections == Connections::Close);
        });
        if self.lives {
            self.backend.health.doubt();
            self.backend.changed();
        } else {
            self.lives = true;
            self.backend.health.set(Readiness::Recovering("it has just started".to_owned()));
            self.backend.detach(life::live(Arc::clone(&self.backend)));
        }
        self.take_calls();
        self.keep.forget_copies(Some(number)).await;
    }

    pub(super) fn wait_for_calls(&mut self, number: Number) {
        let Some(generation) = self.generation(number) else { return };
        generation.retire();
        let drained = generation.drained();
        self.ends_in(async move {
            drained.await;
            Input::Drained(number)
        });
    }

    fn end_calls(&self, number: Number) {
        let Some(generation) = self.generation(number) else { return };
        let (backend, calls) = (&self.backend.name, generation.instances());
        tracing::warn!(backend, generation = number.0, calls, "the drain time is over: its calls are ended");
        generation.around.ending.notify_waiters();
    }

    async fn keep_good(&mut self, number: Number) {
        let Some(generation) = self.generation(number) else { return };
        let Some(held) = self.held.get(&number) else { return };
        let kept = Kept { recipe: held.recipe.clone(), given: generation.config.given() };
        self.keep.keep_good(&kept).await;
        let codes: BTreeSet<_> =
            self.held.values().map(|held| held.recipe.code.clone()).chain([kept.recipe.code]).collect();
        let keep = self.keep.clone();
        // A file that stays takes room and nothing else.
        drop(tokio::task::spawn_blocking(move || keep.prune(&codes)).await);
    }

    fn take_in(&mut self, intake: Intake) {
        self.take_calls();
        let open = intake != Intake::Stopped && self.machine.active().is_some();
        self.backend.socket_state.send_modify(|socket_state| socket_state.open = open);
        tracing::info!(backend = self.backend.name, ?intake, "the operator's word on calls");
    }

    fn take_calls(&self) {
        self.backend.close(match self.machine.intake() {
            Intake::Open => None,
            Intake::Drained => Some("the operator has drained it".to_owned()),
            Intake::Stopped => Some("the operator has stopped it".to_owned()),
        });
    }

    fn state(&self) -> Result<(Namespace, Quota), Refusal> {
        let quota = environment::quota(&self.config.limits);
        let name = &self.backend.name;
        let state = self.environment.namespace(name, name, quota);
        state.map(|state| (state, quota)).map_err(|error| Refusal::new(RefusalId::Copy, error.to_string()))
    }

    fn copy_state(&self, number: Number) {
        let (keep, spaces) = (self.keep.clone(), self.state());
        self.ends_in(async move {
            let copied = async {
                let (state, quota) = spaces?;
                let copy = keep.copy_for(number, quota).await;
                let copied = match copy {
                    Ok(copy) => state.copy_to(&copy).await.map_err(NoState::from),
                    Err(error) => Err(error),
                };
                copied.map_err(|error| Refusal::new(RefusalId::Copy, format!("the state is not copied: {error}")))
            };
            match copied.await {
                Ok(()) => Input::Copied(number),
                Err(refusal) => Input::Refused(number, refusal),
            }
        });
    }

    fn compare_state(&self, number: Number) {
        let (keep, spaces) = (self.keep.clone(), self.state());
        self.ends_in(async move {
            let compared = async {
                let (state, quota) = spaces.map_err(|refusal| refusal.words)?;
                let copy = keep.copy(number, quota).map_err(|error| error.to_string())?;
                state::differences(&copy, &state).await.map_err(|error| error.to_string())
            };
            // What cannot be compared counts as lost: nobody can say that it is not.
            Input::Compared(number, compared.await.unwrap_or_else(|error| vec![format!("unknown: {error}")]))
        });
    }

    /// Calls are ended first: what they would write after the copy is back would be in the newer format.
    fn restore_state(&self, number: Number) {
        self.backend.close(Some(RESTORING.to_owned()));
        let (keep, spaces, drain) = (self.keep.clone(), self.state(), self.config.drain);
        let generation = self.generation(number);
        self.ends_in(async move {
            let restored = async {
                let generation = generation.ok_or("the generation is not there")?;
                let calls = generation.drained();
                generation.retire();
                if tokio::time::timeout(drain, calls).await.is_err() {
                    generation.around.ending.notify_waiters();
                    generation.drained().await;
                }
                let (state, quota) = spaces.map_err(|refusal| refusal.words)?;
                let copy = keep.copy(number, quota).map_err(|error| error.to_string())?;
                copy.copy_to(&state).await.map_err(|error| error.to_string())
            };
            match restored.await {
                Ok(()) => Input::Restored(number),
                Err(error) => Input::NotRestored(number, error),
            }
        });
    }

    /// Goes on when the generation is to serve after all.
    pub(super) fn serves_on(&self, number: Number) {
        if let Some(generation) = self.generation(number) {
            generation.serve();
        }
        self.take_calls();
    }

    /// Runs work whose end is an input.
    fn ends_in(&self, work: impl Future<Output = Input> + Send + 'static) {
        let (own, backend) = (self.own.clone(), Arc::clone(&self.backend));
        self.backend.detach(async move {
            tokio::select! {
                () = backend.closing() => {}
                // The driver is gone only when the host shuts down.
                input = work => drop(own.send(Message::Ended(input))),
            }
        });
    }
}
