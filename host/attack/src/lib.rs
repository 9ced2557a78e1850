//! Hostile guests against hosts of this very program. Owns which attacks are tried, what limits and switches they are
//! tried with, and how hosts and neighbours are judged; the command line tells it. A program that is built without this
//! crate has no switch that takes a defence away.

mod catalogue;
mod clients;
mod judge;
mod lasting;
mod limits;
mod meter;
mod model;
mod modules;
mod names;
mod network;
mod place;
mod process;
mod report;
mod rounds;
mod scene;
mod storm;
#[cfg(test)]
mod tests;
mod times;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures_util::{StreamExt as _, stream};
use tokio::time::timeout;

use self::catalogue::ALL;
use self::judge::{Verdict, judge};
use self::limits::Without;
use self::model::Attack;
use self::place::Stage;
pub use self::report::Report;
use self::report::SKIPPED;

/// The word for a host that is attacked with one defence left away.
pub const ATTACKED: &str = "attacked-host";
/// What the directory of a stage is called, in the system's directory for temporary files.
const STAGE: &str = "drivebay-attack-";

/// Hosts that run side by side: most attacks wait for a limit most of the time.
const AT_ONCE: usize = 6;
/// An attack's own deadline, beyond everything that is waited for in it.
const DEADLINE: Duration = Duration::from_mins(5);
/// What is left away beside one limit: each attack's own.
const EVERY: &str = "every";
/// What can be chosen beside the ids of attacks.
const STORM: &str = "storm";

/// Attacks, each with what is left away.
type Chosen = Vec<(&'static Attack, Without)>;

/// What is tried.
#[derive(Debug)]
pub struct Plan {
    chosen: Chosen,
    without: Option<String>,
    /// How often one host meets all that it can outlast; 0: not at all.
    rounds: usize,
    storm: bool,
}

impl Plan {
    /// The attacks that `only` names, all when it names none; `without` one limit, or `every`, each without its own.
    ///
    /// # Errors
    /// A name that there is not, with those that there are; a limit that cannot be left away.
    pub fn new(only: &[String], without: Option<&str>, rounds: usize) -> Result<Self> {
        let storm = without.is_none() && only.iter().any(|id| id == STORM);
        let chosen = chosen(only, without)?;
        if chosen.is_empty() && !storm {
            bail!("none of these attacks is contained by something that can be switched off");
        }
        let is_whole = only.is_empty() && without.is_none() && rounds > 0;
        Ok(Self {
            chosen,
            without: without.map(str::to_owned),
            rounds: if is_whole { rounds } else { 0 },
            storm: is_whole || storm,
        })
    }
}

fn chosen(only: &[String], without: Option<&str>) -> Result<Chosen> {
    for id in only.iter().filter(|id| *id != STORM) {
        if ALL.iter().all(|attack| attack.id != id) {
            let ids: Vec<_> = ALL.iter().map(|attack| attack.id).collect();
            bail!("there is no attack \"{id}\"; there are: {}, {STORM}", ids.join(", "));
        }
    }
    let is_named = |attack: &Attack| only.is_empty() || only.iter().any(|id| id == attack.id);
    let meant = ALL.iter().filter(|attack| is_named(attack));
    Ok(match without {
        None => meant.map(|attack| (attack, Without::Nothing)).collect(),
        Some(EVERY) => meant.filter_map(|attack| Some((attack, Without::named(attack.by).ok()?))).collect(),
        Some(name) => {
            let without = Without::named(name).map_err(anyhow::Error::msg)?;
            // Named attacks may be tried with a limit that does not contain them.
            let is_meant = |attack: &&Attack| !only.is_empty() || without.contains(attack.by);
            meant.filter(is_meant).map(|attack| (attack, without)).collect()
        }
    })
}

/// Plays the attacks with `guest`, the component that does what it is told, until `stop` resolves.
///
/// # Errors
/// When there is no place for it, a host in peace does not serve, or it was stopped.
pub async fn play(plan: &Plan, guest: &[u8], stop: impl Future<Output = ()>) -> Result<Report> {
    let unique = getrandom::u64().context("the system gives no random number")?;
    let root = std::env::temp_dir().join(format!("{STAGE}{unique:016x}"));
    let mut stage =
        Stage { root: root.clone(), guest: guest.to_vec(), without: Without::Nothing, code: None, as_released: false };
    // Hosts are in process groups of their own, and hear of no Ctrl-C; those under way end with what is dropped here.
    let played = tokio::select! {
        played = scenes(plan, &mut stage) => played,
        () = stop => Err(anyhow::anyhow!("interrupted; every host that was attacked is ended")),
    };
    // What is left over is only room on a disk.
    let _ = std::fs::remove_dir_all(&root);
    played
}

async fn scenes(plan: &Plan, stage: &mut Stage) -> Result<Report> {
    scene::warm(stage).await.context("a host in peace does not serve")?;
    let stage = &*stage;
    let one = |&(attack, without): &(&'static Attack, Without)| {
        let stage = Stage { without, ..stage.clone() };
        async move { self::one(&stage, attack).await }
    };
    // Those that mostly wait go on meanwhile.
    let (slow, quick): (Chosen, Chosen) = plan.chosen.iter().copied().partition(|(attack, _)| attack.act.is_slow());
    let (waited, rest) = tokio::join!(futures_util::future::join_all(slow.iter().map(one)), async {
        // While little else is at work here: the neighbour's calls are timed.
        let storm = if plan.storm { Some(storm::play(stage).await?) } else { None };
        let survivor = if plan.rounds > 0 { Some(rounds::play(stage, plan.rounds).await?) } else { None };
        let rest = async {
            match survivor {
                Some(survivor) => survivor.rest().await.map(Some),
                None => Ok(None),
            }
        };
        let tried = stream::iter(quick.iter().map(one)).buffered(AT_ONCE).collect::<Vec<Verdict>>();
        let (tried, lasting) = tokio::join!(tried, rest);
        anyhow::Ok((tried, lasting?, storm))
    });
    let (mut attacks, lasting, storm) = rest?;
    attacks.extend(waited);
    attacks.sort_by_key(|verdict| ALL.iter().position(|attack| attack.id == verdict.id));
    let contained = attacks.iter().filter(|verdict| verdict.contained == Some(true)).count();
    Ok(Report { without: plan.without.clone(), attacks, contained, lasting, storm })
}

async fn one(stage: &Stage, attack: &'static Attack) -> Verdict {
    if attack.act.needs_root() && !rustix::process::geteuid().is_root() {
        return Verdict::new(attack, None, SKIPPED.to_owned());
    }
    let begin = Instant::now();
    let mut verdict = match timeout(DEADLINE, scene::play(stage, attack)).await {
        Ok(Ok(seen)) => judge(attack, &seen),
        // Nothing is known, which is no containment and no escape.
        Ok(Err(error)) => Verdict::new(attack, None, format!("the host: {error:#}")),
        Err(_) => Verdict::new(attack, None, format!("it went on for {} s", DEADLINE.as_secs())),
    };
    verdict.milliseconds = begin.elapsed().as_millis();
    verdict
}

/// Whether a configuration lies in a stage, which holds nobody's volumes: [`play`] makes and removes it.
pub fn is_stage(config: &Path) -> bool {
    let stage = std::fs::canonicalize(config).ok().and_then(|path| Some(path.parent()?.parent()?.to_owned()));
    let temporary = std::fs::canonicalize(std::env::temp_dir()).ok();
    stage.is_some_and(|stage| {
        let name = stage.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(STAGE) && stage.parent() == temporary.as_deref()
    })
}
