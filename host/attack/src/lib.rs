//! `drivebay attack`: hostile guests against hosts of this very program. Owns which attacks are tried and how it is
//! told; for operators and reviewers, who can switch a limit off and see that it was the one.

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
mod rounds;
mod scene;
mod storm;
#[cfg(test)]
mod tests;
mod times;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use tokio::time::timeout;

use self::catalogue::ALL;
use self::judge::{Verdict, judge};
use self::lasting::Lasting;
use self::limits::Without;
use self::model::Attack;
use self::place::Stage;
use self::storm::Storm;
use super::admin::table;
use super::part::STAGE;
use super::{Exit, asked_to_stop, print, say};

/// Hosts that run side by side: most attacks wait for a limit most of the time.
const AT_ONCE: usize = 6;
/// An attack's own deadline, beyond everything that is waited for in it.
const DEADLINE: Duration = Duration::from_mins(5);
/// Why an attack was not tried.
const SKIPPED: &str = "it needs root";
/// What `--without` takes beside the names of limits.
const EVERY: &str = "every";
/// What `--only` takes beside the ids of attacks.
const STORM: &str = "storm";

const EXAMPLES: &str =
    "Each attack has a host process of its own. It is contained when its client and the log saw what must be seen, \
nothing outside of its grants was reached, the neighbour's client saw nothing, and the host ended well when told to. \
Then one more host meets all that can be told to a host that goes on, as often as --rounds says; what that cost its \
neighbour, and what it held afterwards, is told as figures. Before, backends of a host with the limits that hosts are
released with take all they can, one kind of work after the other, while the neighbour commits, reads files and publishes:
the p99 of its calls must stay within three times that in peace, which is judged (the best of three measurements).

Exit status: 0 all contained (with `--without every`: none), 1 one is not, 2 wrong usage.

Examples:
  drivebay attack
  drivebay attack --only memory,loop-start
  drivebay attack --only storm         how a neighbour is served at the released limits
  drivebay attack --json               one object: every verdict, and the figures
  drivebay attack --without cpu        the attacks on it are then not contained
  drivebay attack --without every      each attack without what contains it: none is then contained";

/// What `attack` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only these attacks.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    only: Vec<String>,
    /// Switch one limit off, and try the attacks on it; `every`: each attack without the one that contains it.
    #[arg(long, value_name = "LIMIT")]
    without: Option<String>,
    /// How often one host meets all attacks that it can outlast; 0: not at all.
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Others use this machine: tell how long the neighbour's calls took at the released limits, and do not judge it.
    #[arg(long)]
    shared_machine: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    without: Option<String>,
    attacks: Vec<Verdict>,
    contained: usize,
    /// What the host that went on showed.
    lasting: Option<Lasting>,
    /// What the neighbour noticed at the released limits.
    storm: Option<Storm>,
}

/// Runs the attacks and tells what became of them.
pub(crate) fn run(args: &Args, guest: &'static [u8]) -> Exit {
    let chosen = match chosen(args) {
        Ok(chosen) => chosen,
        Err(error) => {
            say(&format!("{error:#}"));
            return Exit::Usage;
        }
    };
    let played = super::runtime().map_err(anyhow::Error::from).and_then(|runtime| {
        let played = runtime.block_on(play(args, guest, &chosen));
        // Who writes to what is frozen for good is not waited for.
        runtime.shutdown_background();
        played
    });
    match played {
        Ok(report) => tell(args, &report),
        Err(error) => {
            say(&format!("{error:#}"));
            Exit::Failed
        }
    }
}

