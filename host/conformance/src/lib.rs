//! Tells whether a storage driver keeps the rules of CSI and csi-addons, by talking to its sockets
//! and nothing else, so that it works for any driver in any language. It shares no code with the
//! program that serves backends, because a suite that shares a mistake does not see it.

mod args;
mod catalogue;
mod command;
mod ending;
mod exchange;
mod lock;
mod outcome;
mod pause;
mod report;
mod rules;
mod runner;
mod site;
mod trial;
mod wire;
mod with;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

pub use args::Args;
pub use catalogue::{Choice, Class, Id, Layout, Rule, Sentence, Strength, rules};
pub use command::{Exit, run};
pub use ending::Wish;
pub use exchange::Shown;
pub use report::{Report, Summary};
pub use runner::{Kind, Verdict};
pub use site::Addresses;
use tokio::sync::watch;
pub use with::{WithError, WithFile};

use crate::ending::{Ending, Restarter};
use crate::site::Site;
use crate::trial::{Ambient, RunContext};

/// What the driver says of itself comes within so many deadlines, or it hangs.
const OPENING: u32 = 3;

/// Judges a driver: one site, or two that replicate to each other. `progress` hears of every rule
/// that ended; `wished` says when the caller wants an end.
///
/// # Errors
/// Which socket does not answer, or why the working directory cannot be made; that the caller wanted
/// an end before the first rule.
pub async fn judge(
    addresses: &[Addresses],
    with: WithFile,
    choice: &Choice,
    wished: watch::Receiver<Wish>,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Report, String> {
    let ending = Ending::new(wished);
    let opening = tokio::time::timeout(with.deadline * OPENING, open(addresses, &with));
    let (sites, driver) = tokio::select! {
        opened = opening => opened.map_err(|_| hangs(addresses, &with))??,
        () = ending.interrupted() => return Err("interrupted before the first rule; nothing was made".to_owned()),
    };
    let mut layouts = sites.first().map(Site::layouts).unwrap_or_default();
    if sites.len() > 1 {
        layouts.push(Layout::TwoSites);
    }
    if !with.secrets.is_empty() {
        layouts.push(Layout::Secrets);
    }
    layouts.sort_unstable();
    let run_context = run_context(sites, with, ending)?;
    let plan = runner::plan(rules(), choice, &layouts, &run_context.with);
    let (mut done, of) = (0, plan.len());
    let mut told = |verdict: &Verdict| {
        done += 1;
        if let Some(line) = report::line(done, of, verdict) {
            progress(&line);
        }
    };
    let verdicts = runner::run(&run_context, plan, &mut told).await;
    clear(&run_context.work);
    let (ended_early, driver_ended) = (run_context.ending.reason(), run_context.ending.endings());
    Ok(Report { driver_ended, ended_early, ..Report::new(driver, layouts, verdicts) })
}

/// The sites, and the driver's name.
async fn open(addresses: &[Addresses], with: &WithFile) -> Result<(Vec<Site>, String), String> {
    let mut sites = Vec::new();
    for (number, address) in addresses.iter().enumerate() {
        let ids: &[String] = if number == 0 { &with.nodes } else { &[] };
        sites.push(Site::open(address, ids, with.deadline).await?);
    }
    let first = sites.first().ok_or("no socket is given (--csi)")?;
    let driver = first.driver(with.deadline).await;
    Ok((sites, driver))
}

fn hangs(addresses: &[Addresses], with: &WithFile) -> String {
    let first = addresses.first().map(|it| it.csi.as_str()).unwrap_or_default();
    let within = with.deadline * OPENING;
    format!(
        "{first}: what the driver can do was not told within {within:?}, by all its sockets together; does it hang?"
    )
}

fn run_context(sites: Vec<Site>, with: WithFile, ending: Ending) -> Result<RunContext, String> {
    let mut random = [0; 4];
    getrandom::fill(&mut random).map_err(|e| format!("the system gives no random numbers: {e}"))?;
    let run = format!("{:08x}", u32::from_ne_bytes(random));
    let base = with.directories.work.clone().unwrap_or_else(std::env::temp_dir);
    let work: PathBuf = base.join(format!("drivebay-conform-{run}"));
    std::fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    let words = exchange::Words::new(wire::DESCRIPTORS, with.secret_values())?;
    let ambient = Mutex::new(Ambient::default());
    let restarter = Restarter::default();
    Ok(RunContext { sites, with, words, run, counter: AtomicU64::new(0), work, ambient, ending, restarter })
}

/// Removes the directories that are empty. One that is not may have a volume mounted in it, and then
/// removing what is in it would be removing somebody's data.
fn clear(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir())) {
        clear(&entry.path());
    }
    let _ = std::fs::remove_dir(directory);
}
