//! `drivebay test`: serves a component in a place of its own and judges it: by the rules of CSI and csi-addons, by what its calls
//! may use, and with `--deep` by what clients rely on when the world around it fails.
//!
//! It owns the order of these and what is printed. Judging is `conformance`'s, the budget `kit`'s, the failing world `chaos`'.

mod place;
mod report;
mod stage;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser;
use tokio::sync::watch;

use super::call::connect;
use super::grant_options::GrantOptions;
use super::{Exit, asked_to_stop, print, say};
use crate::host::{DrainTimeout, Host};
use drivebay_chaos as chaos;
use drivebay_conformance::{self as conformance, Addresses, Choice, Wish, WithFile};
use drivebay_kit::budget::{Budget, FILE};
use place::Place;
use report::{Judged, Report};
use stage::Served;

const EXAMPLES: &str =
    "The component is served with an empty state, which is gone at the end; directories that it is granted keep what \
is in them. dev.toml's [backend] holds, as for `drivebay dev`, and options add to it.

Exit status: 0 nothing is wrong, 1 something is, 2 wrong usage.

Examples:
  drivebay test target/wasm32-wasip2/release/array.wasm
  drivebay test array.wasm --write-budget                          commit drivebay.budget.toml
  drivebay test array.wasm --deep --seed 7
  drivebay test array.wasm --deep --only create/kill-2             what a finding says to play again
  drivebay test array.wasm --deep --record first.jsonl             then: drivebay replay first.jsonl array.wasm
  drivebay test local --directory /tmp/pool:/pool --deep --json";

/// How long threads are waited for that still work when all else has ended.
const AT_THE_END: Duration = Duration::from_secs(1);

/// What `test` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The component, or `local` for the built-in backend; without it, what dev.toml builds.
    #[arg(value_name = "FILE.wasm")]
    component: Option<PathBuf>,
    /// Where [backend] stands.
    #[arg(long, value_name = "FILE.toml", default_value = "dev.toml")]
    file: PathBuf,
    /// A setting of the backend; may be given many times.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    grants: GrantOptions,
    /// Parameters, secrets and sizes of requests, as for `drivebay conform`.
    #[arg(long, value_name = "FILE.toml")]
    with: Option<PathBuf>,
    /// Let its host calls fail, too: killed, refused, answered into the void, held while others run; clocks that stand, restarts.
    #[arg(long)]
    deep: bool,
    /// Decides names, and which of many faults are tried: the same seed tries the same.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One part alone: `conform`, `budget`, or a scenario of --deep by its name.
    #[arg(long, value_name = "PART")]
    only: Option<String>,
    /// What its calls may use.
    #[arg(long, value_name = "FILE.toml", default_value = FILE)]
    budget: PathBuf,
    /// Write what its calls use into that file.
    #[arg(long)]
    write_budget: bool,
    /// Write what passed between the host and the component in the scenario of the first finding of --deep, for
    /// `drivebay replay`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The parts of a test.
#[derive(Debug, Clone, Copy)]
struct Parts {
    conform: bool,
    budget: bool,
    deep: bool,
}

impl Args {
    fn parts(&self) -> Parts {
        match self.only.as_deref() {
            Some("conform") => Parts { conform: true, budget: false, deep: false },
            Some("budget") => Parts { conform: false, budget: true, deep: false },
            Some(_) => Parts { conform: false, budget: false, deep: true },
            None => Parts { conform: true, budget: true, deep: self.deep },
        }
    }

    /// The scenario that is meant by `--only`.
    fn scenario(&self) -> Option<String> {
        self.only.clone().filter(|only| !matches!(only.as_str(), "conform" | "budget" | "deep"))
    }

    /// The words that play its scenarios again.
    fn again(&self) -> String {
        let component = self.component.as_ref().map(|file| format!(" {}", file.display())).unwrap_or_default();
        let set: String = self.set.iter().flat_map(|pair| [" --set ", pair]).collect();
        let with = self.with.as_ref().map(|file| format!(" --with {}", file.display())).unwrap_or_default();
        format!("drivebay test{component}{set}{}{with} --deep --seed {}", self.grants.again(), self.seed)
    }
}

