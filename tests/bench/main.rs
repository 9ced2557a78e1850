//! What the sandbox costs: the same `CreateVolume`, answered from memory, by a component in a fresh
//! instance, in a reused one, and by a handler written natively in the same kind of server. All run
//! in one process, in turn, with default logging and all checks on; only ratios are printed, because
//! absolute rates say more about the machine.

#![allow(clippy::print_stdout, clippy::indexing_slicing, reason = "a benchmark's figures go to standard output")]

mod load;
mod native;
mod single;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use drivebay::config::{BackendConfig, Config, InstancePolicy};
use drivebay::host::Host;

/// Rounds of every contestant; the median of the rounds' ratios is printed.
const ROUNDS: usize = 7;

fn main() -> Result<()> {
    // Default logging: lines are made and written, as in a host whose log nobody reads.
    tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).with_writer(std::io::sink).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run())
}

async fn run() -> Result<()> {
    let work = tempfile::tempdir()?;
    let fresh = host(work.path(), "fresh", InstancePolicy::Fresh).await?;
    let reuse = InstancePolicy::Reuse { calls: 1_000_000, idle: Duration::from_mins(1) };
    let reuse = host(work.path(), "reuse", reuse).await?;
    native::serve(&work.path().join("native.sock"))?;

    let socket = |name: &str| work.path().join(format!("{name}.sock"));
    let native = load::Clients::connect(&socket("native")).await?;
    let fresh_clients = load::Clients::connect(&socket("fresh")).await?;
    let reuse_clients = load::Clients::connect(&socket("reuse")).await?;

    let mut ratios = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let base = native.creates_per_second().await?;
        ratios[0].push(fresh_clients.creates_per_second().await? / base);
        ratios[1].push(reuse_clients.creates_per_second().await? / base);
        let base = native.capabilities_per_second().await?;
        ratios[2].push(fresh_clients.capabilities_per_second().await? / base);
    }
    for (name, host) in [("fresh", &fresh), ("reuse", &reuse)] {
        println!("one call in process, {name}: {:.1} us at the median", single::median(host).await?);
    }
    println!("one call natively: {:.1} us at the median", single::native_median().await?);
    let [fresh_ratio, reuse_ratio, capabilities] = ratios.map(load::median);
    println!("fresh {fresh_ratio:.2}");
    println!("reuse {reuse_ratio:.2}");
    println!("capabilities {capabilities:.2}");
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
    Host::start(Config { backends, ..config }, None).await
}

/// Where the build leaves the guests.
fn guests() -> PathBuf {
    Path::new(env!("DRIVEBAY_LOCAL_WASM")).with_file_name("")
}
