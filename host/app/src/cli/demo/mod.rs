//! `drivebay demo`: the built-in backend on a directory, at two sites, and a client of its own that
//! walks through a volume's life and its failover over the sockets. It configures and drives a host
//! like any other; nothing in the host knows of it, so what it shows is what a driver does.

mod node;
mod steps;
#[cfg(test)]
mod tests;
mod walk;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Parser;
use tokio_util::sync::CancellationToken;

use super::{Exit, asked_to_stop, print, say};
use crate::host::Host;
use drivebay_policy::grants;
use drivebay_policy::limits::Limits;
use drivebay_policy::{
    BackendConfig, BackgroundConfig, ComponentSource, Config, DRAIN, DirectoryGrant, Grants, HostConfig,
    InstancePolicy, SOCKET_MODE, Sockets, TRIAL, package, units,
};
use node::NodeWork;
use walk::Walk;

const EXAMPLES: &str =
    "The demo runs two sites with a link directory between them; the second uses DIR/b/csi.sock and \
DIR/b/addons.sock. Run as root, it also mounts the volumes. The data stay in DIR, and the next demo there continues \
with them.

Examples:
  drivebay demo
  sudo drivebay demo --dir /tmp/demo --once
  drivebay demo --no-walk";

/// What `demo` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The directory for sockets and data; created if it is missing.
    #[arg(long, value_name = "DIR", default_value = "./drivebay-demo")]
    dir: PathBuf,
    /// Exit after the walk; the exit status is 0 if every step succeeded.
    #[arg(long, conflicts_with = "no_walk")]
    once: bool,
    /// Serve only.
    #[arg(long)]
    no_walk: bool,
}

/// Where everything is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    first: Site,
    second: Site,
    state: PathBuf,
    /// Where the host listens for operators.
    admin: PathBuf,
    /// Another build of the backend, to swap to.
    next: PathBuf,
    /// What both sites see.
    link: PathBuf,
}

/// Where everything of one site is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Site {
    /// What its backend is called.
    name: &'static str,
    /// The node that this machine plays there.
    node_id: &'static str,
    csi: PathBuf,
    addons: PathBuf,
    pool: PathBuf,
    /// Where volumes are staged and published.
    mounts: PathBuf,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walked {
    Well,
    Badly,
    /// The person at the terminal had enough.
    Stopped,
}

/// Runs the demo.
pub(crate) fn run(args: &Args, local: &'static [u8]) -> Exit {
    let place = match Place::below(&args.dir) {
        Ok(place) => place,
        Err(error) => {
            say(&format!("{error:#}"));
            return Exit::Usage;
        }
    };
    match demonstrate(args, local, &place) {
        Ok(exit) => exit,
        Err(error) => {
            say(&format!("{error:#}"));
            Exit::Failed
        }
    }
}

fn demonstrate(args: &Args, local: &'static [u8], place: &Place) -> Result<Exit> {
    let work = NodeWork::here();
    place.make(local)?;
    let config = config(place, work);
    // Before the runtime: rights are given up while there are no threads. The walk plays the node, with its files.
    let prepared = Host::prepare_among_files(&config, local)?;
    super::runtime()?.block_on(async {
        let Some(host) = Host::start_unless(asked_to_stop(), config, prepared).await? else {
            return Ok(if args.once { Exit::Failed } else { Exit::Done });
        };
        let walked = if args.no_walk { Walked::Well } else { walk(place, work).await };
        if walked == Walked::Stopped || args.once {
            host.stop().await?;
            // A single walk says that it has ended.
            let done = walked == Walked::Well || (walked == Walked::Stopped && !args.once);
            return Ok(if done { Exit::Done } else { Exit::Failed });
        }
        print(&invitation(place));
        host.serve_until(asked_to_stop()).await?;
        Ok(Exit::Done)
    })
}

/// Walks to the end; when told to stop before, what the walk has made is still taken away.
async fn walk(place: &Place, work: NodeWork) -> Walked {
    let stop = CancellationToken::new();
    let walking = Walk::go(place, work, stop.clone());
    tokio::pin!(walking);
    let ended = tokio::select! {
        ended = &mut walking => ended,
        () = asked_to_stop() => {
            stop.cancel();
            walking.await
        }
    };
    match ended {
        Ok(()) => Walked::Well,
        Err(steps::Halt::Stopped) => Walked::Stopped,
        Err(steps::Halt::Failed) => Walked::Badly,
    }
}

