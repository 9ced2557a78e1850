//! From pictures of backends to messages. Plain translation.

use crate::mounts::Mounts;
use drivebay_backend::Backend;
use drivebay_backend::breaker::View;
use drivebay_backend::gate;
use drivebay_backend::lifecycle::{Entry, Number, Stage};
use drivebay_confine::{Attempt, InForce};
use drivebay_proto::admin::{self, CommandResponse, Refusal};

/// `absent`: granted directories that cannot be used now, by their guest paths, each with the reason.
pub(super) fn backend(backend: &Backend, absent: &[(String, String)]) -> admin::Backend {
    let (status, generation) = (backend.status(), backend.generation());
    let tally = generation.as_ref().map(|generation| generation.tally()).unwrap_or_default();
    let active = status.active.as_ref();
    let number = |number: Option<Number>| number.map_or(0, |number| number.0);
    admin::Backend {
        name: status.name.clone(),
        state: status.state(&backend.health.readiness()).to_owned(),
        digest: active.map(|entry| digest(&entry.recipe.code)).unwrap_or_default(),
        version: active.and_then(|entry| entry.version.clone()).unwrap_or_default(),
        generation: number(active.map(|entry| entry.number)),
        since: active.and_then(|entry| entry.activated).unwrap_or(0),
        calls: tally.calls,
        errors: tally.bad,
        instances: generation
            .as_ref()
            .map_or(0, |generation| u64::try_from(generation.instances()).unwrap_or(u64::MAX)),
        flaw: generation.as_ref().and_then(|generation| generation.flaw()).map(|it| it.to_string()).unwrap_or_default(),
        grants: generation.map(|generation| generation.config.grants.words(absent)).unwrap_or_default(),
        last_refusal: status.last_refusal().map(|entry| Refusal {
            id: entry.refusal.clone().unwrap_or_default(),
            words: entry.why.last().cloned().unwrap_or_default(),
        }),
        staging: number(status.staging),
        ready: number(status.ready),
        pinned: status.pinned.as_deref().map(digest).unwrap_or_default(),
        breaker: backend.breaker().map(breaker),
        component: status.source.component.to_string(),
        configured: status.source.configured.as_ref().map(ToString::to_string).unwrap_or_default(),
        rolled_back: status.source.rolled_back.as_deref().map(digest).unwrap_or_default(),
    }
}

fn breaker(view: View) -> admin::Breaker {
    let (state, series, again_in) = match view {
        View::Closed { series } => ("closed", series, 0),
        View::Open { again_in } => ("open", 0, again_in),
        View::Trying => ("trying", 0, 0),
    };
    admin::Breaker { state: state.to_owned(), series, again_in }
}

pub(super) fn confinement(in_force: &InForce, mounts: &Mounts) -> admin::Confinement {
    let mount = match &in_force.mount {
        Attempt::Refused(error) => format!("refused: {error}"),
        Attempt::Possible => "possible".to_owned(),
    };
    admin::Confinement {
        capabilities: in_force.capabilities.clone(),
        no_new_privileges: in_force.no_new_privileges,
        landlock: in_force.landlock.words(),
        seccomp: in_force.seccomp.words(),
        mount,
        mounts: mounts.words(),
    }
}

pub(super) fn attempt(entry: &Entry) -> admin::Attempt {
    let state = match entry.stage {
        Stage::Staged => "staged",
        Stage::Active => "active",
        Stage::Draining => "draining",
        Stage::Retired => "retired",
        Stage::Rejected => "rejected",
    };
    admin::Attempt {
        generation: entry.number.0,
        digest: digest(&entry.recipe.code),
        state: state.to_owned(),
        activated: entry.activated.unwrap_or(0),
        why: entry.why.clone(),
        version: entry.version.clone().unwrap_or_default(),
        refusal: entry.refusal.clone().unwrap_or_default(),
    }
}

pub(super) fn command(answer: Result<String, gate::Refusal>) -> CommandResponse {
    match answer {
        Ok(words) => CommandResponse { words, refusal: None },
        Err(refusal) => {
            let words = format!("{}; {}", refusal.words, refusal.id.next());
            let refusal = Refusal { id: refusal.id.word().to_owned(), words };
            CommandResponse { words: String::new(), refusal: Some(refusal) }
        }
    }
}

fn digest(code: &str) -> String {
    format!("sha256:{code}")
}
