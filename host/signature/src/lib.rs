//! Signatures of components: which forms there are, where they lie beside a component, and whether one of the keys that
//! count made one of them. Reads and writes no files, and knows no registry; which keys count, the configuration says.

mod cosign;
mod manifest;
mod own;
mod pem;

use std::path::{Path, PathBuf};

pub use cosign::{
    BUNDLE, CosignKey, Envelope, SIGNED, attest, bundles, generate as generate_cosign, hint, sign_component,
    sign_manifest,
};
pub use manifest::{WASM, component_of};
pub use own::{Claim, generate, sign, verify};

use cosign::Subject;

/// Why a signature does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The file is not of the format.
    #[error("it is no signature: {0}")]
    Format(String),
    /// It is another component's.
    #[error("it is for the component sha256:{0}")]
    Other(String),
    /// None of the keys made it.
    #[error("none of the configured signers made it")]
    Signer,
    /// A key cannot be read.
    #[error("the key {0}")]
    Key(String),
}

/// What lies beside a component and may vouch for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// A signature of our own format.
    pub own: Option<String>,
    /// Bundles of cosign, one after the other.
    pub bundles: Option<String>,
    /// The manifest that the component came with: cosign signs that, and it names the component by its digest.
    pub manifest: Option<Vec<u8>>,
}

impl Evidence {
    /// Whether there is no signature at all.
    pub const fn is_empty(&self) -> bool {
        self.own.is_none() && self.bundles.is_none()
    }
}

/// Checks what vouches for a component: one signature by one of the keys is enough. Gives the claim of a signature of our
/// own format, whose name and version are still to be compared with what the component says.
///
/// # Errors
/// Why none counts, in the words of the last form that there is.
pub fn judge(
    evidence: &Evidence,
    component: &[u8],
    digest: &str,
    signers: &[String],
) -> Result<Option<Claim>, SignatureError> {
    let (keys, own): (Vec<&String>, Vec<&String>) = signers.iter().partition(|text| pem::is_pem(text));
    let mut why = SignatureError::Signer;
    if let Some(text) = &evidence.own {
        let own: Vec<String> = own.into_iter().cloned().collect();
        match own::verify(text, digest, &own) {
            Ok(claim) => return Ok(Some(claim)),
            Err(error) => why = error,
        }
    }
    if let Some(text) = &evidence.bundles {
        let keys = keys.into_iter().map(|text| cosign::PublicKey::read(text)).collect::<Result<Vec<_>, _>>()?;
        let subject = Subject { component, digest, manifest: evidence.manifest.as_deref() };
        match cosign::verify(text, &subject, &keys) {
            Ok(()) => return Ok(None),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// Where a component's signature of our own format lies.
pub fn beside(component: &Path) -> PathBuf {
    with(component, ".sig")
}

/// Where a component's bundles lie, as `cosign sign-blob --bundle` is told to write them by convention.
pub fn bundle_beside(component: &Path) -> PathBuf {
    with(component, ".sigstore.json")
}

/// Where the manifest lies that a component came with.
pub fn manifest_beside(component: &Path) -> PathBuf {
    with(component, ".manifest.json")
}

fn with(component: &Path, ending: &str) -> PathBuf {
    let mut name = component.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests;
