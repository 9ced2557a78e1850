//! `drivebay serve`: a host from a configuration file or from the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use super::grant_options::GrantOptions;
use super::{Exit, say};
use crate::host::{DrainTimeout, Host, Source};
use drivebay_confine as confine;
use drivebay_package::RegistryOptions;
use drivebay_policy::limits::Limits;
use drivebay_policy::{
    BackendConfig, BackgroundConfig, ComponentSource, Config, ConfigError, DEFAULT_STATE, DRAIN, HostConfig,
    InstancePolicy, Problems, SOCKET_MODE, Sockets, TRIAL, component, overlaps, package, targets, units,
};

const EXAMPLES: &str = "Examples:
  drivebay serve --config /etc/drivebay.toml
  drivebay serve local --csi unix:///run/csi.sock --directory /srv/pool:/pool --node --node-id worker-1
  drivebay serve ./backend.wasm --csi unix:///tmp/csi.sock --set endpoint=https://array:8443 \\
      --http https://array:8443,address=10.20.0.0/16,login=/api/login,ca=array-ca.pem";

/// How long threads are waited for that still work when all else has ended.
const AT_THE_END: Duration = Duration::from_secs(1);

/// What `serve` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The backend: a .wasm file, `local` for the built-in one, or a package: `oci://REGISTRY/NAME:TAG@sha256:DIGEST`.
    #[arg(required_unless_present = "config", conflicts_with = "config")]
    backend: Option<String>,
    /// A configuration file with any number of backends.
    #[arg(long)]
    config: Option<PathBuf>,
    /// The CSI socket.
    #[arg(long, env = "CSI_ENDPOINT", value_name = "unix:///PATH")]
    csi: Option<String>,
    /// The csi-addons socket.
    #[arg(long, value_name = "unix:///PATH")]
    addons: Option<String>,
    /// The name of this node.
    #[arg(long)]
    node_id: Option<String>,
    /// The directory for state, ledger and compiled code.
    #[arg(long, default_value = DEFAULT_STATE)]
    state: PathBuf,
    /// A setting of the backend; may be given many times.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    grants: GrantOptions,
    /// How often the tag of a package is looked up again.
    #[arg(long, value_name = "TIME")]
    refresh: Option<String>,
    #[command(flatten)]
    registry: RegistryOptions,
    /// A directory below which volumes may be mounted, instead of kubelet's; may be given many times.
    #[arg(long, value_name = "DIR")]
    targets: Vec<PathBuf>,
    /// Permission bits of the sockets, in octal.
    #[arg(long, value_name = "MODE", default_value = "0600")]
    socket_mode: String,
    /// The admin socket.
    #[arg(long, value_name = "PATH")]
    admin: Option<String>,
}

/// Serves until told to stop.
pub(crate) fn run(args: &Args, local: &'static [u8]) -> Exit {
    let config = match &args.config {
        Some(path) => Config::read(path),
        None => from_args(args),
    };
    match config {
        Ok(config) => {
            let source = match &args.config {
                Some(path) => Source::File(config.file.clone().unwrap_or_else(|| path.clone()), config.host.clone()),
                None => Source::Arguments,
            };
            serve(config, local, source)
        }
        Err(error) => {
            say(&error.to_string());
            Exit::Usage
        }
    }
}

fn serve(config: Config, local: &'static [u8], source: Source) -> Exit {
    // Before there are other processes, which take the limit over.
    confine::raise();
    // For them and all threads, too. Refused, calls wait a little longer beside others that compute.
    drop(confine::short_slices());
    let prepared = match Host::prepare(&config, local) {
        Ok(prepared) => prepared,
        Err(error) => {
            say(&format!("{error:#}"));
            return Exit::Failed;
        }
    };
    let served = super::runtime().map_err(anyhow::Error::from).and_then(|runtime| {
        let served = runtime.block_on(async {
            let mut stop = std::pin::pin!(super::asked_to_stop());
            let again = super::told_to_reread();
            match Host::start_unless(&mut stop, config, prepared).await? {
                Some(host) => host.serve_following(source, again, stop).await,
                None => Ok(()),
            }
        });
        match &served {
            // They go with the process: the threads that they are on would panic without the runtime.
            Err(error) if error.is::<DrainTimeout>() => std::mem::forget(runtime),
            // A thread that hangs in a system call must not keep the process.
            _ => runtime.shutdown_timeout(AT_THE_END),
        }
        served
    });
    match served {
        Ok(()) => Exit::Done,
        Err(error) => {
            say(&format!("{error:#}"));
            Exit::Failed
        }
    }
}

/// The configuration that the arguments describe.
fn from_args(args: &Args) -> Result<Config, ConfigError> {
    let mut problems = Problems::default();
    let csi = args.csi.as_deref().and_then(|text| problems.take("--csi", units::socket(text)));
    if args.csi.is_none() {
        problems.add("no socket: give --csi unix:///PATH, or set CSI_ENDPOINT");
    }
    let mode = u32::from_str_radix(&args.socket_mode, 8).ok().filter(|mode| *mode <= 0o777);
    let mode = problems.take("--socket-mode", mode.ok_or("write permission bits in octal, for example 0660"));
    let state = std::path::absolute(&args.state).unwrap_or_else(|_| args.state.clone());
    let (name, text) = ("backend", args.backend.as_deref().unwrap_or_default());
    let package = package::package(text, args.refresh.as_deref(), "--", &mut problems);
    let backend = BackendConfig {
        name: name.to_owned(),
        component: match &package {
            Some(_) => ComponentSource::File(package::package_file(&state, name)),
            None => component(text),
        },
        package,
        sockets: Sockets {
            csi,
            addons: args.addons.as_deref().and_then(|text| problems.take("--addons", units::socket(text))),
            mode: mode.unwrap_or(SOCKET_MODE),
            ..Sockets::default()
        },
        node_id: args.node_id.clone(),
        settings: args.set.iter().filter_map(|text| problems.take("--set", setting(text))).collect(),
        alpha: true,
        legacy_condition: false,
        digest: None,
        signers: Vec::new(),
        grants: args.grants.granted(&mut problems),
        limits: Limits::default(),
        instances: InstancePolicy::Fresh,
        drain: DRAIN,
        trial: TRIAL,
        background: BackgroundConfig::default(),
    };
    let host = HostConfig {
        state,
        packages: args.registry.read(&mut problems),
        admin: args.admin.as_deref().and_then(|text| problems.take("--admin", units::socket(text))),
        http: None,
        targets: targets((!args.targets.is_empty()).then(|| args.targets.clone()), "--targets", &mut problems),
    };
    let backends = vec![backend];
    overlaps(&host.state, &backends, &mut problems);
    problems.into_result("command line", Config { host, backends, file: None })
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("\"{text}\" is not KEY=VALUE"))?;
    Ok((key.to_owned(), value.to_owned()))
}