/// Tests a component.
pub(crate) fn run(args: &Args, local: &'static [u8]) -> Exit {
    let place = match Place::new(args) {
        Ok(place) => place,
        Err(error) => {
            say(&format!("{error:#}"));
            return Exit::Usage;
        }
    };
    match test(args, &place, local) {
        Ok(report) => {
            let is_good = report.is_good();
            print(if args.json { report.json() } else { report.text(&args.again()) }.trim_end());
            if is_good { Exit::Done } else { Exit::Failed }
        }
        Err(error) => {
            say(&format!("{error:#}"));
            Exit::Failed
        }
    }
}

fn test(args: &Args, place: &Place, local: &'static [u8]) -> Result<Report> {
    let world = Arc::<chaos::World>::default();
    // Before the runtime: rights are given up while there are no threads.
    let prepared = Host::prepare_among_files(&place.config, local)?.within(world.clone());
    let runtime = super::runtime()?;
    let judged = runtime.block_on(async {
        let mut stop = std::pin::pin!(asked_to_stop());
        let started = Host::start_unless(&mut stop, place.config.clone(), prepared).await?;
        let host = started.context("told to end")?;
        let judged = tokio::select! {
            judged = judge(args, place, &host, &world) => judged,
            () = stop => Err(anyhow::anyhow!("told to end")),
        };
        host.stop().await?;
        judged
    });
    match &judged {
        // They go with the process: the threads that they are on would panic without the runtime.
        Err(error) if error.is::<DrainTimeout>() => std::mem::forget(runtime),
        _ => runtime.shutdown_timeout(AT_THE_END),
    }
    judged
}

async fn judge(args: &Args, place: &Place, host: &Host, world: &chaos::World) -> Result<Report> {
    let parts = args.parts();
    let stage = Served::new(host, &place.config, args.record.is_some());
    stage.ready().await?;
    let mut report = Report::default();
    let channel = async || connect(&place.csi).await.map_err(anyhow::Error::msg);
    if parts.budget {
        let measured = chaos::measure(world, channel().await?, place.wish.clone()).await?;
        report.budget = Some(place.budget.judge(&measured, args.write_budget)?);
    }
    if parts.conform {
        report.conform = Some(conform(place).await?);
    }
    if parts.deep {
        let plan = chaos::Plan { seed: args.seed, only: args.scenario() };
        let told = |line: &str| tracing::info!("{line}");
        let played = chaos::run((world, &stage), (channel().await?, place.wish.clone()), &plan, &told).await?;
        if let (Some(only), 0) = (&plan.only, played.scenarios) {
            anyhow::bail!("there is no scenario {only} for this component with seed {}", args.seed);
        }
        if let Some((file, first)) = place.recording.as_ref().zip(played.findings.first()) {
            file.write(&first.recording)?;
            tracing::info!(scenario = first.scenario, "its recording was written");
        }
        report.deep = Some(played);
    }
    Ok(report)
}

async fn conform(place: &Place) -> Result<conformance::Report> {
    let addresses = Addresses {
        csi: format!("unix://{}", place.csi.display()),
        nodes: Vec::new(),
        addons: Some(format!("unix://{}", place.addons.display())),
    };
    let with: WithFile = place.with.clone();
    let (_kept, wished) = watch::channel(Wish::GoOn);
    let told = |line: &str| tracing::info!("{line}");
    conformance::judge(&[addresses], with, &Choice::default(), wished, &told).await.map_err(anyhow::Error::msg)
}

impl place::Opened {
    /// Compares, or writes.
    fn judge(&self, measured: &std::collections::BTreeMap<String, chaos::Measure>, write: bool) -> Result<Judged> {
        let used = report::used(measured);
        let budget = self.before.as_deref().map(Budget::read).transpose()?;
        let margin = budget.as_ref().map(|budget| budget.margin).unwrap_or_default();
        if write {
            self.write(&Budget::write(margin, &used))?;
            return Ok(Judged { measured: used, excess: Vec::new(), is_held: true });
        }
        let excess = budget.as_ref().map(|budget| budget.compare(&used)).unwrap_or_default();
        Ok(Judged { measured: used, excess, is_held: budget.is_some() })
    }
}
