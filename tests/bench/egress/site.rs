//! A host in a process of its own whose calls wait: what it holds for them, and whether anybody else waits with them.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};
use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::{self, volume_capability as capability};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};

use crate::server::Server;
use crate::{PATIENCE, median};

const WAITING: usize = 200;

type Client = ControllerClient<Channel>;

/// 200 calls wait; others are answered all the same.
pub(crate) async fn waiting(work: &Path, server: &Server) -> Result<()> {
    let work = work.join("site");
    let host = Site::start(&work, server)?;
    let client = host.connect(&work).await?;
    let alone = others(&client).await?;
    let mut calls = JoinSet::new();
    for n in 0..WAITING {
        let name = format!("slow-{n}");
        client
            .clone()
            .create_volume(create("delete-volume", &name, &format!("fetch GET {}", server.url("/slow"))))
            .await?;
        let mut client = client.clone();
        calls.spawn(async move { client.delete_volume(delete(&name)).await });
    }
    let mut slow = server.slow.subscribe();
    timeout(PATIENCE, slow.wait_for(|slow| *slow == WAITING)).await.context("not all slow requests arrived")??;
    let held = resident(host.process.id())?;
    let beside = others(&client).await?;
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

/// A host with the test backend, its files in this directory.
pub(crate) fn configuration(work: &Path, server: &Server) -> String {
    let (at, ca, url) = (work.display(), server.ca.display(), server.url(""));
    let guest = Path::new(drivebay_guests::SHELF).join("tester.wasm");
    format!(
        "[host]\nstate = \"{at}/state\"\n[[backend]]\nname = \"b\"\ncomponent = \"{}\"\n\
         csi = \"unix://{at}/csi.sock\"\n[backend.grants]\nhttp = [{{ origin = \"{url}\", ca = \"{ca}\" }}]\n\
         [backend.limits]\ncalls = {}\nhttp-connections = {WAITING}\nhttp-requests = 10000\nlog-rate = \"1GiB\"\nlog-burst = \"1GiB\"\n",
        guest.display(),
        WAITING * 2,
    )
}

/// A running host.
struct Site {
    process: Child,
}

impl Site {
    fn start(work: &Path, server: &Server) -> Result<Self> {
        std::fs::create_dir_all(work)?;
        std::fs::write(work.join("host.toml"), configuration(work, server))?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_drivebay"));
        command.arg("serve").arg("--config").arg(work.join("host.toml")).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { process: command.spawn()? })
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

pub(crate) fn delete(volume: &str) -> v1::DeleteVolumeRequest {
    v1::DeleteVolumeRequest { volume_id: volume.to_owned(), ..Default::default() }
}

/// Tells the guest what to do in this operation on this object.
pub(crate) fn create(operation: &str, object: &str, words: &str) -> v1::CreateVolumeRequest {
    let mode = capability::AccessMode { mode: capability::access_mode::Mode::SingleNodeWriter.into() };
    let mount = capability::AccessType::Mount(capability::MountVolume::default());
    let capability = v1::VolumeCapability { access_mode: Some(mode), access_type: Some(mount) };
    v1::CreateVolumeRequest {
        name: format!("control-{operation}-{object}"),
        volume_capabilities: vec![capability],
        parameters: [(format!("set:act/{operation}/{object}"), words.to_owned())].into(),
        ..Default::default()
    }
}
