//! `drivebay sign --cosign`: a signature that cosign and this host accept, beside a component or attached to its package.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use drivebay_policy::package::Reference;
use drivebay_signature::{self as signature, BUNDLE, CosignKey, SIGNED};

use super::made::read;
use crate::artifact::{checked, sha256};
use crate::options::RegistryOptions;
use crate::sbom;
use crate::store::Store;

/// Signs by a key of cosign's kind.
#[derive(Debug)]
pub struct Cosign(CosignKey);

impl Cosign {
    /// Reads the key.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Ok(Self(CosignKey::read(&text).with_context(|| path.display().to_string())?))
    }

    /// Writes a bundle beside a component; tells what was done.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn component(&self, file: &Path) -> Result<String> {
        let component = read(file)?;
        let (bundle, path) = (signature::sign_component(&component, &self.0)?, signature::bundle_beside(file));
        std::fs::write(&path, bundle).with_context(|| path.display().to_string())?;
        Ok(format!("{}: sha256:{}", path.display(), sha256(&component)))
    }

    /// Attaches a signature to a package, and its bill of materials as an attestation; tells what was done.
    ///
    /// # Errors
    /// When the package cannot be had, or the registry refuses the signature.
    pub fn package(&self, text: &str, options: &RegistryOptions) -> Result<String> {
        let reference: Reference = text.parse().map_err(|words| anyhow::anyhow!("{words}"))?;
        let store = Store::open(&reference, &options.registries()?)?;
        super::run(self.sign(&store, &reference))
    }

    async fn sign(&self, store: &Store, reference: &Reference) -> Result<String> {
        let manifest = store.manifest(reference).await?;
        checked(&manifest, reference.digest.as_deref())?;
        let digest = sha256(&manifest);
        let mut attested = 0;
        for (_, attached) in store.attached(&digest).await? {
            let Some(layer) = attached.layers.first().filter(|layer| layer.media_type == sbom::CYCLONEDX) else {
                continue;
            };
            let bill = serde_json::from_slice(&store.bytes(layer, 16 << 20).await?)?;
            let bundle = signature::attest(&digest, sbom::PREDICATE, &bill, &self.0)?;
            store.attach_to(&manifest, BUNDLE, bundle.into_bytes(), annotations(sbom::PREDICATE)).await?;
            attested += 1;
        }
        let bundle = signature::sign_manifest(&digest, &self.0)?;
        store.attach_to(&manifest, BUNDLE, bundle.into_bytes(), annotations(SIGNED)).await?;
        let and = if attested > 0 { ", with its bill of materials" } else { "" };
        Ok(format!("signed {}{and}", reference.at(&digest)))
    }
}

/// By which cosign finds its own.
fn annotations(predicate: &str) -> BTreeMap<String, String> {
    [("dev.sigstore.bundle.content", "dsse-envelope"), ("dev.sigstore.bundle.predicateType", predicate)]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}
