//! A failing world around a component, and what clients may rely on all the same: `drivebay test --deep`.
//!
//! It owns the faults ([`World`], at the sandbox's boundary), the scenarios and the judges. It sees the component as clients do,
//! through a driver's socket, and what is kept of it through [`Stage`]; how a host is put together is its caller's matter.
//! Scenarios are played one after the other, the shortest first, each on volumes of its own, so that what a finding shows is the
//! shortest sequence that was found to show it.

mod client;
mod play;
mod report;
mod rule;
mod scenario;
mod scenes;
mod seed;
mod world;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, anyhow};
use async_trait::async_trait;
use tonic::transport::Channel;

pub use self::client::Wish;
pub use self::report::{Finding, Report};
pub use self::rule::Rule;
pub use self::world::{Fault, Measure, World};

use self::client::{Ability, Client};
use self::play::Play;
use self::scenario::{Rpc, Scenario};
use self::seed::Seed;

/// The host that serves the component in a [`World`].
#[async_trait]
pub trait Stage: Send + Sync {
    /// Ends it and starts it again with the same state, recovery included.
    async fn restart(&self) -> Result<()>;

    /// How much the backend keeps: keys of its state, and files in its directories.
    async fn kept(&self) -> Result<u64>;

    /// Whether its state holds these bytes.
    async fn holds(&self, bytes: &[u8]) -> Result<bool>;

    /// Begins a recording of what follows.
    fn record(&self);

    /// What was recorded since then, and no more is.
    fn recorded(&self) -> String;
}

/// What is played.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Decides names, and which of many faults are tried.
    pub seed: u64,
    /// Only the scenario of this name.
    pub only: Option<String>,
}

/// So many broken scenarios are enough.
const ENOUGH: usize = 20;
/// Volumes of a measured life: enough that one slow call is not the median.
const VOLUMES: usize = 20;

/// What each RPC uses in a life of some volumes in which nothing fails. None where the component has no controller.
///
/// # Errors
/// When a call of it fails: there is nothing to measure.
pub async fn measure(world: &World, channel: Channel, wish: Wish) -> Result<BTreeMap<String, Measure>> {
    let mut client = Client::new(channel, wish);
    let abilities = abilities(&mut client).await?;
    if !abilities.contains(&Ability::CreateDeleteVolume) {
        return Ok(BTreeMap::new());
    }
    drop(world.measured());
    let lived = async {
        let mut volumes = Vec::new();
        for number in 0..VOLUMES {
            let request = client.request(&format!("budget-{number}"), 1);
            volumes.push(client.create(&request).await?);
            client.create(&request).await?;
        }
        for volume in &volumes {
            client.knows(volume).await?;
            if abilities.contains(&Ability::ListVolumes) {
                client.list().await?;
            }
            if abilities.contains(&Ability::ExpandVolume) {
                client.expand(&volume.volume_id, volume.capacity_bytes.saturating_mul(2)).await?;
            }
        }
        for volume in &volumes {
            client.delete(&volume.volume_id).await?;
        }
        Ok::<(), tonic::Status>(())
    };
    let lived = lived.await;
    let story = client.story.last().cloned().unwrap_or_default();
    lived.map_err(|_| anyhow!("nothing was measured, because a call failed: {story}"))?;
    Ok(world.measured())
}

async fn abilities(client: &mut Client) -> Result<Vec<Ability>> {
    let abilities = client.abilities().await;
    match abilities {
        // A component with a node part alone.
        Err(status) if status.code() == tonic::Code::Unimplemented => Ok(Vec::new()),
        abilities => abilities.map_err(|status| anyhow!("{}", status.message())).context("the driver does not answer"),
    }
}

/// Plays scenarios. `progress` hears of each that ended.
///
/// # Errors
/// When the driver does not say what it can do.
pub async fn run(
    (world, stage): (&World, &dyn Stage),
    (channel, wish): (Channel, Wish),
    plan: &Plan,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Report> {
    let mut client = Client::new(channel, with_secret(wish, plan.seed));
    let abilities = abilities(&mut client).await?;
    let mut report = Report::new(plan.seed);
    if !abilities.contains(&Ability::CreateDeleteVolume) {
        return Ok(report);
    }
    let theatre = Theatre { world, stage, abilities, client, plan };
    // What a component keeps from its first call on is not left over from a later one.
    drop(theatre.rehearse(Rpc::Create).await);
    for scenario in scenario::first(&theatre.abilities) {
        theatre.play(&scenario, &mut report, progress).await;
    }
    let kinds = [
        Some(Rpc::Create),
        Some(Rpc::Delete),
        theatre.abilities.contains(&Ability::ExpandVolume).then_some(Rpc::Expand),
    ];
    for rpc in kinds.into_iter().flatten() {
        let host_calls = theatre.rehearse(rpc).await;
        for scenario in scenario::of(rpc, &host_calls, plan.seed) {
            theatre.play(&scenario, &mut report, progress).await;
        }
    }
    Ok(report)
}

/// A secret in every call, so that what keeps secrets has one to keep.
fn with_secret(mut wish: Wish, seed: u64) -> Wish {
    if wish.secrets.is_empty() {
        let secret = format!("secret-{:016x}", Seed::new(seed, "secret").number());
        wish.secrets.push(("password".to_owned(), secret));
    }
    wish
}

struct Theatre<'a> {
    world: &'a World,
    stage: &'a dyn Stage,
    abilities: Vec<Ability>,
    client: Client,
    plan: &'a Plan,
}

impl Theatre<'_> {
    /// The host calls of a call that nothing strikes; none: it fails.
    async fn rehearse(&self, rpc: Rpc) -> Vec<&'static str> {
        let mut client = self.client.clone();
        let name = format!("rehearsal-{:016x}", Seed::new(self.plan.seed, rpc.operation()).number());
        let Ok(volume) = client.create(&client.request(&name, 1)).await else { return Vec::new() };
        if rpc == Rpc::Expand {
            let _ = client.expand(&volume.volume_id, volume.capacity_bytes.saturating_mul(2)).await;
        }
        let host_calls = (rpc != Rpc::Delete).then(|| self.world.host_calls(rpc.operation()));
        // What goes wrong here, scenarios find.
        let _ = client.delete(&volume.volume_id).await;
        host_calls.unwrap_or_else(|| self.world.host_calls(rpc.operation()))
    }

    async fn play(&self, scenario: &Scenario, report: &mut Report, progress: &(dyn Fn(&str) + Sync)) {
        let name = scenario.to_string();
        if report.broken() >= ENOUGH || self.plan.only.as_ref().is_some_and(|only| *only != name) {
            return;
        }
        let mut client = self.client.clone();
        client.story.clear();
        let names = Seed::new(self.plan.seed, &name);
        let mut play = Play::new(client, self.world, self.stage, &self.abilities, names);
        self.stage.record();
        let played = play.play(scenario).await;
        let recording = self.stage.recorded();
        let story = std::mem::take(&mut play.client.story);
        match &played {
            Ok(()) => progress(&format!("{name}: well")),
            Err(broken) => progress(&format!("{name}: {}", broken.says)),
        }
        if played.is_err() {
            play.clear().await;
        }
        report.took(name, played, (story, recording));
        drop(self.world.measured());
    }
}
