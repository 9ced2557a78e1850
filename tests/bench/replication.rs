//! What replication costs, with the reference backend at two sites in one process and a file system of its own for
//! each pool, where blocks can be shared, and for the link. Each part prints a line a figure:
//!
//! - `changes`: what 1 % of changed bytes in a volume of 10 GiB puts into the link directory, counted from outside;
//! - `rate`: how fast 1 GiB of new bytes reaches the peer, against a plain copy of the same bytes, in turn;
//! - `schedules`: whether 200 sources with a schedule of one minute and 1 MiB changed in each a minute keep their
//!   time beside a first copy of 4 GiB, and what that does to other calls;
//! - `waits`: whether publishing and demoting a volume wait on a transfer of it.
//!
//! `PARTS=schedules MINUTES=3` chooses; without it the first two run. It needs root, because it mounts.

#![allow(clippy::print_stdout, reason = "a benchmark's figures go to standard output")]

mod built_in;
mod schedules;
mod waits;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use drivebay_app::host::Host;
use drivebay_policy::Config;
use drivebay_proto::pb::csi::v1::controller_server::Controller as _;
use drivebay_proto::pb::csi::v1::{self, volume_capability as capability};
use drivebay_proto::pb::replication::controller_server::Controller as _;
use drivebay_proto::pb::replication::{self, replication_source};
use drivebay_rpc::{Front, Role};
use rustix::fs::Advice;
use tonic::{Code, Request, Response, Status};

use built_in::BUILT_IN;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Rounds of the comparison with a plain copy; the median of their ratios is printed.
const ROUNDS: usize = 3;

