//! What many volumes cost: creating further ones (directories, durable) and reading a page of the list, with
//! 1,000 volumes in the pool and with 100,000. Two hosts with the reference backend in one process, measured in
//! turn, so that a machine that gets slower is the same for both; only ratios are printed. No sockets: they cost
//! the same at any number. `SCALE=20000` measures with fewer volumes than 100,000.

#![allow(clippy::print_stdout, reason = "a benchmark's figures go to standard output")]

mod built_in;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use drivebay_app::host::Host;
use drivebay_policy::Config;
use drivebay_proto::pb::csi::v1::controller_server::Controller;
use drivebay_proto::pb::csi::v1::{self, volume_capability as capability};
use drivebay_rpc::{Front, Role};
use futures_util::{StreamExt as _, TryStreamExt as _};
use tonic::{Code, Request};

use built_in::BUILT_IN;

const FEW: usize = 1_000;
const MANY: usize = 100_000;
/// Rounds of each; the median of the rounds' ratios is printed.
const ROUNDS: usize = 11;
/// What one round does.
const CREATES: usize = 64;
const PAGES: usize = 16;
const PAGE: i32 = 500;
/// Calls at once, as the provisioner sends them.
const LANES: usize = 16;

fn main() -> Result<ExitCode> {
    if let Some(ended) = drivebay_app::cli::part::run(&BUILT_IN) {
        return Ok(ended);
    }
    // Default logging: lines are made and written, as in a host whose log nobody reads.
    tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).with_writer(std::io::sink).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run())?;
    Ok(ExitCode::SUCCESS)
}

async fn run() -> Result<()> {
    let work = tempfile::tempdir()?;
    let many = std::env::var("SCALE").ok().map_or(Ok(MANY), |number| number.parse())?;
    let mut small = Site::new(work.path(), "small").await?;
    let mut large = Site::new(work.path(), "large").await?;
    small.fill(FEW).await?;
    large.fill(many).await?;
    let (mut creates, mut pages) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        creates.push(small.fill(small.volumes + CREATES).await? / large.fill(large.volumes + CREATES).await?);
        pages.push(small.read(PAGES).await? / large.read(PAGES).await?);
    }
    println!("volumes {many}");
    println!("create-at-scale {:.2}", median(creates));
    println!("list-at-scale {:.2}", median(pages));
    Ok(())
}

/// A host with its own pool and state.
struct Site {
    front: Front,
    volumes: usize,
    /// What keeps it running.
    _host: Host,
}

impl Site {
    async fn new(work: &Path, name: &str) -> Result<Self> {
        let root = work.join(name);
        std::fs::create_dir_all(root.join("pool"))?;
        let text = format!(
            "[host]\nstate = \"{0}/state\"\n[[backend]]\nname = \"{name}\"\ncomponent = \"local\"\n\
             csi = \"unix://{0}/csi.sock\"\nnode-id = \"n\"\n[backend.grants]\n\
             directories = [{{ host = \"{0}/pool\", guest = \"/pool\", write = true }}]\n",
            root.display()
        );
        let host = Host::start_unconfined(Config::parse(name, &text)?, BUILT_IN.local).await?;
        let front = Front::new(Arc::clone(host.backends().first().context("a host has a backend")?), Role::All);
        let site = Self { front, volumes: 0, _host: host };
        site.ready().await?;
        Ok(site)
    }

    /// Returns when the backend has recovered and lets calls in.
    async fn ready(&self) -> Result<()> {
        loop {
            match self.front.list_volumes(Request::new(v1::ListVolumesRequest::default())).await {
                Ok(_) => return Ok(()),
                Err(status) if status.code() == Code::Unavailable => tokio::task::yield_now().await,
                Err(status) => return Err(status.into()),
            }
        }
    }

    /// Makes volumes until there are so many; gives the seconds that took.
    async fn fill(&mut self, volumes: usize) -> Result<f64> {
        let begin = Instant::now();
        let front = &self.front;
        let made = futures_util::stream::iter(self.volumes..volumes)
            .map(|n| async move { front.create_volume(Request::new(create(n))).await.map(drop) });
        made.buffer_unordered(LANES).try_collect::<()>().await?;
        self.volumes = volumes;
        Ok(begin.elapsed().as_secs_f64())
    }

    /// Reads pages from the beginning and from where the one before ended, in turn; gives the seconds.
    async fn read(&self, pages: usize) -> Result<f64> {
        let begin = Instant::now();
        for _ in 0..pages / 2 {
            let first = self.page(String::new()).await?;
            self.page(first).await?;
        }
        Ok(begin.elapsed().as_secs_f64())
    }

    async fn page(&self, starting_token: String) -> Result<String> {
        let request = v1::ListVolumesRequest { max_entries: PAGE, starting_token };
        let page = self.front.list_volumes(Request::new(request)).await?.into_inner();
        anyhow::ensure!(page.entries.len() == usize::try_from(PAGE)?, "a page has {} entries", page.entries.len());
        Ok(page.next_token)
    }
}

fn create(n: usize) -> v1::CreateVolumeRequest {
    let mode = capability::access_mode::Mode::SingleNodeWriter.into();
    v1::CreateVolumeRequest {
        name: format!("pvc-0f6b1c1e-8a43-4b8e-9c55-{n:012}"),
        capacity_range: Some(v1::CapacityRange { required_bytes: 1 << 30, limit_bytes: 0 }),
        volume_capabilities: vec![v1::VolumeCapability {
            access_type: Some(capability::AccessType::Mount(capability::MountVolume::default())),
            access_mode: Some(capability::AccessMode { mode }),
        }],
        parameters: [("kind".to_owned(), "directory".to_owned())].into(),
        ..Default::default()
    }
}

/// The middle of the values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
