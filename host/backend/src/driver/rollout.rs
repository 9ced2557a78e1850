//! Trying a generation beside the one that serves: what of it is the driver's. The machine says when.

use std::sync::Arc;

use super::{Driver, Held, Message};
use crate::lifecycle::{Input, Number, Tally};
use crate::rollout::{Canary, Shadow};

impl Driver {
    pub(super) fn shadow(&mut self, number: Number) {
        let Some(generation) = self.generation(number) else { return };
        self.backend.shadow.store(Some(Arc::new(Shadow::new(generation))));
        self.publish();
        tracing::info!(backend = self.backend.name, generation = number.0, "shadow: it hears what is asked");
    }

    /// Calls that are still being compared are not waited for.
    pub(super) fn end_shadow(&mut self) {
        self.shadowed = self.backend.shadow.swap(None);
    }

    pub(super) fn tell_shadow(&mut self, number: Number) {
        let Some(shadow) = self.shadowed.take() else { return };
        let (tally, mut words) = {
            let report = shadow.report();
            (report.tally(), report.to_string())
        };
        let writes = shadow.generation.look.state.refused_changes();
        if writes > 0 {
            words = format!("{words}; {writes} changes of the state were refused");
        }
        let (backend, generation) = (&self.backend.name, number.0);
        tracing::info!(backend, generation, calls = tally.calls, bad = tally.bad, "shadow: {words}");
        // The driver is gone only when the host shuts down.
        let _ = self.own.send(Message::Ended(Input::Shadowed(number, tally, words)));
    }

    pub(super) fn canary(&self, number: Number, percent: u8) {
        let Some(generation) = self.generation(number) else { return };
        generation.serve();
        self.backend.canary.store(Some(Arc::new(Canary::new(generation, percent))));
        self.publish();
        tracing::info!(backend = self.backend.name, generation = number.0, percent, "canary: it serves a share");
    }

    pub(super) fn tally(&self, number: Number) -> Tally {
        let held: Option<&Held> = self.held.get(&number);
        held.and_then(|held| held.generation.as_ref()).map(|generation| generation.tally()).unwrap_or_default()
    }

    /// Tells how calls have ended: those of the canary beside those of the one that serves, and those of the one
    /// that serves beside those of its predecessor.
    pub(super) async fn observe(&mut self) {
        let Some(active) = self.machine.active().map(|active| active.number) else { return };
        let ready = self.machine.ready().map(|ready| ready.number);
        let pairs = [self.machine.canary().map(|canary| (canary, active)), ready.map(|ready| (active, ready))];
        for (number, old) in pairs.into_iter().flatten() {
            let (new, old) = (self.tally(number), self.tally(old));
            self.step(Input::Observed { number, new, old }).await;
        }
    }
}