/// Attacks, each with what is left away.
type Chosen = Vec<(&'static Attack, Without)>;

fn chosen(args: &Args) -> Result<Chosen> {
    for id in args.only.iter().filter(|id| *id != STORM) {
        if ALL.iter().all(|attack| attack.id != id) {
            let ids: Vec<_> = ALL.iter().map(|attack| attack.id).collect();
            bail!("there is no attack \"{id}\"; there are: {}, {STORM}", ids.join(", "));
        }
    }
    let is_named = |attack: &Attack| args.only.is_empty() || args.only.iter().any(|id| id == attack.id);
    let meant = ALL.iter().filter(|attack| is_named(attack));
    let chosen: Chosen = match args.without.as_deref() {
        None => meant.map(|attack| (attack, Without::Nothing)).collect(),
        Some(EVERY) => meant.filter_map(|attack| Some((attack, Without::named(attack.by).ok()?))).collect(),
        Some(name) => {
            let without = Without::named(name).map_err(anyhow::Error::msg)?;
            // Whoever names attacks may see that another limit does not contain them.
            let is_meant = |attack: &&Attack| !args.only.is_empty() || without.contains(attack.by);
            meant.filter(is_meant).map(|attack| (attack, without)).collect()
        }
    };
    if chosen.is_empty() && !is_named_storm(args) {
        bail!("none of these attacks is contained by something that can be switched off");
    }
    Ok(chosen)
}

fn is_named_storm(args: &Args) -> bool {
    args.without.is_none() && args.only.iter().any(|id| id == STORM)
}

async fn play(args: &Args, guest: &'static [u8], chosen: &Chosen) -> Result<Report> {
    let unique = getrandom::u64().context("the system gives no random number")?;
    let root = std::env::temp_dir().join(format!("{STAGE}{unique:016x}"));
    let mut stage =
        Stage { root: root.clone(), guest: guest.to_vec(), without: Without::Nothing, code: None, as_released: false };
    // Hosts are in process groups of their own, and hear of no Ctrl-C; those under way end with what is dropped here.
    let played = tokio::select! {
        played = scenes(args, chosen, &mut stage) => played,
        () = asked_to_stop() => Err(anyhow::anyhow!("interrupted; every host that was attacked is ended")),
    };
    // What is left over is only room on a disk.
    let _ = std::fs::remove_dir_all(&root);
    played
}

async fn scenes(args: &Args, chosen: &Chosen, stage: &mut Stage) -> Result<Report> {
    scene::warm(stage).await.context("a host in peace does not serve")?;
    let stage = &*stage;
    let one = |&(attack, without): &(&'static Attack, Without)| {
        let stage = Stage { without, ..stage.clone() };
        async move { self::one(&stage, attack).await }
    };
    // Those that mostly wait go on meanwhile.
    let (slow, quick): (Chosen, Chosen) = chosen.iter().copied().partition(|(attack, _)| attack.act.is_slow());
    let (waited, rest) = tokio::join!(futures_util::future::join_all(slow.iter().map(one)), async {
        let is_whole = args.only.is_empty() && args.without.is_none() && args.rounds > 0;
        // While little else is at work here: the neighbour's calls are timed.
        let storm = if is_whole || is_named_storm(args) { Some(storm::play(stage).await?) } else { None };
        let survivor = if is_whole { Some(rounds::play(stage, args.rounds).await?) } else { None };
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
    Ok(Report { without: args.without.clone(), attacks, contained, lasting, storm })
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

fn tell(args: &Args, report: &Report) -> Exit {
    let tried = report.attacks.iter().filter(|verdict| verdict.contained.is_some()).count();
    let wanted = if report.without.as_deref() == Some(EVERY) { 0 } else { tried };
    let skipped = report.attacks.iter().filter(|verdict| verdict.lost == SKIPPED).count();
    let is_known = tried + skipped == report.attacks.len();
    let is_well = is_known
        && report.contained == wanted
        && report.lasting.as_ref().is_none_or(Lasting::is_well)
        && report.storm.as_ref().is_none_or(|storm| storm.is_well(!args.shared_machine));
    let exit = if is_well { Exit::Done } else { Exit::Failed };
    if args.json {
        match serde_json::to_string_pretty(report) {
            Ok(text) => print(&text),
            Err(error) => say(&error.to_string()),
        }
        return exit;
    }
    let short = |text: &str| text.chars().take(80).collect::<String>();
    let rows = report.attacks.iter().map(|it| {
        let word = match it.contained {
            None if it.lost == SKIPPED => "skipped",
            None => "NOT KNOWN",
            Some(true) => "contained",
            Some(false) => "NOT CONTAINED",
        };
        let lost = if it.lost.is_empty() { "nothing" } else { &it.lost };
        [it.id.to_owned(), it.tried.to_owned(), it.by.to_owned(), word.to_owned(), short(&it.client), short(lost)]
    });
    let heading = ["ATTACK", "TRIED", "CONTAINED BY", "VERDICT", "THE CLIENT SAW", "THE HOST LOST"];
    for line in table::lay_out(heading, &rows.collect::<Vec<_>>()) {
        print(&line);
    }
    for line in report.lasting.iter().flat_map(Lasting::lines) {
        print(&line);
    }
    if let Some(storm) = &report.storm {
        print(&storm.line());
    }
    if skipped > 0 {
        print(&format!("{skipped} skipped: they need root"));
    }
    print(&format!("{} of {tried} contained", report.contained));
    exit
}
