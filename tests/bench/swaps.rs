//! What swaps cost clients: a host as a process, 20 connections with one call at a time on each, first undisturbed
//! and then through 200 swaps between two versions of a backend; then how long a swap takes from the rename of the
//! file, with and without compiling, how identity calls fare meanwhile, and how the calls of a second backend
//! fare while the first is swapped, broken and flooded. Prints figures and judges none of them, but a call that
//! fails ends it.

#![allow(clippy::print_stdout, clippy::indexing_slicing, reason = "a benchmark's figures go to standard output")]

#[allow(dead_code, reason = "the ratios need more of it")]
mod load;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::identity_client::IdentityClient;
use drivebay_proto::pb::csi::v1::{self, ProbeRequest};
use tokio::task::JoinSet;
use tonic::transport::{Channel, Endpoint};

const LANES: usize = 20;
const SWAPS: usize = 200;
const QUIET: Duration = Duration::from_secs(5);
const ROUNDS: usize = 11;
/// Calls of the second backend come at this pace on each of its connections.
const PACE: Duration = Duration::from_millis(5);
const NEIGHBOURS: usize = 4;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run())
}

async fn run() -> Result<()> {
    let work = tempfile::tempdir()?;
    let echo = std::fs::read(guest("echo"))?;
    let versions = [stamped(&echo, 1)?, stamped(&echo, 2)?];
    let host = Site::start(work.path(), &versions[0]).await?;
    under_load(&host, &versions).await?;
    neighbours(&host, &versions).await?;
    cached(&host, &versions).await?;
    compiled(&host).await
}

/// A running host with two backends: the first is done things to, the second is watched.
struct Site {
    work: PathBuf,
    process: Child,
}

impl Site {
    async fn start(work: &Path, component: &[u8]) -> Result<Self> {
        let at = work.display();
        std::fs::write(work.join("backend.wasm"), component)?;
        std::fs::write(work.join("neighbour.wasm"), component)?;
        std::fs::write(
            work.join("host.toml"),
            format!(
                "[host]\nstate = \"{at}/state\"\nadmin = \"unix://{at}/admin.sock\"\n[[backend]]\nname = \"b\"\n\
                 component = \"{at}/backend.wasm\"\ncsi = \"unix://{at}/csi.sock\"\n[[backend]]\nname = \"neighbour\"\n\
                 component = \"{at}/neighbour.wasm\"\ncsi = \"unix://{at}/neighbour.sock\"\n"
            ),
        )?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_drivebay"));
        command.arg("serve").arg("--config").arg(work.join("host.toml")).stdout(Stdio::null()).stderr(Stdio::null());
        let site = Self { work: work.to_owned(), process: command.spawn()? };
        let mut client = IdentityClient::new(site.connect().await?);
        while client.probe(ProbeRequest {}).await?.into_inner().ready != Some(true) {
            tokio::task::yield_now().await;
        }
        Ok(site)
    }

    async fn connect(&self) -> Result<Channel> {
        self.connect_to("csi").await
    }