fn main() -> Result<ExitCode> {
    if let Some(ended) = drivebay_app::cli::part::run(&BUILT_IN) {
        return Ok(ended);
    }
    tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).init();
    ensure!(rustix::process::geteuid().is_root(), "pools are mounted, which needs root");
    let parts = std::env::var("PARTS").unwrap_or_else(|_| "changes,rate".to_owned());
    for part in parts.split(',') {
        let pair = Pair::new()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            match part {
                "changes" => changes(&pair).await,
                "rate" => rate(&pair).await,
                "schedules" => schedules::schedules(&pair).await,
                "waits" => waits::waits(&pair).await,
                _ => bail!("there is no part {part}"),
            }
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// 1 % of a volume of 10 GiB, in pieces of 64 KiB all over it.
async fn changes(pair: &Pair) -> Result<()> {
    let (a, b) = (pair.site("a").await?, pair.site("b").await?);
    let id = a.create("volume", 10 * GIB).await?;
    a.write(&id, 0, 10 * GIB, 64 * 1024, 20).await?;
    a.enable(&id, "1h").await?;
    a.info(&id).await?;
    // From now on nobody takes anything out of the link.
    b.host.stop().await?;
    a.write(&id, 3 * 1024 * 1024, 10 * GIB, 64 * 1024, 100).await?;
    a.demote(&id).await?;
    let manifest = wait_for(|| find(&pair.link, "manifest.json")).await?;
    let folder = manifest.parent().context("it lies in a folder")?;
    let share = f64::from(u32::try_from(taken(folder)? / 1024)?) / f64::from(u32::try_from(10 * GIB / 1024)?);
    println!("changed-in-link {:.2}%", share * 100.0);
    a.host.stop().await
}

/// 1 GiB to the peer, against a plain copy between the same two file systems that is flushed as well. Both read what is on
/// disk and not in memory: a cut is another file than the image.
async fn rate(pair: &Pair) -> Result<()> {
    let (a, b) = (pair.site("a").await?, pair.site("b").await?);
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let id = a.create(&format!("volume-{round}"), GIB).await?;
        a.write(&id, 0, GIB, MIB, 1).await?;
        rustix::fs::fadvise(File::open(a.image(&id)?)?, 0, None, Advice::DontNeed)?;
        let begin = Instant::now();
        let target = pair.root.path().join("b/pool/plain");
        let (from, to) = (a.image(&id)?, target.clone());
        tokio::task::spawn_blocking(move || copy(&from, &to)).await??;
        let plain = begin.elapsed();
        fs::remove_file(&target)?;
        let begin = Instant::now();
        a.enable(&id, "1h").await?;
        a.info(&id).await?;
        let synced = begin.elapsed();
        println!("round {round}: plain {:.2} s, to the peer {:.2} s", plain.as_secs_f64(), synced.as_secs_f64());
        ratios.push(plain.as_secs_f64() / synced.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    println!("sync-rate {:.2}", ratios.get(ROUNDS / 2).copied().unwrap_or(f64::NAN));
    println!("memory {} MiB at most", peak_memory()? / MIB);
    a.host.stop().await?;
    b.host.stop().await
}

/// The value that so many percent do not pass.
fn at(values: &[f64], percent: usize) -> f64 {
    values.get((values.len() * percent / 100).min(values.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// Two pools and a link. Its hosts must have been stopped when it goes.
struct Pair {
    root: tempfile::TempDir,
    link: PathBuf,
}

impl Pair {
    fn new() -> Result<Self> {
        let root = tempfile::tempdir()?;
        let link = root.path().join("link");
        let pair = Self { root, link };
        for (name, place) in pair.places() {
            let image = pair.root.path().join(format!("{name}.img"));
            fs::create_dir_all(&place)?;
            File::create(&image)?.set_len(24 * GIB)?;
            run(Command::new("mkfs.xfs").arg("-q").arg(&image))?;
            let device = attach(&image)?;
            run(Command::new("mount").arg(device).arg(&place))?;
        }
        Ok(pair)
    }

    /// What has a file system of its own, and where it is mounted.
    fn places(&self) -> [(&'static str, PathBuf); 3] {
        let pool = |name: &'static str| (name, self.root.path().join(name).join("pool"));
        [pool("a"), pool("b"), ("link", self.link.clone())]
    }

    async fn site(&self, name: &str) -> Result<Site> {
        let root = self.root.path().join(name);
        let node = name == "a";
        let text = format!(
            "[host]\nstate = \"{0}/state\"\ntargets = [\"{0}\"]\n[[backend]]\nname = \"{name}\"\ncomponent = \"local\"\n\
             csi = \"unix://{0}/csi.sock\"\nnode-id = \"{name}\"\nsettings = {{ link = \"/link\" }}\n[backend.grants]\n\
             directories = [{{ host = \"{0}/pool\", guest = \"/pool\", write = true }}, \
             {{ host = \"{1}\", guest = \"/link\", write = true }}]\nnode = {2}\n",
            root.display(),
            self.link.display(),
            node
        );
        let host = Host::start_unconfined(Config::parse(name, &text)?, BUILT_IN.local).await?;
        let front = Front::new(Arc::clone(host.backends().first().context("a host has a backend")?), Role::All);
        let site = Site { front, pool: root.join("pool"), host };
        let listed = || async {
            let asked = site.front.list_volumes(Request::new(v1::ListVolumesRequest::default())).await;
            Ok(asked.is_ok().then_some(()))
        };
        until(listed).await?;
        Ok(site)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for (_, place) in self.places() {
            // Nothing is left to be told of it.
            let _ = Command::new("umount").arg("-d").arg("-l").arg(place).status();
        }
    }
}

/// A block device of an image, which goes when it is unmounted. It reads and writes past the page cache of the file
/// system that the image lies in: through it, a flush of either pool would wait for what the other has written, as no
/// two disks do.
fn attach(image: &Path) -> Result<PathBuf> {
    let said = Command::new("losetup").args(["--direct-io=on", "--show", "-f"]).arg(image).output()?;
    ensure!(said.status.success(), "losetup: {}", String::from_utf8_lossy(&said.stderr));
    Ok(PathBuf::from(String::from_utf8(said.stdout)?.trim()))
}

/// A host on one of the pools.
struct Site {
    front: Front,
    pool: PathBuf,
    host: Host,
}

impl Site {
    async fn create(&self, name: &str, bytes: u64) -> Result<String> {
        let mode = capability::access_mode::Mode::SingleNodeWriter.into();
        let request = v1::CreateVolumeRequest {
            name: name.to_owned(),
            capacity_range: Some(v1::CapacityRange { required_bytes: i64::try_from(bytes)?, limit_bytes: 0 }),
            volume_capabilities: vec![v1::VolumeCapability {
                access_type: Some(capability::AccessType::Block(capability::BlockVolume {})),
                access_mode: Some(capability::AccessMode { mode }),
            }],
            ..Default::default()
        };
        let answer = self.front.create_volume(Request::new(request)).await?.into_inner();
        Ok(answer.volume.context("a volume is described")?.volume_id)
    }

    async fn enable(&self, id: &str, interval: &str) -> Result<()> {
        let request = replication::EnableVolumeReplicationRequest {
            replication_source: Some(source(id)),
            parameters: [("schedulingInterval".to_owned(), interval.to_owned())].into(),
            ..Default::default()
        };
        self.front.enable_volume_replication(Request::new(request)).await?;
        Ok(())
    }

    async fn demote(&self, id: &str) -> Result<()> {
        let request = replication::DemoteVolumeRequest { replication_source: Some(source(id)), ..Default::default() };
        again(|| self.front.demote_volume(Request::new(request.clone()))).await
    }

    /// What is told of a replication; none: no transfer is whole yet.
    async fn try_info(&self, id: &str) -> Result<Option<replication::GetVolumeReplicationInfoResponse>> {
        let replication_source = Some(source(id));
        let request = replication::GetVolumeReplicationInfoRequest { replication_source, ..Default::default() };
        match self.front.get_volume_replication_info(Request::new(request)).await {
            Ok(info) => Ok(Some(info.into_inner())),
            Err(status) if status.code() == Code::NotFound => Ok(None),
            Err(status) => Err(status.into()),
        }
    }

    /// The same when there is something to tell.
    async fn info(&self, id: &str) -> Result<replication::GetVolumeReplicationInfoResponse> {
        until(|| self.try_info(id)).await
    }

    fn image(&self, id: &str) -> Result<PathBuf> {
        Ok(self.pool.join("volumes").join(id.get(..2).context("ids have a bucket")?).join(id).join("image"))
    }

    /// Writes pieces between two offsets, one in so many.
    async fn write(&self, id: &str, from: u64, to: u64, piece: u64, one_in: u64) -> Result<()> {
        let image = self.image(id)?;
        tokio::task::spawn_blocking(move || write(&image, from, to, piece, one_in)).await?
    }
}

/// Bytes of which no two pieces are the same.
fn write(image: &Path, from: u64, to: u64, piece: u64, one_in: u64) -> Result<()> {
    static SEED: AtomicU64 = AtomicU64::new(0x9E37_79B9_7F4A_7C15);
    let image = OpenOptions::new().write(true).open(image)?;
    let mut bytes = vec![0; usize::try_from(piece)?];
    let mut state = SEED.fetch_add(0x2545_F491_4F6C_DD1D, Ordering::Relaxed);
    let mut offset = from;
    while offset + piece <= to {
        for word in bytes.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        image.write_all_at(&bytes, offset)?;
        offset += piece * one_in;
    }
    Ok(image.sync_all()?)
}

fn source(id: &str) -> replication::ReplicationSource {
    let volume = replication_source::VolumeSource { volume_id: id.to_owned() };
    replication::ReplicationSource { r#type: Some(replication_source::Type::Volume(volume)) }
}

/// Makes a call until it is done: a background step may be at its objects.
async fn again<T, F: Future<Output = Result<Response<T>, Status>>>(call: impl Fn() -> F) -> Result<()> {
    until(|| async {
        match call().await {
            Ok(_) => Ok(Some(())),
            Err(status) if [Code::Aborted, Code::Unavailable].contains(&status.code()) => Ok(None),
            Err(status) => Err(status.into()),
        }
    })
    .await
}

/// Tries again until there is something.
async fn until<T, F: Future<Output = Result<Option<T>>>>(mut attempt: impl FnMut() -> F) -> Result<T> {
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    loop {
        pace.tick().await;
        if let Some(found) = attempt().await? {
            return Ok(found);
        }
    }
}

async fn wait_for(mut attempt: impl FnMut() -> Result<Option<PathBuf>>) -> Result<PathBuf> {
    until(|| std::future::ready(attempt())).await
}

/// A file of this name below a folder.
fn find(folder: &Path, name: &str) -> Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.ends_with(name) {
            return Ok(Some(path));
        }
        if let Some(found) = path.is_dir().then(|| find(&path, name)).transpose()?.flatten() {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The blocks of the files in a folder, in bytes.
fn taken(folder: &Path) -> Result<u64> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.blocks() * 512)).sum()
}

/// A copy as `cp` makes one, and on disk when it returns.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)?;
    Ok(File::open(to)?.sync_all()?)
}

/// The most that this process has held, in bytes.
fn peak_memory() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("the kernel tells it")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}
