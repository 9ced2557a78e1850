//! What can be told of a backend: a snapshot that the driver takes after every step. Plain
//! data; no place for decisions.

use super::Readiness;
use super::lifecycle::{Entry, Intake, Lifecycle, Number, Phase, Stage};
use drivebay_policy::ComponentSource;

/// Where new versions come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The component that counts. If it is a file, its changes are followed.
    pub component: ComponentSource,
    /// The configured one, while a command has put another in its place: its changes are not followed.
    pub configured: Option<ComponentSource>,
    /// The digest of what `component` holds, in hexadecimal, if that was rolled back.
    pub rolled_back: Option<String>,
}

impl Source {
    pub(super) const fn configured(component: ComponentSource) -> Self {
        Self { component, configured: None, rolled_back: None }
    }
}

/// A backend as the operator sees it.
#[derive(Debug, Clone)]
pub struct Status {
    /// The operator's name for it.
    pub name: String,
    /// Whether calls are taken.
    pub intake: Intake,
    /// What serves, as the history has it; none: nothing does.
    pub active: Option<Entry>,
    /// The number of the one kept ready for a rollback.
    pub ready: Option<Number>,
    /// The number of the one that is staged now.
    pub staging: Option<Number>,
    /// Whether the active one is on trial.
    pub on_trial: bool,
    /// The only digest that is allowed, in hexadecimal.
    pub pinned: Option<String>,
    /// Where new versions come from.
    pub source: Source,
    /// The attempts, newest last.
    pub history: Vec<Entry>,
}

impl Status {
    pub(super) fn nothing(name: &str, source: Source) -> Self {
        Self {
            name: name.to_owned(),
            intake: Intake::Open,
            active: None,
            ready: None,
            staging: None,
            on_trial: false,
            pinned: None,
            source,
            history: Vec::new(),
        }
    }

    pub(super) fn of(name: &str, machine: &Lifecycle, source: Source) -> Self {
        let memory = machine.memory();
        let entry = |number| memory.history.iter().rev().find(|entry| entry.number == number).cloned();
        Self {
            name: name.to_owned(),
            intake: machine.intake(),
            active: machine.active().and_then(|active| entry(active.number)),
            ready: machine.ready().map(|ready| ready.number),
            staging: match machine.phase() {
                Phase::Staging(number, _) | Phase::Copying(number, ..) => Some(*number),
                Phase::Shadowing(passed, _) | Phase::Canary(passed, _) => Some(passed.number),
                Phase::Idle | Phase::Comparing(_) | Phase::Restoring(_) => None,
            },
            on_trial: machine.is_on_trial(),
            pinned: memory.pinned.clone(),
            source,
            history: memory.history.clone(),
        }
    }

    /// The last attempt that was refused, if no later one was activated.
    pub fn last_refusal(&self) -> Option<&Entry> {
        self.history.iter().rev().find(|entry| entry.refusal.is_some())
    }

    /// One word for all of it.
    pub fn state(&self, readiness: &Readiness) -> &'static str {
        match (self.intake, &self.active, readiness) {
            (Intake::Stopped, _, _) => "stopped",
            (Intake::Drained, _, _) => "drained",
            (Intake::Open, None, _) => match self.history.last().map(|last| last.stage) {
                Some(Stage::Rejected) => "rejected",
                _ => "empty",
            },
            (Intake::Open, Some(_), Readiness::Recovering(_)) => "recovering",
            (Intake::Open, Some(_), Readiness::Unhealthy(_)) => "unhealthy",
            (Intake::Open, Some(_), _) if self.on_trial => "trial",
            (Intake::Open, Some(_), _) => "active",
        }
    }
}
