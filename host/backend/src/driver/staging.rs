//! Making a generation beside the one that serves: reading, loading, keeping the component. All of it is a
//! task of its own, whose end is a message.

use std::path::Path;
use std::sync::Arc;

use super::{Driver, Held, Message, keep};
use crate::component::Component;
use crate::gate::{Refusal, RefusalId};
use crate::lifecycle::{Candidate, LoadReason, Number};
use crate::loader::{self, Staging, Trust};
use crate::refused::Refused;
use crate::{Generation, environment};
use drivebay_policy::{BackendConfig, ComponentSource, DirectoryGrant};
use drivebay_sandbox::lane::Movable;
use drivebay_sandbox::loading::Loader;
use drivebay_sandbox::surroundings::View;

impl Driver {
    pub(super) async fn stage(&mut self, number: Number, candidate: Candidate) {
        self.held.insert(number, Held { recipe: candidate.recipe.clone(), generation: None });
        let made = match self.configuration_for(&candidate).await {
            Ok(config) => {
                let is_known = self.machine.memory().good.as_ref().is_some_and(|good| good.recipe == candidate.recipe);
                let serves = self.machine.active().is_some() || self.machine.memory().good.is_some();
                let config = Arc::new(config);
                let staging = self.prepare(&config, number, trust(candidate.why, is_known, serves));
                staging.map(|staging| (config, staging)).map_err(|refused| refused.refusal())
            }
            Err(refusal) => Err(refusal),
        };
        let (own, backend, keep) = (self.own.clone(), Arc::clone(&self.backend), self.keep.clone());
        let (node, local) = (self.environment.node.clone(), self.environment.local);
        self.backend.detach(async move {
            let work = async {
                let (config, staging) = made?;
                let (generation, component) = make(&config, local, staging, &candidate.recipe.code).await?;
                if let (Some(node), true) = (node, config.grants.node.is_granted) {
                    node.permit(&config.name, &environment::permissions(&config)).await.map_err(|error| {
                        Refusal::new(RefusalId::Surroundings, format!("node work cannot be set up: {error}"))
                    })?;
                }
                let kept = tokio::task::spawn_blocking(move || keep.keep_component(&component)).await;
                kept.map_err(|_| Refused::Interrupted.refusal())?;
                Ok::<_, Refusal>(Arc::new(generation))
            };
            tokio::select! {
                () = backend.closing() => {}
                // The driver is gone only when the host shuts down.
                made = work => drop(own.send(Message::Staged(number, made))),
            }
        });
    }

    /// The configuration that the candidate is made with.
    async fn configuration_for(&self, candidate: &Candidate) -> Result<BackendConfig, Refusal> {
        if candidate.why != LoadReason::LastGood {
            if self.recipe(&candidate.recipe.code) != candidate.recipe {
                let words = "the configuration changed before it was looked at";
                return Err(Refusal::new(RefusalId::Superseded, words));
            }
            return Ok((*self.config).clone());
        }
        let kept = self.keep.good().await.filter(|kept| kept.recipe == candidate.recipe);
        let (Some(kept), Some(path)) = (kept, self.keep.component(&candidate.recipe.code)) else {
            return Err(Refusal::new(RefusalId::Unreadable, "the last good component was not kept"));
        };
        let component = ComponentSource::File(path);
        // Its signature was checked when it came; its digest is checked again.
        let config = BackendConfig { component, signers: Vec::new(), ..self.config.giving(kept.given) };
        if keep::fingerprint(&config.given()) != candidate.recipe.given {
            let words = "the last good component had other settings, which are not kept because they may hold \
                         secrets; put them or the component right";
            return Err(Refusal::new(RefusalId::Unreadable, words));
        }
        Ok(config)
    }

    fn prepare(&mut self, config: &BackendConfig, number: Number, trust: Trust) -> Result<Staging, Refused> {
        if config.grants.node.is_granted && self.environment.node.is_none() {
            let words = "node work is granted, and its process is not there: it can only be started before any \
                         component is loaded; restart the host";
            return Err(Refused::Surroundings(words.to_owned()));
        }
        self.open_files.allow(environment::most_open(config));
        let files = environment::files(config, &self.jobs, &self.open_files, &self.reaches)?;
        let in_force = self.environment.in_force.as_ref();
        let given_up = |path: &Path| in_force.is_some_and(|it| !it.allows_writing(path));
        // One that is not there is said to be that, once it is known who needs it.
        let is_closed = |grant: &&DirectoryGrant| grant.write && given_up(&grant.host) && grant.host.exists();
        if let Some(grant) = config.grants.directories.iter().find(is_closed) {
            let words = format!(
                "{} is granted for writing, and the host has given up writing there when it started; restart the host",
                grant.host.display()
            );
            return Err(Refused::Surroundings(words));
        }
        let loader = match &self.engine {
            Some((limits, loader)) if *limits == config.limits => loader.clone(),
            _ => Loader::new(&config.limits)?,
        };
        self.engine = Some((config.limits.clone(), loader.clone()));
        let log = Arc::clone(&self.backend.log);
        log.allow(config.limits.log_rate, config.limits.log_burst);
        let egress = environment::egress(config, number.to_string(), &log)?;
        let shared = environment::Shared {
            lane: Arc::clone(&self.backend.lane),
            memory: self.backend.memory.clone(),
            log,
            files,
            egress,
            recording: Arc::clone(&self.backend.recording),
        };
        let around = |view| environment::surroundings(config, &self.environment, &shared, view).map(Arc::new);
        let (look, around) = (around(View::ReadOnly)?, around(View::Full)?);
        Ok(Staging { loader, cache: self.environment.cache.clone(), look, around, trust })
    }
}

/// Reads the component and makes a generation of it, if it is still the one that was meant.
async fn make(
    config: &Arc<BackendConfig>,
    local: &'static [u8],
    staging: Staging,
    code: &str,
) -> Result<(Generation, Component), Refusal> {
    let component = Component::read(&config.component, local).await.map_err(|refused| refused.refusal())?;
    if component.digest != code {
        return Err(Refusal::new(RefusalId::Superseded, "the file changed before it was looked at"));
    }
    let lane = Arc::clone(&staging.around.lane);
    let generation = Movable::new(&lane, loader::stage(Arc::clone(config), staging, component.clone())).await;
    Ok((generation.map_err(|refused| refused.refusal())?, component))
}

/// What is asked of a candidate before it may serve.
const fn trust(why: LoadReason, is_known: bool, serves: bool) -> Trust {
    match (why, is_known, serves) {
        (LoadReason::LastGood, ..) | (LoadReason::Start, true, _) => Trust::Known,
        (_, _, false) => Trust::First,
        (..) => Trust::Nothing,
    }
}
