//! How packages are fetched, on a command line: the same words for every command. What they mean is `policy`'s.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use drivebay_policy::Problems;
use drivebay_policy::package::Registries;

/// The options.
#[derive(Debug, Clone, Default, Args)]
pub struct RegistryOptions {
    /// File with credentials for registries, instead of where `docker login` and `podman login` write them.
    #[arg(long, value_name = "FILE")]
    registry_credentials: Option<PathBuf>,
    /// An authority that is trusted beside the system's, in PEM; may be given many times.
    #[arg(long, value_name = "FILE")]
    registry_ca: Vec<PathBuf>,
    /// Where the packages of a registry are fetched instead; may be given many times.
    #[arg(long, value_name = "REGISTRY=HOST[/PATH]")]
    registry_mirror: Vec<String>,
    /// A registry without TLS; may be given many times.
    #[arg(long, value_name = "HOST[:PORT]")]
    plain_http: Vec<String>,
    /// An OCI image layout, instead of any registry.
    #[arg(long, value_name = "DIR")]
    layout: Option<PathBuf>,
}

impl RegistryOptions {
    /// As a configuration has them; notes what is wrong.
    pub fn read(&self, problems: &mut Problems) -> Registries {
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let mut mirrors = std::collections::BTreeMap::new();
        for text in &self.registry_mirror {
            match text.split_once('=') {
                Some((registry, mirror)) => drop(mirrors.insert(registry.to_owned(), mirror.to_owned())),
                None => problems.add(format!("--registry-mirror: \"{text}\" is not REGISTRY=HOST")),
            }
        }
        let registries = Registries {
            credentials: self.registry_credentials.as_ref().map(absolute),
            ca: self.registry_ca.iter().map(absolute).collect(),
            mirrors,
            plain_http: self.plain_http.clone(),
            layout: self.layout.as_ref().map(absolute),
        };
        registries.judge("--", problems);
        registries
    }

    /// For a command that does nothing else.
    ///
    /// # Errors
    /// All that is wrong.
    pub(crate) fn registries(&self) -> Result<Registries> {
        let mut problems = Problems::default();
        let registries = self.read(&mut problems);
        match problems.into_result("command line", registries) {
            Ok(registries) => Ok(registries),
            Err(error) => bail!("{error}"),
        }
    }
}
