//! `drivebay verify`: whether one of the keys vouches for a component or a package, as `serve` would say with these
//! `signers`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use drivebay_policy::package::{Reference, SCHEME};
use drivebay_signature::{self as signature, Evidence};

use super::made::read;
use crate::artifact::{checked, sha256};
use crate::options::RegistryOptions;
use crate::store::Store;

const EXAMPLES: &str =
    "A signature is one of this project's format (FILE.wasm.sig), or a bundle of cosign (FILE.wasm.sigstore.json, or
attached to the package).

Examples:
  drivebay verify backend.wasm --key vendor.pub
  drivebay verify oci://registry.example/vendor/array:1.2.0 --key cosign.pub";

/// What `verify` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    registry: RegistryOptions,
    /// A component's file, or a package.
    #[arg(value_name = "FILE.wasm|oci://REGISTRY/NAME:TAG")]
    subject: String,
    /// A public key of which one must have signed: NAME.pub, or cosign's; may be given many times.
    #[arg(short, long, value_name = "FILE", required = true)]
    key: Vec<PathBuf>,
}

impl Args {
    /// Verifies; tells what was found.
    ///
    /// # Errors
    /// When nobody vouches for it.
    pub fn run(&self) -> Result<String> {
        let keys =
            self.key.iter().map(|path| std::fs::read_to_string(path).with_context(|| path.display().to_string()));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let (component, evidence) = if self.subject.starts_with(SCHEME) {
            let reference: Reference = self.subject.parse().map_err(|words| anyhow::anyhow!("{words}"))?;
            let store = Store::open(&reference, &self.registry.registries()?)?;
            super::run(of_package(&store, &reference))?
        } else {
            of_file(Path::new(&self.subject))?
        };
        if evidence.is_empty() {
            bail!("{}: there is no signature", self.subject);
        }
        let digest = sha256(&component);
        let claim = signature::judge(&evidence, &component, &digest, &keys).with_context(|| self.subject.clone())?;
        let claim = claim.map(|claim| format!(", for {} {}", claim.name, claim.version)).unwrap_or_default();
        Ok(format!("{}: signed by one of these keys{claim}; sha256:{digest}", self.subject))
    }
}

fn of_file(path: &Path) -> Result<(Vec<u8>, Evidence)> {
    let there = |path: PathBuf| match std::fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    };
    let text = |path| Ok::<_, anyhow::Error>(there(path)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
    let evidence = Evidence {
        own: text(signature::beside(path))?,
        bundles: text(signature::bundle_beside(path))?,
        manifest: there(signature::manifest_beside(path))?,
    };
    Ok((read(path)?, evidence))
}

async fn of_package(store: &Store, reference: &Reference) -> Result<(Vec<u8>, Evidence)> {
    let manifest = store.manifest(reference).await?;
    let layer = checked(&manifest, reference.digest.as_deref())?;
    let vouching = store.vouching(&sha256(&manifest)).await?;
    let component = store.bytes(&layer, super::LARGEST).await?;
    let bundles = (!vouching.bundles.is_empty()).then(|| vouching.bundles.join("\n"));
    Ok((component, Evidence { own: vouching.own, bundles, manifest: Some(manifest) }))
}
