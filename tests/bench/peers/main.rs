//! What a call on a real backend costs, beside another driver: `local` in a host process of its own, and a driver that
//! keeps directories in Go (csi-driver-host-path), in turn, each asked over one connection and over twenty.
//!
//! Processor time of the driver's processes for each call, and their memory, is what is compared: on a shared machine it says more than a
//! rate. `cargo bench --bench peers -- --peer PATH` names the other program; without it the figures stand alone.

#![allow(clippy::print_stdout, reason = "a benchmark's figures go to standard output")]

mod calls;
mod driver;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use calls::{Calls, Cost};
use driver::{Driver, Memory};

/// Rounds of every kind of call; the median is printed.
const ROUNDS: usize = 5;
/// Calls of a round.
const REPEATS: usize = 1_000;
/// Volumes made for the list, over this many connections.
const VOLUMES: usize = 2_000;
const LANES: usize = 20;
/// How long a driver that has just been started is left alone: the host gives back what the start took after five.
const IDLE: Duration = Duration::from_secs(15);
/// Entries of a page of the list.
const PAGE: i32 = 1_000;
/// Pages of a round.
const PAGES: usize = 50;

fn main() -> Result<ExitCode> {
    let peer = peer(std::env::args().skip(1))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(compare(peer.as_deref()))?;
    Ok(ExitCode::SUCCESS)
}

/// The other program, if one is named.
fn peer(mut words: impl Iterator<Item = String>) -> Result<Option<PathBuf>> {
    let mut peer = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            // Of the test harness.
            "--bench" => {}
            "--peer" => peer = Some(PathBuf::from(words.next().context("--peer takes the path of a program")?)),
            other => bail!("\"{other}\" is not known; cargo bench --bench peers -- [--peer PATH]"),
        }
    }
    Ok(peer)
}

async fn compare(peer: Option<&Path>) -> Result<()> {
    let work = tempfile::tempdir()?;
    let ours = measured(&Driver::local(work.path()).await?).await?;
    let theirs = match peer {
        Some(program) => Some(measured(&Driver::host_path(program, work.path()).await?).await?),
        None => None,
    };
    if theirs.is_none() {
        println!("no other driver: name one with `-- --peer PATH` (csi-driver-host-path)");
    }
    println!(
        "{:<40} {:>12} {:>10} {:>12} {:>10} {:>7}",
        "call", "ours, us", "calls/s", "theirs, us", "calls/s", "ratio"
    );
    for (n, (name, cost)) in ours.costs.iter().enumerate() {
        let Cost { processor, rate } = *cost;
        match theirs.as_ref().and_then(|theirs| theirs.costs.get(n)) {
            Some((_, it)) => println!(
                "{name:<40} {processor:>12.0} {rate:>10.0} {:>12.0} {:>10.0} {:>7.2}",
                it.processor,
                it.rate,
                processor / it.processor
            ),
            None => println!("{name:<40} {processor:>12.0} {rate:>10.0}"),
        }
    }
    println!("{:<40} {:>12} {:>10} {:>12} {:>10}", "memory, MB", "ours", "anonymous", "theirs", "anonymous");
    for (n, (name, held)) in ours.memory.iter().enumerate() {
        let theirs = theirs.as_ref().and_then(|theirs| theirs.memory.get(n));
        println!("{name:<40} {}{}", megabytes(*held), theirs.map_or_else(String::new, |(_, held)| megabytes(*held)));
    }
    Ok(())
}

fn megabytes(held: Memory) -> String {
    let of = |kib: u64| driver::to_f64(kib * 1024) / 1e6;
    format!("{:>12.1} {:>10.1} ", of(held.proportional), of(held.anonymous))
}

/// What a driver showed, in an order that is the same for all.
struct Measured {
    costs: Vec<(&'static str, Cost)>,
    memory: Vec<(&'static str, Memory)>,
}

/// Measures a driver that has just been started.
async fn measured(driver: &Driver) -> Result<Measured> {
    tokio::time::sleep(IDLE).await;
    let mut memory = vec![("idle", driver.memory()?)];
    let calls = Calls::connect(driver).await?;
    let costs = vec![("new volume, 20 connections", calls.fill(VOLUMES, LANES).await?)];
    memory.push(("after 2,000 new volumes", driver.memory()?));
    tokio::time::sleep(Duration::from_mins(1)).await;
    memory.push(("a minute later", driver.memory()?));
    Ok(Measured { costs: costs_of(&calls, costs).await?, memory })
}

/// Every kind of call with what it costs.
async fn costs_of(calls: &Calls<'_>, mut all: Vec<(&'static str, Cost)>) -> Result<Vec<(&'static str, Cost)>> {
    all.push(("capabilities", calls.many(ROUNDS, REPEATS, Calls::capabilities).await?));
    all.push(("repeated CreateVolume", calls.many(ROUNDS, REPEATS, Calls::create_again).await?));
    all.push(("ValidateVolumeCapabilities", calls.many(ROUNDS, REPEATS, Calls::validate).await?));
    all.push(("repeated ControllerPublishVolume", calls.many(ROUNDS, REPEATS, Calls::attach_again).await?));
    all.push(("ListVolumes, a page of 1,000", calls.many(ROUNDS, PAGES, Calls::page).await?));
    if rustix::process::geteuid().is_root() {
        calls.publish().await?;
        all.push(("NodeGetVolumeStats", calls.many(ROUNDS, REPEATS, Calls::stats).await?));
        calls.unpublish().await?;
    } else {
        println!("skipped: NodeGetVolumeStats needs root, for the mount");
    }
    Ok(all)
}
