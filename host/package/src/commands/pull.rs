//! `drivebay pull`: a package out of a registry: its component as a file with what vouches for it beside it, or all of it
//! into a layout.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use drivebay_policy::package::Reference;
use drivebay_signature as signature;

use crate::artifact::{TITLE, checked, sha256};
use crate::layout::Layout;
use crate::options::RegistryOptions;
use crate::store::Store;

const EXAMPLES: &str = "Signatures and the manifest are written beside the component, where `serve` looks for them.

Examples:
  drivebay pull oci://registry.example/vendor/array:1.2.0 -o array.wasm
  drivebay pull oci://registry.example/vendor/array:1.2.0 --into packages      for machines without a network";

/// What `pull` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    registry: RegistryOptions,
    /// Which.
    #[arg(value_name = "oci://REGISTRY/NAME:TAG", value_parser = super::reference)]
    reference: Reference,
    /// The component's file. Unless given: the name that the package has for it, here.
    #[arg(short, long, value_name = "FILE.wasm", conflicts_with = "into")]
    output: Option<PathBuf>,
    /// A layout that all of it is added to, with everything that is attached to it.
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

impl Args {
    /// Fetches it; tells what was done.
    ///
    /// # Errors
    /// When it cannot be had, or is not what it should be.
    pub fn run(&self) -> Result<String> {
        let from = Store::open(&self.reference, &self.registry.registries()?)?;
        match &self.into {
            Some(layout) => super::run(super::push::copy(&from, &Store::Layout(Layout::new(layout)), &self.reference)),
            None => super::run(self.component(&from)),
        }
    }

    async fn component(&self, from: &Store) -> Result<String> {
        let manifest = from.manifest(&self.reference).await?;
        let layer = checked(&manifest, self.reference.digest.as_deref())?;
        if layer.size > super::LARGEST {
            bail!("its component has {} bytes; no host would load it", layer.size);
        }
        let digest = sha256(&manifest);
        let vouching = from.vouching(&digest).await?;
        let path = match (&self.output, layer.annotations.get(TITLE)) {
            (Some(path), _) => path.clone(),
            // The name is a stranger's.
            (None, Some(title)) => {
                PathBuf::from(Path::new(title).file_name().context("the package has no name for it; use -o")?)
            }
            (None, None) => bail!("the package has no name for it; use -o"),
        };
        let mut part = path.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let fetched = async {
            let mut file = File::create(&part).with_context(|| part.display().to_string())?;
            from.blob(&layer, |bytes| file.write_all(bytes).with_context(|| part.display().to_string())).await?;
            std::fs::rename(&part, &path).with_context(|| path.display().to_string())
        };
        fetched.await.inspect_err(|_: &anyhow::Error| drop(std::fs::remove_file(&part)))?;
        let mut beside = vec![(signature::manifest_beside(&path), manifest)];
        beside.extend(vouching.own.map(|own| (signature::beside(&path), own.into_bytes())));
        if !vouching.bundles.is_empty() {
            beside.push((signature::bundle_beside(&path), vouching.bundles.join("\n").into_bytes()));
        }
        for (path, bytes) in beside {
            std::fs::write(&path, bytes).with_context(|| path.display().to_string())?;
        }
        let name = Reference { digest: Some(digest), ..self.reference.clone() };
        Ok(format!("{}: {} from {name}", path.display(), layer.digest))
    }
}