impl Place {
    /// # Errors
    /// When the path is too long for sockets.
    fn below(directory: &Path) -> Result<Self> {
        let directory = std::path::absolute(directory).context("--dir is no path")?;
        let socket = |name: &str| {
            units::socket(&directory.join(name).to_string_lossy()).map_err(|words| anyhow::anyhow!("--dir: {words}"))
        };
        let first = Site {
            name: "local",
            node_id: "demo-a",
            csi: socket("csi.sock")?,
            addons: socket("addons.sock")?,
            pool: directory.join("data/pool"),
            mounts: directory.join("mounts"),
        };
        let second = Site {
            name: "local-b",
            node_id: "demo-b",
            csi: socket("b/csi.sock")?,
            addons: socket("b/addons.sock")?,
            pool: directory.join("data/b/pool"),
            mounts: directory.join("b/mounts"),
        };
        let (state, link) = (directory.join("data/state"), directory.join("data/link"));
        Ok(Self { first, second, state, admin: socket("admin.sock")?, next: directory.join("data/next.wasm"), link })
    }

    /// Makes the directories that must be there before a host starts.
    ///
    /// # Errors
    /// When one cannot be made.
    fn make(&self, local: &[u8]) -> Result<()> {
        let sockets = [&self.first.csi, &self.second.csi].map(|socket| socket.parent().unwrap_or(Path::new("/")));
        let pools = [&self.first.pool, &self.second.pool].map(PathBuf::as_path);
        for path in sockets.into_iter().chain(pools).chain([self.link.as_path()]) {
            std::fs::create_dir_all(path)
                .with_context(|| format!("{} cannot be made; choose another place with --dir", path.display()))?;
        }
        std::fs::write(&self.next, another_build(local)).with_context(|| self.next.display().to_string())
    }
}

/// The same component with another digest: a custom section is added, which means nothing.
fn another_build(component: &[u8]) -> Vec<u8> {
    const CUSTOM: u8 = 0;
    const NAME: &[u8; 4] = b"demo";
    const LENGTH: u8 = 5;
    let section = [&[CUSTOM, LENGTH, LENGTH - 1][..], NAME].concat();
    [component, &section].concat()
}

fn config(place: &Place, work: NodeWork) -> Config {
    let targets = vec![place.first.mounts.clone(), place.second.mounts.clone()];
    let host = HostConfig {
        state: place.state.clone(),
        admin: Some(place.admin.clone()),
        http: None,
        targets,
        packages: package::Registries::default(),
    };
    let backends = [&place.first, &place.second].map(|site| backend(site, &place.link, work));
    Config { host, backends: backends.into(), file: None }
}

fn backend(site: &Site, link: &Path, work: NodeWork) -> BackendConfig {
    let writable =
        |host: &Path, guest: &str| DirectoryGrant { host: host.to_owned(), guest: guest.to_owned(), write: true };
    BackendConfig {
        name: site.name.to_owned(),
        component: ComponentSource::Local,
        package: None,
        sockets: Sockets {
            csi: Some(site.csi.clone()),
            addons: Some(site.addons.clone()),
            mode: SOCKET_MODE,
            ..Sockets::default()
        },
        node_id: Some(site.node_id.to_owned()),
        settings: vec![("link".to_owned(), "/link".to_owned())],
        alpha: true,
        legacy_condition: false,
        digest: None,
        signers: Vec::new(),
        grants: Grants {
            directories: vec![writable(&site.pool, "/pool"), writable(link, "/link")],
            node: grants::node::NodeWork { is_granted: work.mounts(), ..Default::default() },
            ..Grants::default()
        },
        limits: Limits::default(),
        instances: InstancePolicy::Fresh,
        drain: DRAIN,
        trial: TRIAL,
        background: BackgroundConfig::default(),
    }
}

/// What a person can do now.
fn invitation(place: &Place) -> String {
    let (csi, addons) = (place.first.csi.display(), place.first.addons.display());
    let (csi_b, addons_b) = (place.second.csi.display(), place.second.addons.display());
    let (admin, next, name) = (place.admin.display(), place.next.display(), place.first.name);
    format!(
        "
Serving on unix://{csi} and unix://{addons} until Ctrl-C,
the second site on unix://{csi_b} and unix://{addons_b}. In another terminal, try

to call it:
  drivebay call --socket {csi} Identity/GetPluginInfo
  drivebay call --socket {csi} Controller/CreateVolume '{{\"name\": \"mine\", \"capacity_range\": \
{{\"required_bytes\": 67108864}}, \"volume_capabilities\": [{{\"mount\": {{\"fs_type\": \"ext4\"}}, \
\"access_mode\": {{\"mode\": \"SINGLE_NODE_WRITER\"}}}}]}}'
  drivebay call --socket {csi} Controller/ListVolumes
  drivebay call --socket {addons} identity.Identity/GetCapabilities
  drivebay call --socket {addons} replication.Controller/EnableVolumeReplication '{{\"volume_id\": \"ID\"}}'
  drivebay call --socket {csi_b} Controller/ListVolumes

to operate it:
  export DRIVEBAY_ADMIN={admin}
  drivebay status
  drivebay history {name}
  drivebay reload {name} --component {next} --wait
  drivebay rollback {name}

to judge it, and to serve a backend of your own:
  drivebay conform --csi unix://{csi} --addons unix://{addons}
  drivebay config > drivebay.toml"
    )
}
