//! What HTTP through the sandbox costs: the same request over TLS, with an answer of a kilobyte of JSON, made by a guest, by
//! the host's own egress, and by a bare client, in turn, all in one process and each on a connection that is kept. Then 200
//! calls that wait for a slow server: what a host holds for them, and whether anybody else waits with them. Prints figures
//! and judges none of them, but a request that fails ends it.

#![allow(clippy::print_stdout, clippy::indexing_slicing, reason = "a benchmark's figures go to standard output")]

#[path = "../built_in.rs"]
mod built_in;
mod contestants;
mod server;
mod site;

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use drivebay_app::host::Host;
use drivebay_policy::Config;
use drivebay_proto::pb::csi::v1::GetCapacityRequest;
use drivebay_proto::pb::csi::v1::controller_server::Controller as _;
use drivebay_rpc::{Front, Role};
use tonic::Request;

use contestants::{Bare, Native, Shape};
use server::Server;
use site::{create, delete};

use built_in::BUILT_IN;

const ROUNDS: usize = 9;
const REQUESTS: usize = 500;
const PATIENCE: Duration = Duration::from_mins(1);

fn main() -> Result<ExitCode> {
    if let Some(ended) = drivebay_app::cli::part::run(&BUILT_IN) {
        return Ok(ended);
    }
    let (figures, heard) = channel();
    // Default logging: lines are made and written, as in a host whose log nobody reads.
    let lines = Lines(Arc::new(Mutex::new(figures)));
    tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).with_writer(move || lines.clone()).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // On a thread of the runtime, as calls are; the thread that waits here is none.
    runtime.block_on(async { tokio_util::task::TaskTracker::new().spawn(run(heard)).await? })?;
    Ok(ExitCode::SUCCESS)
}

async fn run(heard: Receiver<String>) -> Result<()> {
    let work = tempfile::tempdir()?;
    let server = Server::start(work.path())?;
    let figures = Figures { heard: Mutex::new(heard), host: host(work.path(), &server).await? };
    for shape in [Shape::GET, Shape::POST] {
        latency(&figures, &server, shape).await?;
    }
    site::waiting(work.path(), &server).await
}

/// The host, and what its guests measure.
struct Figures {
    heard: Mutex<Receiver<String>>,
    host: Host,
}

async fn latency(figures: &Figures, server: &Server, shape: Shape) -> Result<()> {
    let (bare, native) = (Bare::connect(server).await?, Native::new(server)?);
    let front = Front::new(Arc::clone(figures.host.backends().first().context("a host has a backend")?), Role::All);
    let body = if shape.body == 0 { String::new() } else { format!(" body={}", shape.body) };
    let words = format!("fetch {} {}{body}", shape.method, server.url("/"));
    for (operation, object, number) in [("delete-volume", "timed", REQUESTS), ("get-capacity", "host", 1)] {
        front.create_volume(Request::new(create(operation, object, &format!("{words} median={number}")))).await?;
    }
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let (bare, native) = (bare.time(shape).await?, native.time(shape).await?);
        front.delete_volume(Request::new(delete("timed"))).await?;
        let guest = figures.heard()?;
        let mut calls = Vec::new();
        // A call that writes nothing, whose instance is made for it.
        for _ in 0..REQUESTS {
            let begin = Instant::now();
            front.get_capacity(Request::new(GetCapacityRequest::default())).await?;
            calls.push(nanoseconds(begin));
            figures.heard()?;
        }
        rounds.push([bare, native, guest, median(calls)]);
    }
    let of = |what: &dyn Fn(&[f64; 4]) -> f64| median(rounds.iter().map(what).collect());
    println!(
        "{}: bare {:.0} us, by the host {:.0}, through the sandbox {:.0}, a whole call of one request {:.0}",
        shape.method,
        of(&|round| round[0]) / 1e3,
        of(&|round| round[1]) / 1e3,
        of(&|round| round[2]) / 1e3,
        of(&|round| round[3]) / 1e3,
    );
    println!(
        "{}: through the sandbox {:.2} of the host's own latency, {:.2} of a bare client's; a whole call {:.2}",
        shape.method,
        of(&|round| round[2] / round[1]),
        of(&|round| round[2] / round[0]),
        of(&|round| round[3] / round[1]),
    );
    Ok(())
}

impl Figures {
    /// What the guest measured, in nanoseconds.
    fn heard(&self) -> Result<f64> {
        let heard = self.heard.lock().map_err(|_| anyhow::anyhow!("poisoned"))?;
        let text = heard.recv_timeout(PATIENCE).context("the guest measured nothing")?;
        text.split(' ').next().unwrap_or_default().parse().context(text.clone())
    }
}

/// Where log lines go: nowhere, but for what a guest measured.
#[derive(Clone)]
struct Lines(Arc<Mutex<Sender<String>>>);

impl io::Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        if let Some((_, figure)) = text.split_once(": median ")
            && let Ok(figures) = self.0.lock()
        {
            let _ = figures.send(figure.to_owned());
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A host in this process.
async fn host(work: &Path, server: &Server) -> Result<Host> {
    let config = Config::parse("bench", &site::configuration(&work.join("inside"), server))?;
    Host::start_unconfined(config, BUILT_IN.local).await
}

fn nanoseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
