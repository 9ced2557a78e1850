//! What the sandbox costs: the same `CreateVolume`, answered from memory, by a component in a fresh
//! instance, in a reused one, and by a handler written natively in the same kind of server. All run
//! in one process, in turn, with default logging and all checks on, and their clients on one thread beside them. Ratios
//! say what the sandbox costs; times and counts say where, and more about the machine.

#![allow(clippy::print_stdout, clippy::indexing_slicing, reason = "a benchmark's figures go to standard output")]

mod built_in;
mod crowd;
mod load;
mod native;
mod older;
mod single;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use drivebay_app::host::Host;
use drivebay_policy::{BackendConfig, Config, InstancePolicy};
use load::Shape;

use built_in::BUILT_IN;

/// Rounds of every contestant; the median of the rounds' ratios is printed.
const ROUNDS: usize = 7;

fn main() -> Result<ExitCode> {
    if let Some(ended) = drivebay_app::cli::part::run(&BUILT_IN) {
        return Ok(ended);
    }
    // `cargo bench -- older-kernel`: what it costs where the kernel does not tell which pages a guest has written.
    if std::env::args().any(|word| word == "older-kernel") {
        older::kernel()?;
    }
    // Default logging: lines are made and written, as in a host whose log nobody reads.
    tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).with_writer(std::io::sink).init();
    // As `drivebay serve` has one, for all that is not a call.
    let hosts = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let work = tempfile::tempdir()?;
    let reuse = InstancePolicy::Reuse { calls: 1_000_000, idle: Duration::from_mins(1) };
    let (fresh, reuse) = hosts.block_on(async {
        native::serve(&work.path().join("native.sock"))?;
        let fresh = host(work.path(), "fresh", InstancePolicy::Fresh).await?;
        Ok::<_, anyhow::Error>((fresh, host(work.path(), "reuse", reuse).await?))
    })?;
    // The clients have this thread, so that what they use can be told from what the servers use.
    let clients = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    clients.block_on(run(work.path(), &fresh, &reuse))?;
    Ok(ExitCode::SUCCESS)
}

async fn run(work: &Path, fresh: &Host, reuse: &Host) -> Result<()> {
    // `cargo bench -- only fresh`: nothing else runs, for a profiler to look at.
    let words: Vec<String> = std::env::args().collect();
    if words.iter().any(|word| word == "crowd") {
        return crowded(work, fresh).await;
    }
    if let Some(at) = words.iter().position(|word| word == "only") {
        let name = words.get(at + 1).map_or("native", String::as_str);
        let shape = if words.iter().any(|word| word == "shared") { Shape::Shared } else { Shape::Spread };
        return only(work, name, shape).await;
    }
    for (name, host) in [("fresh", fresh), ("reuse", reuse)] {
        println!("one call in process, {name}: {:.1} us at the median", single::median(host).await?);
    }
    println!("one call natively: {:.1} us at the median", single::native_median().await?);
    println!("20 calls at once on one connection, as a sidecar with its workers:");
    compare(work, Shape::Shared).await?;
    println!("20 connections, one call at a time on each:");
    compare(work, Shape::Spread).await?;
    crowded(work, fresh).await
}

async fn crowded(work: &Path, fresh: &Host) -> Result<()> {
    println!("20 calls at once on one connection, each of which computes for a millisecond:");
    let socket = socket(work, "fresh");
    // Before the crowd: the thread with the least to do takes a connection.
    let others = crowd::others(&socket).await?;
    crowd::measure(fresh, &load::Clients::connect(&socket, Shape::Shared).await?, &others).await
}

fn socket(work: &Path, name: &str) -> PathBuf {
    work.join(format!("{name}.sock"))
}

/// Runs one contestant alone.
async fn only(work: &Path, name: &str, shape: Shape) -> Result<()> {
    let server = if name == "capabilities" { "fresh" } else { name };
    let clients = load::Clients::connect(&socket(work, server), shape).await?;
    for _ in 0..ROUNDS {
        let round = if name == "capabilities" { clients.capabilities().await? } else { clients.creates().await? };
        println!("{:.0} calls/s; for a call: {}", round.rate, round.words());
    }
    Ok(())
}

/// Lets all run in turn and prints the medians of the rounds' ratios.
async fn compare(work: &Path, shape: Shape) -> Result<()> {
    let native = load::Clients::connect(&socket(work, "native"), shape).await?;
    let fresh = load::Clients::connect(&socket(work, "fresh"), shape).await?;
    let reuse = load::Clients::connect(&socket(work, "reuse"), shape).await?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let base = native.creates().await?;
        let contestants = [fresh.creates().await?, reuse.creates().await?];
        let idle = native.capabilities().await?;
        rounds.push([(contestants[0], base), (contestants[1], base), (fresh.capabilities().await?, idle)]);
    }
    for (index, name) in ["fresh", "reuse", "capabilities"].into_iter().enumerate() {
        let of = |what: fn(load::Round, load::Round) -> f64| {
            load::median(rounds.iter().map(|round| what(round[index].0, round[index].1)).collect())
        };
        println!(
            "  {name}: {:.2} of the native rate, {:.2} of its processor time; the server alone {:.2}",
            of(|ours, native| ours.rate / native.rate),
            of(|ours, native| ours.cost / native.cost),
            of(|ours, native| ours.server / native.server),
        );
        for (whose, which) in [("ours", 0), ("native", 1)] {
            let all = rounds.iter().map(|round| [round[index].0, round[index].1][which]).collect();
            println!("    {whose}, for a call: {}", load::middle(all).words());
        }
    }
    Ok(())
}

/// A host that serves the echo backend at `DIR/NAME.sock`.
async fn host(work: &Path, name: &str, instances: InstancePolicy) -> Result<Host> {
    let guest = guests().join("echo.wasm");
    let text = format!(
        "[host]\nstate = \"{0}/{name}.state\"\n[[backend]]\nname = \"{name}\"\ncomponent = \"{1}\"\ncsi = \"unix://{0}/{name}.sock\"\n",
        work.display(),
        guest.display()
    );
    let config = Config::parse(name, &text)?;
    let backends = config.backends.into_iter().map(|backend| BackendConfig { instances, ..backend }).collect();
    Host::start_unconfined(Config { backends, ..config }, BUILT_IN.local).await
}

/// Where the build leaves the guests.
fn guests() -> PathBuf {
    PathBuf::from(drivebay_guests::SHELF)
}