    async fn connect_to(&self, socket: &str) -> Result<Channel> {
        let endpoint = Endpoint::from_shared(format!("unix://{}/{socket}.sock", self.work.display()))?;
        let end = Instant::now() + Duration::from_mins(1);
        loop {
            match endpoint.connect().await {
                Ok(channel) => return Ok(channel),
                Err(error) if Instant::now() > end => bail!("the host does not listen: {error}"),
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    /// Puts a component in its place, as installers do.
    fn place(&self, component: &[u8]) -> Result<()> {
        std::fs::write(self.work.join("next.wasm"), component)?;
        Ok(std::fs::rename(self.work.join("next.wasm"), self.work.join("backend.wasm"))?)
    }

    async fn reload(&self) -> Result<()> {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_drivebay"));
        command.args(["reload", "b", "--wait", "--force", "--admin"]).arg(self.work.join("admin.sock"));
        let output = command.output().await?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// Resident memory of the host, in KiB.
    fn memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("the kernel tells it")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Calls on many connections until told to stop, with a pause after each; their times.
fn lanes(channels: Vec<Channel>, done: &Arc<AtomicBool>, pause: Duration) -> JoinSet<Result<Vec<Duration>>> {
    let mut lanes = JoinSet::new();
    for (lane, channel) in channels.into_iter().enumerate() {
        let done = Arc::clone(done);
        lanes.spawn(async move {
            let (mut client, mut times) = (ControllerClient::new(channel), Vec::new());
            while !done.load(Ordering::Relaxed) {
                let begin = Instant::now();
                client.create_volume(load::create(lane * 1_000_000 + times.len())).await?;
                times.push(begin.elapsed());
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
            }
            Ok(times)
        });
    }
    lanes
}

async fn times(lanes: JoinSet<Result<Vec<Duration>>>) -> Result<Vec<Duration>> {
    let all: Result<Vec<_>> = lanes.join_all().await.into_iter().collect();
    let mut all: Vec<_> = all?.into_iter().flatten().collect();
    all.sort_unstable();
    Ok(all)
}

async fn under_load(host: &Site, versions: &[Vec<u8>; 2]) -> Result<()> {
    let mut channels = Vec::new();
    for _ in 0..LANES {
        channels.push(host.connect().await?);
    }
    let done = Arc::new(AtomicBool::new(false));
    let running = lanes(channels.clone(), &done, Duration::ZERO);
    tokio::time::sleep(QUIET).await;
    done.store(true, Ordering::Relaxed);
    let quiet = times(running).await?;

    done.store(false, Ordering::Relaxed);
    let (running, begin, mut memory) = (lanes(channels, &done, Duration::ZERO), Instant::now(), 0);
    for swap in 1..=SWAPS {
        host.place(&versions[swap % 2])?;
        host.reload().await?;
        if swap == 10 {
            memory = host.memory()?;
        }
    }
    let after = host.memory()?;
    let took = begin.elapsed();
    done.store(true, Ordering::Relaxed);
    let swapping = times(running).await?;
    println!(
        "{SWAPS} swaps in {:.1} s: {} calls, none failed; {:.0} calls a second",
        took.as_secs_f64(),
        swapping.len(),
        rate(swapping.len(), took)
    );
    let (p99_quiet, p99) = (percentile(&quiet, 99), percentile(&swapping, 99));
    println!("p99 undisturbed {:.2} ms at {:.0} calls a second", ms(p99_quiet), rate(quiet.len(), QUIET));
    println!("p99 while swapping {:.2} ms", ms(p99));
    println!("memory after 10 swaps {} MiB, after {SWAPS} {} MiB", memory >> 10, after >> 10);
    println!("swap-p99 {:.2}", p99.as_secs_f64() / p99_quiet.as_secs_f64());
    println!("swap-memory {:.2}", f64::from(u32::try_from(after)?) / f64::from(u32::try_from(memory)?));
    Ok(())
}

/// From the rename to the first answer of the other version, by the watcher alone, with the code in the cache.
async fn cached(host: &Site, versions: &[Vec<u8>; 2]) -> Result<()> {
    // The lower version passes once the history is shown that it may; the pair goes up from here.
    let mut client = ControllerClient::new(host.connect().await?);
    let mut all = Vec::new();
    for round in 0..ROUNDS {
        let next = stamped(&versions[0], 3 + round)?;
        // Compiled before, as a cache that is shared or was warmed has it.
        let file = host.work.join("warm.wasm");
        std::fs::write(&file, &next)?;
        warm(host, &file).await?;
        host.place(&versions[0])?;
        host.reload().await?;
        let begin = Instant::now();
        host.place(&next)?;
        while version(&mut client, round).await? != format!("1.0.{}", 1003 + round) {
            tokio::task::yield_now().await;
        }
        all.push(begin.elapsed());
    }
    all.sort_unstable();
    println!("from rename to swap, cached: {:.0} ms at the median", ms(percentile(&all, 50)));
    Ok(())
}

/// Has the host compile a component without keeping it.
async fn warm(host: &Site, file: &Path) -> Result<()> {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_drivebay"));
    command.args(["reload", "b", "--wait", "--force", "--component"]).arg(file);
    command.arg("--admin").arg(host.work.join("admin.sock"));
    ensure!(command.output().await?.status.success());
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_drivebay"));
    command.args(["reload", "b", "--wait", "--force", "--component"]).arg(host.work.join("backend.wasm"));
    command.arg("--admin").arg(host.work.join("admin.sock"));
    command.output().await?;
    Ok(())
}

async fn version(client: &mut ControllerClient<Channel>, n: usize) -> Result<String> {
    let mut request = load::create(900_000_000 + n);
    request.parameters = [("version".to_owned(), "?".to_owned())].into();
    let made = client.create_volume(request).await?.into_inner().volume.context("a volume")?;
    Ok(made.volume_context.get("version").cloned().unwrap_or_default())
}

/// Identity calls while a large component compiles, and how long that takes beside `drivebay check`.
async fn compiled(host: &Site) -> Result<()> {
    let big = std::env::var_os("BIG").map_or_else(|| guest("local"), PathBuf::from);
    let bytes = std::fs::read(big)?;
    let other = host.work.join("other.wasm");
    std::fs::write(&other, marked(&bytes, 1))?;
    let begin = Instant::now();
    let checked = Command::new(env!("CARGO_BIN_EXE_drivebay")).arg("check").arg(&other).output()?;
    let check = begin.elapsed();
    ensure!(checked.status.code().is_some(), "the check ends by itself");

    let mut client = IdentityClient::new(host.connect().await?);
    let done = Arc::new(AtomicBool::new(false));
    let mut lane = JoinSet::new();
    let ended = Arc::clone(&done);
    lane.spawn(async move {
        let mut times = Vec::new();
        while !ended.load(Ordering::Relaxed) {
            let begin = Instant::now();
            client.get_plugin_info(v1::GetPluginInfoRequest {}).await?;
            times.push(begin.elapsed());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok::<_, anyhow::Error>(times)
    });
    let begin = Instant::now();
    std::fs::write(&other, marked(&bytes, 2))?;
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_drivebay"));
    command.args(["reload", "b", "--wait", "--component"]).arg(&other).arg("--admin").arg(host.work.join("admin.sock"));
    // It is another driver and is refused, but not before it was compiled and asked.
    let words = String::from_utf8(command.output().await?.stderr)?;
    let took = begin.elapsed();
    ensure!(words.contains("other-plugin") || words.contains("missing-grants"), "{words}");
    done.store(true, Ordering::Relaxed);
    let mut times = lane.join_next().await.context("one lane")???;
    times.sort_unstable();
    println!(
        "{} KiB compiled and looked at in {:.2} s; check needs {:.2} s",
        bytes.len() >> 10,
        took.as_secs_f64(),
        check.as_secs_f64()
    );
    println!("identity p99 meanwhile {:.2} ms ({} calls)", ms(percentile(&times, 99)), times.len());
    println!("swap-compile {:.2}", took.as_secs_f64() / check.as_secs_f64());
    Ok(())
}

/// What becomes of the second backend's p99 while the first is swapped, offered what is no component, and flooded.
async fn neighbours(host: &Site, versions: &[Vec<u8>; 2]) -> Result<()> {
    let quiet = beside(host, async {
        tokio::time::sleep(QUIET).await;
        Ok(())
    });
    let quiet = quiet.await?;
    let swapped = beside(host, async {
        for swap in 1..=SWAPS / 4 {
            host.place(&versions[swap % 2])?;
            host.reload().await?;
        }
        Ok(())
    });
    let swapped = swapped.await?;
    let broken = beside(host, async {
        for number in 0..SWAPS / 4 {
            host.place(format!("no component {number}").as_bytes())?;
            ensure!(host.reload().await.is_err(), "what is no component is refused");
        }
        host.place(&versions[0])?;
        host.reload().await
    });
    let broken = broken.await?;
    let flooded = beside(host, async {
        let mut channels = Vec::new();
        for _ in 0..LANES {
            channels.push(host.connect().await?);
        }
        let done = Arc::new(AtomicBool::new(false));
        let flood = lanes(channels, &done, Duration::ZERO);
        tokio::time::sleep(QUIET).await;
        done.store(true, Ordering::Relaxed);
        times(flood).await.map(drop)
    });
    let flooded = flooded.await?;
    println!("the neighbour's p99: {:.2} ms in peace", ms(quiet));
    for (trouble, p99) in [("swapped", swapped), ("broken", broken), ("flooded", flooded)] {
        println!("neighbour-p99 while {trouble} {:.2}", p99.as_secs_f64() / quiet.as_secs_f64());
    }
    Ok(())
}

/// The p99 of the second backend's calls while something is done.
async fn beside(host: &Site, trouble: impl Future<Output = Result<()>>) -> Result<Duration> {
    let mut channels = Vec::new();
    for _ in 0..NEIGHBOURS {
        channels.push(host.connect_to("neighbour").await?);
    }
    let done = Arc::new(AtomicBool::new(false));
    let running = lanes(channels, &done, PACE);
    let ended = trouble.await;
    done.store(true, Ordering::Relaxed);
    let times = times(running).await?;
    ended.map(|()| percentile(&times, 99))
}

fn guest(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("target/guests/{name}.wasm"))
}

/// A component with another version in its stamp.
fn stamped(component: &[u8], n: usize) -> Result<Vec<u8>> {
    let (mut bytes, marker) = (component.to_vec(), b"echo-stamp version=");
    let at = bytes.windows(marker.len()).position(|window| window == marker).context("it has a stamp")? + marker.len();
    let version = format!("1.0.{}", 1000 + n);
    bytes.get_mut(at..at + version.len()).context("it fits")?.copy_from_slice(version.as_bytes());
    Ok(bytes)
}

/// The same component with another digest: a custom section means nothing.
fn marked(component: &[u8], mark: u8) -> Vec<u8> {
    [component, &[0, 6, 4, b'm', b'a', b'r', b'k', mark]].concat()
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn rate(calls: usize, time: Duration) -> f64 {
    f64::from(u32::try_from(calls).unwrap_or(u32::MAX)) / time.as_secs_f64()
}
