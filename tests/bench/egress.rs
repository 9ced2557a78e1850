//! What HTTP through the sandbox costs: the same request to the same server, made by a guest in one long call, by the host's
//! own egress, and by a bare client, in turn. Then 200 calls that wait for a slow server: what they hold, and whether anybody
//! else waits with them. Prints figures and judges none of them, but a request that fails ends it.

#![allow(clippy::print_stdout, clippy::indexing_slicing, reason = "a benchmark's figures go to standard output")]

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use drivebay::egress::{Allowance, Ask, Egress, Grant, HttpLimits, Mode, Patience, Presence, Standing, Subject};
use drivebay::observe::Secrets;
use drivebay::wire::pb::csi::v1::controller_client::ControllerClient;
use drivebay::wire::pb::csi::v1::{self, volume_capability as capability};
use http_body_util::{BodyExt as _, Empty};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tonic::transport::{Channel, Endpoint};

const ROUNDS: usize = 9;
const REQUESTS: usize = 500;
const WAITING: usize = 200;
const PATIENCE: Duration = Duration::from_mins(1);

fn main() -> Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}

type Client = ControllerClient<Channel>;

async fn run() -> Result<()> {
    let work = tempfile::tempdir()?;
    let server = Server::start().await?;
    let host = Site::start(work.path(), server.address)?;
    let client = host.connect(work.path()).await?;
    latency(&client, &host, server.address).await?;
    waiting(&client, &host, &server).await
}

async fn latency(client: &Client, host: &Site, server: SocketAddr) -> Result<()> {
    let (mut of_bare, mut of_host, mut guests) = (Vec::new(), Vec::new(), Vec::new());
    instruct(client, "timed", &format!("fetch GET http://{server}/ median={REQUESTS}")).await?;
    for _ in 0..ROUNDS {
        let (bare, native) = (bare(server).await?, native(server).await?);
        client.clone().delete_volume(delete("timed")).await?;
        let guest = host.figure()?;
        of_bare.push(guest / bare);
        of_host.push(guest / native);
        guests.push(guest);
    }
    println!("one request through the sandbox: {:.0} us at the median", median(guests) / 1000.0);
    println!("egress {:.2} of a bare client's latency, {:.2} of the host's own", median(of_bare), median(of_host));
    Ok(())
}

/// 200 calls wait; others are answered all the same.
async fn waiting(client: &Client, host: &Site, server: &Server) -> Result<()> {
    let alone = others(client).await?;
    let mut calls = JoinSet::new();
    for n in 0..WAITING {
        let name = format!("slow-{n}");
        instruct(client, &name, &format!("fetch GET http://{}/slow", server.address)).await?;
        let mut client = client.clone();
        calls.spawn(async move { client.delete_volume(delete(&name)).await });
    }
    let mut slow = server.slow.subscribe();
    timeout(PATIENCE, slow.wait_for(|slow| *slow == WAITING)).await.context("not all slow requests arrived")??;
    let held = resident(host.process.id())?;
    let beside = others(client).await?;
    server.gate.send_replace(true);
    while let Some(answer) = calls.join_next().await {
        answer??;
    }
    println!(
        "{WAITING} calls waiting: the host holds {held} MB; another call {beside:.2} ms at the median, without them {alone:.2} ms"
    );
    Ok(())
}

/// The median time of calls that wait for nothing, in milliseconds.
async fn others(client: &Client) -> Result<f64> {
    let (mut client, mut times) = (client.clone(), Vec::new());
    for n in 0..100 {
        let begin = Instant::now();
        client.delete_volume(delete(&format!("quick-{n}"))).await?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(times))
}

/// A request on a connection that is used again and again, without anything around it; nanoseconds at the median.
async fn bare(server: SocketAddr) -> Result<f64> {
    let io = hyper_util::rt::TokioIo::new(TcpStream::connect(server).await?);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await?;
    let driven = TaskTracker::new().spawn(connection);
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let begin = Instant::now();
        let request = http::Request::get("/").header("host", server.to_string()).body(Empty::<Bytes>::new())?;
        let answer = sender.send_request(request).await?;
        ensure!(answer.into_body().collect().await?.to_bytes() == "ok", "another answer");
        sender.ready().await?;
        times.push(nanoseconds(begin));
    }
    driven.abort();
    Ok(median(times))
}

