//! Tells whether a storage driver keeps the rules of CSI and csi-addons, by talking to its sockets
//! and nothing else, so that it works for any driver in any language. It shares no code with the
//! program that serves backends, because a suite that shares a mistake does not see it.

mod args;
mod catalogue;
mod exchange;
mod report;
mod rules;
mod runner;
mod site;
mod trial;
mod wire;
mod with;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

pub use args::Args;
pub use catalogue::{Choice, Class, Id, Layout, Rule, rules};
pub use exchange::Shown;
pub use report::{Report, Summary};
pub use runner::{Kind, Verdict};
pub use site::Addresses;
use tokio::sync::watch;
pub use with::{With, WithError};

use crate::site::Site;
use crate::trial::{Ambient, Desk};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Every rule that was judged is kept.
    Good,
    /// A rule is broken, could not be judged, or something was left behind.
    Broken,
    /// The command line or the file of `--with` is wrong, or nobody answers at a socket.
    Usage,
}

impl Exit {
    /// What the shell learns.
    pub const fn status(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Broken => 1,
            Self::Usage => 2,
        }
    }
}

/// Runs the command: reads the files, judges the driver, writes the reports.
pub async fn run(args: &Args) -> Exit {
    let ended = if args.list { listed(args) } else { judged(args).await };
    ended.unwrap_or_else(|why| {
        let _ = writeln!(io::stderr().lock(), "error: {why}");
        Exit::Usage
    })
}

fn listed(args: &Args) -> Result<Exit, String> {
    let chosen: Vec<Rule> = rules().into_iter().filter(|rule| args.choice().has(rule.id)).collect();
    let text = if args.json { json(&chosen)? } else { report::list(&chosen) };
    print(&text)?;
    Ok(Exit::Good)
}

async fn judged(args: &Args) -> Result<Exit, String> {
    let with = read(args.with.as_deref())?;
    let (stop, stopped) = watch::channel(false);
    let (sites, choice) = (args.sites()?, args.choice());
    let told = |line: &str| drop(writeln!(io::stderr().lock(), "{line}"));
    let judging = judge(&sites, with, &choice, stopped, &told);
    let mut judging = std::pin::pin!(judging);
    let report = loop {
        tokio::select! {
            report = &mut judging => break report?,
            () = interrupted() => drop(stop.send(true)),
        }
    };
    if let Some(file) = &args.junit {
        std::fs::write(file, report::junit(&report)).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    print(&if args.json { json(&report)? } else { report::text(&report) })?;
    Ok(if report.is_good() { Exit::Good } else { Exit::Broken })
}

async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        },
        Err(_) => drop(tokio::signal::ctrl_c().await),
    }
}

fn read(file: Option<&Path>) -> Result<With, String> {
    let Some(file) = file else { return Ok(With::default()) };
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    With::parse(&text).map_err(|e| format!("{}: {e}", file.display()))
}

fn json<T: serde::Serialize>(of: &T) -> Result<String, String> {
    serde_json::to_string_pretty(of).map(|text| text + "\n").map_err(|e| e.to_string())
}

fn print(text: &str) -> Result<(), String> {
    let written = io::stdout().lock().write_all(text.as_bytes());
    written.map_err(|e| format!("the report cannot be written: {e}"))
}

/// Judges a driver: one site, or two that replicate to each other. `progress` hears of every rule
/// that ended; when `stop` turns true the run ends early and still removes what it made.
///
/// # Errors
/// Which socket does not answer, or why the working directory cannot be made.
pub async fn judge(
    addresses: &[Addresses],
    with: With,
    choice: &Choice,
    stop: watch::Receiver<bool>,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Report, String> {
    let mut sites = Vec::new();
    for (number, address) in addresses.iter().enumerate() {
        let ids: &[String] = if number == 0 { &with.nodes } else { &[] };
        sites.push(Site::open(address, ids, with.deadline).await?);
    }
    let first = sites.first().ok_or("no socket is given (--csi)")?;
    let mut layouts = first.layouts();
    if sites.len() > 1 {
        layouts.push(Layout::TwoSites);
    }
    if !with.secrets.is_empty() {
        layouts.push(Layout::Secrets);
    }
    layouts.sort_unstable();
    let driver = first.driver(with.deadline).await;
    let desk = desk(sites, with)?;
    let plan = runner::plan(rules(), choice, &layouts, &desk.with);
    let (mut done, of) = (0, plan.len());
    let mut told = |verdict: &Verdict| {
        done += 1;
        progress(&report::line(done, of, verdict));
    };
    let verdicts = runner::run(&desk, plan, stop, &mut told).await;
    clear(&desk.work);
    Ok(Report::new(driver, layouts, verdicts))
}

fn desk(sites: Vec<Site>, with: With) -> Result<Desk, String> {
    let mut random = [0; 4];
    getrandom::fill(&mut random).map_err(|e| format!("the system gives no random numbers: {e}"))?;
    let run = format!("{:08x}", u32::from_ne_bytes(random));
    let base = with.directories.work.clone().unwrap_or_else(std::env::temp_dir);
    let work: PathBuf = base.join(format!("drivebay-conform-{run}"));
    std::fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    let words = exchange::Words::new(wire::DESCRIPTORS, with.secret_values())?;
    let ambient = Mutex::new(Ambient::default());
    Ok(Desk { sites, with, words, run, counter: AtomicU64::new(0), work, ambient })
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
