//! `drivebay push`: a component, or what is in a layout, into a registry.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use clap::Parser;
use drivebay_policy::package::{Reference, Registries};

use super::made::Made;
use crate::artifact::{checked, sha256};
use crate::layout::Layout;
use crate::options::RegistryOptions;
use crate::store::Store;

const EXAMPLES: &str = "Examples:
  drivebay push backend.wasm oci://registry.example/vendor/array:1.2.0 --licenses Apache-2.0
  drivebay push --layout packages oci://registry.example/vendor/array:1.2.0      with all that is attached to it there";

/// What `push` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    registry: RegistryOptions,
    #[command(flatten)]
    made: Made,
    /// The component, unless it is in a layout; and where to.
    #[arg(value_names = ["FILE.wasm", "oci://REGISTRY/NAME:TAG"], num_args = 1..=2, required = true)]
    what: Vec<String>,
}

impl Args {
    /// Writes it; tells what was done.
    ///
    /// # Errors
    /// When there is nothing to push, or the registry refuses it.
    pub fn run(&self, program: &Path) -> Result<String> {
        let registries = self.registry.registries()?;
        let (file, reference) = match (self.what.as_slice(), &registries.layout) {
            ([to], Some(_)) => (None, to),
            ([file, to], None) => (Some(Path::new(file)), to),
            ([_], None) => bail!("give a component before the reference, or --layout"),
            _ => bail!("give a component or --layout, not both"),
        };
        let reference: Reference = reference.parse().map_err(|words| anyhow!("{words}"))?;
        let layout = registries.layout.clone();
        let to = Store::open(&reference, &Registries { layout: None, ..registries })?;
        if let Some(layout) = layout {
            return super::run(copy(&Store::Layout(Layout::new(&layout)), &to, &reference));
        }
        let packed = self.made.pack(program, file.unwrap_or(Path::new("")))?;
        super::run(packed.push(&to, &reference))?;
        Ok(format!("{reference}@sha256:{}\n{}", packed.whole.digest(), packed.said))
    }
}

/// A package with everything that is attached to it, from one store to another.
///
/// # Errors
/// When a part cannot be had, or is refused.
pub(super) async fn copy(from: &Store, to: &Store, reference: &Reference) -> Result<String> {
    let manifest = from.manifest(reference).await?;
    checked(&manifest, reference.digest.as_deref())?;
    let digest = sha256(&manifest);
    let whole = from.whole(manifest, super::LARGEST).await?;
    let attached = from.attachments(&digest).await?;
    to.push(&whole, reference).await?;
    for attached in &attached {
        to.attach(attached, &digest).await?;
    }
    let name = Reference { digest: Some(digest), ..reference.clone() };
    Ok(format!("{name}, with {} attached", attached.len()))
}