/// The same by the host's egress, without a guest.
async fn native(server: SocketAddr) -> Result<f64> {
    let grant = Grant::of(format!("http://{server}").parse()?);
    let subject = Subject { backend: "native".to_owned(), generation: "1".to_owned() };
    let egress = Egress::new(subject, &[grant], Mode::Enforce, HttpLimits::default())?;
    let guest = Presence::new();
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let begin = Instant::now();
        let ask = Ask {
            call: "c-1".to_owned(),
            secrets: Secrets::default(),
            standing: Standing::Serving,
            patience: Patience::default(),
            ends: tokio::time::Instant::now() + PATIENCE,
            allowance: Arc::new(Allowance::new(1 << 20, 1)),
            guest: guest.witness(),
        };
        let request = http::Request::get(format!("http://{server}/")).body(Empty::<Bytes>::new())?;
        let answer = egress.send(request, ask).await?;
        ensure!(answer.into_body().collect().await?.to_bytes() == "ok", "another answer");
        times.push(nanoseconds(begin));
    }
    Ok(median(times))
}

fn nanoseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// An array of few words: `/slow` waits for the gate.
struct Server {
    address: SocketAddr,
    gate: watch::Sender<bool>,
    /// How many wait.
    slow: watch::Sender<usize>,
}

impl Server {
    async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let server =
            Self { address: listener.local_addr()?, gate: watch::Sender::new(false), slow: watch::Sender::new(0) };
        let (gate, slow, tasks) = (server.gate.clone(), server.slow.clone(), TaskTracker::new());
        let inner = tasks.clone();
        tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                inner.spawn(converse(stream, gate.subscribe(), slow.clone()));
            }
        });
        Ok(server)
    }
}

async fn converse(mut stream: TcpStream, mut gate: watch::Receiver<bool>, slow: watch::Sender<usize>) {
    let mut bytes = Vec::new();
    let _ = stream.set_nodelay(true);
    while stream.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {
        if !bytes.ends_with(b"\r\n\r\n") {
            continue;
        }
        if bytes.starts_with(b"GET /slow ") {
            slow.send_modify(|slow| *slow += 1);
            let _ = gate.wait_for(|open| *open).await;
        }
        bytes.clear();
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.is_err() {
            return;
        }
    }
}

/// A running host with the test backend.
struct Site {
    process: Child,
    figures: Receiver<String>,
}

impl Site {
    fn start(work: &Path, server: SocketAddr) -> Result<Self> {
        let at = work.display();
        let guest = Path::new(env!("DRIVEBAY_LOCAL_WASM")).with_file_name("tester.wasm");
        std::fs::write(
            work.join("host.toml"),
            format!(
                "[host]\nstate = \"{at}/state\"\n[[backend]]\nname = \"b\"\ncomponent = \"{}\"\n\
                 csi = \"unix://{at}/csi.sock\"\n[backend.grants]\nhttp = [\"http://{server}\"]\n\
                 [backend.limits]\ncalls = {}\nhttp-connections = {WAITING}\nhttp-requests = 10000\n",
                guest.display(),
                WAITING * 2,
            ),
        )?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_drivebay"));
        command.arg("serve").arg("--config").arg(work.join("host.toml")).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let lines = BufReader::new(process.stderr.take().context("it is piped")?).lines();
        let (tell, figures) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if let Some((_, figure)) = line.split_once("for timed: median ") {
                    let _ = tell.send(figure.to_owned());
                }
            }
        });
        Ok(Self { process, figures })
    }

    /// What the guest measured, in nanoseconds.
    fn figure(&self) -> Result<f64> {
        let text = self.figures.recv_timeout(PATIENCE).context("the guest measured nothing")?;
        text.split(' ').next().unwrap_or_default().parse().context(text.clone())
    }

    async fn connect(&self, work: &Path) -> Result<Client> {
        let endpoint = Endpoint::from_shared(format!("unix://{}/csi.sock", work.display()))?;
        let end = Instant::now() + PATIENCE;
        loop {
            match endpoint.connect().await {
                Ok(channel) => return Ok(ControllerClient::new(channel)),
                Err(error) if Instant::now() > end => return Err(error).context("the host does not listen"),
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Resident memory in MB.
fn resident(process: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024 / 1_000_000)
}

fn delete(volume: &str) -> v1::DeleteVolumeRequest {
    v1::DeleteVolumeRequest { volume_id: volume.to_owned(), ..Default::default() }
}

/// Tells the guest what to do when this volume is deleted.
async fn instruct(client: &Client, object: &str, words: &str) -> Result<()> {
    let mode = capability::AccessMode { mode: capability::access_mode::Mode::SingleNodeWriter.into() };
    let mount = capability::AccessType::Mount(capability::MountVolume::default());
    let capability = v1::VolumeCapability { access_mode: Some(mode), access_type: Some(mount) };
    let request = v1::CreateVolumeRequest {
        name: format!("control-{object}"),
        volume_capabilities: vec![capability],
        parameters: [(format!("set:act/delete-volume/{object}"), words.to_owned())].into(),
        ..Default::default()
    };
    client.clone().create_volume(request).await?;
    Ok(())
}
