//! Following the configuration: read again when its file comes to rest as something else, or when told to.
//! Owns when, and what is said about mistakes; what follows is the host's `configure`.

use std::path::PathBuf;
use std::pin::Pin;

use tokio::sync::mpsc;

use super::Host;
use crate::admin::Backends as _;
use drivebay_backend::lifecycle::{Force, Rollout};
use drivebay_backend::watch::Watch;
use drivebay_backend::{Command, Wait};
use drivebay_policy::{Config, HostConfig};

/// Where a host's configuration comes from.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a host has one")]
pub enum Source {
    /// The command line: only components can change.
    Arguments,
    /// A file, as it was read at the start.
    File(PathBuf, HostConfig),
}

/// Follows until it is dropped.
pub(super) async fn follow<A>(host: &Host, source: Source, mut again: A)
where
    A: FnMut() -> Pin<Box<dyn Future<Output = ()> + Send>>,
{
    let (tell, mut at_rest) = mpsc::unbounded_channel();
    let _watch = match &source {
        Source::Arguments => None,
        Source::File(path, _) => {
            // Nobody hears it only when the host shuts down.
            let tell = move |_digest| tell.send(()).unwrap_or_default();
            Some(Watch::start(path, tell))
        }
    };
    loop {
        let told = tokio::select! {
            () = again() => true,
            Some(()) = at_rest.recv() => false,
        };
        host.registry.mounts().renew().await;
        if let Source::File(path, started) = &source {
            read(host, path.clone(), started).await;
        }
        if told {
            tracing::info!("told to look at everything again");
            reload_all(host).await;
        }
    }
}

async fn reload_all(host: &Host) {
    for running in host.registry.running() {
        // What becomes of it is in the log.
        let _ = host.registry.packages().look(&running.backend.name).await;
        let command =
            Command::Reload { component: None, force: Force::No, manner: Rollout::default(), wait: Wait::Nothing };
        // The driver logs what becomes of it.
        let _ = running.control.ask(command).await;
    }
}

async fn read(host: &Host, path: PathBuf, started: &HostConfig) {
    let Ok(read) = tokio::task::spawn_blocking(move || Config::read(&path)).await else { return };
    let config = match read {
        Ok(config) => config,
        Err(error) => {
            tracing::error!(%error, "the configuration has mistakes; everything stays as it is");
            return;
        }
    };
    if config.host != *started {
        tracing::warn!("what stands in [host] is read at the start only; restart to change it");
    }
    if let Err(error) = host.configure(config).await {
        tracing::error!(%error, "the configuration was not taken over as a whole");
    }
}
