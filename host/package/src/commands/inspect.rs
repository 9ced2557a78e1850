//! `drivebay inspect`: what a package says of itself, without fetching its component. Nothing of it is vouched for: that is
//! `verify`.

use std::fmt::Write as _;

use anyhow::Result;
use clap::Parser;
use drivebay_policy::package::Reference;
use serde_json::json;

use crate::artifact::{Manifest, checked, sha256};
use crate::options::RegistryOptions;
use crate::store::Store;

const EXAMPLES: &str = "Example:
  drivebay inspect oci://registry.example/vendor/array:1.2.0 --json";

/// What `inspect` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    registry: RegistryOptions,
    /// Which.
    #[arg(value_name = "oci://REGISTRY/NAME:TAG", value_parser = super::reference)]
    reference: Reference,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Looks; gives what there is to say.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn run(&self) -> Result<String> {
        let from = Store::open(&self.reference, &self.registry.registries()?)?;
        super::run(self.look(&from))
    }

    async fn look(&self, from: &Store) -> Result<String> {
        let bytes = from.manifest(&self.reference).await?;
        let component = checked(&bytes, self.reference.digest.as_deref())?;
        let (manifest, digest) = (Manifest::read(&bytes)?, sha256(&bytes));
        let attached = from.attached(&digest).await?;
        let attached: Vec<_> = attached
            .iter()
            .filter_map(|(bytes, manifest)| {
                Some(json!({ "digest": format!("sha256:{}", sha256(bytes)), "kind": manifest.layers.first()?.media_type }))
            })
            .collect();
        if self.json {
            let all = json!({
                "reference": self.reference.at(&digest).to_string(),
                "component": { "digest": component.digest, "size": component.size },
                "annotations": manifest.annotations,
                "attached": attached,
            });
            return Ok(all.to_string());
        }
        let mut text =
            format!("{}\ncomponent  {}, {} bytes", self.reference.at(&digest), component.digest, component.size);
        for (key, value) in &manifest.annotations {
            // What a stranger wrote goes to a terminal.
            let value: String =
                value.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(2000).collect();
            let _ = write!(text, "\n{key}  {value}");
        }
        for one in &attached {
            let _ = write!(text, "\nattached  {one}");
        }
        Ok(text)
    }
}
