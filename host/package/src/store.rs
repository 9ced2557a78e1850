//! Where packages are: a registry or a layout, behind the same few questions. Owns how what vouches for a package is found,
//! and that what is read has the digest that it was asked by.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use drivebay_policy::package::{Reference, Registries};
use drivebay_signature::BUNDLE;
use sha2::{Digest as _, Sha256};

use crate::access;
use crate::artifact::{CompleteManifest, Descriptor, MANIFEST, Manifest, attached, sha256};
use crate::layout::Layout;
use crate::registry::{Access, Registry};

/// What a signature of our own format is attached as.
pub(crate) const OWN: &str = "application/vnd.drivebay.signature.v1";
/// Bytes of the largest blob that is attached to a package.
const LARGEST_ATTACHED: u64 = 16 << 20;
/// Bytes of the largest signature.
const LARGEST_SIGNATURE: u64 = 1 << 20;
/// Attached manifests that are looked at.
const MOST_ATTACHED: usize = 64;

/// A registry or a layout.
pub(crate) enum Store {
    Registry(Registry),
    Layout(Layout),
}

/// What vouches for a package, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct SignatureText {
    pub(crate) own: Option<String>,
    pub(crate) bundles: Vec<String>,
}

impl Store {
    /// The layout that is configured, or the reference's registry.
    ///
    /// # Errors
    /// When a file that was named cannot be used.
    pub(crate) fn open(reference: &Reference, registries: &Registries) -> Result<Self> {
        match &registries.layout {
            Some(layout) => Ok(Self::Layout(Layout::new(layout))),
            None => Self::registry(access::open(reference, registries)?),
        }
    }

    /// A registry.
    ///
    /// # Errors
    /// When an authority cannot be read.
    pub(crate) fn registry(access: Access) -> Result<Self> {
        Ok(Self::Registry(Registry::new(access)?))
    }

    /// The manifest of a reference, with the digest that the reference names, if it names one.
    ///
    /// # Errors
    /// When it is not there, or is another.
    pub(crate) async fn manifest(&self, reference: &Reference) -> Result<Vec<u8>> {
        let manifest = match self {
            Self::Registry(registry) => registry.manifest(reference).await?,
            Self::Layout(layout) => layout.manifest(reference)?,
        };
        match &reference.digest {
            Some(wanted) if sha256(&manifest) != *wanted => {
                bail!("what is there under sha256:{wanted} is sha256:{}", sha256(&manifest))
            }
            _ => Ok(manifest),
        }
    }

    /// Hands a blob over part by part. It has its digest, or this is an error: what was handed over is worth nothing then.
    ///
    /// # Errors
    /// When it is not there, or is another.
    pub(crate) async fn blob(&self, blob: &Descriptor, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut hash = Sha256::new();
        let both = |part: &[u8]| {
            hash.update(part);
            take(part)
        };
        match self {
            Self::Registry(registry) => registry.blob(blob, both).await?,
            Self::Layout(layout) => layout.blob(blob, both)?,
        }
        let found = hex::encode(hash.finalize());
        if found != blob.sha256()? {
            bail!("what is there under {} is sha256:{found}: it was tampered with, or is damaged", blob.digest);
        }
        Ok(())
    }

    /// The whole blob.
    ///
    /// # Errors
    /// As `blob`; and when it is larger than `most`.
    pub(crate) async fn bytes(&self, blob: &Descriptor, most: u64) -> Result<Vec<u8>> {
        if blob.size > most {
            bail!("{} has {} bytes; at most {most} are allowed", blob.digest, blob.size);
        }
        let mut bytes = Vec::new();
        self.blob(blob, |part| {
            bytes.extend_from_slice(part);
            Ok(())
        })
        .await?;
        Ok(bytes)
    }

    /// The signatures of a manifest.
    ///
    /// # Errors
    /// When the store cannot be asked. One that cannot be read is left out: another may count.
    pub(crate) async fn vouching(&self, digest: &str) -> Result<SignatureText> {
        let mut vouching = SignatureText::default();
        for (_, attached) in self.attached(digest).await? {
            let Some(layer) = attached.layers.first().filter(|layer| layer.size <= LARGEST_SIGNATURE) else { continue };
            let kind = layer.media_type.as_str();
            if kind != BUNDLE && kind != OWN {
                continue;
            }
            match self.bytes(layer, LARGEST_SIGNATURE).await.map(String::from_utf8) {
                Ok(Ok(text)) if kind == BUNDLE => vouching.bundles.push(text),
                Ok(Ok(text)) => vouching.own = Some(text),
                Ok(Err(_)) => {}
                Err(error) => tracing::warn!("{error:#}"),
            }
        }
        vouching.bundles.sort();
        Ok(vouching)
    }

    /// The manifests of what is attached to one, as bytes and read.
    ///
    /// # Errors
    /// When the store cannot be asked. Its list is taken for a hint: kinds are read in the manifests.
    pub(crate) async fn attached(&self, digest: &str) -> Result<Vec<(Vec<u8>, Manifest)>> {
        let referrers = match self {
            Self::Registry(registry) => registry.referrers(digest).await?,
            Self::Layout(layout) => layout.referrers(digest)?,
        };
        let subject = format!("sha256:{digest}");
        let mut all = Vec::new();
        for referrer in referrers.iter().take(MOST_ATTACHED) {
            let bytes = self.named(&referrer.sha256()?).await?;
            if let Ok(manifest) = Manifest::read(&bytes)
                && manifest.subject.as_ref().is_some_and(|of| of.digest == subject)
            {
                all.push((bytes, manifest));
            }
        }
        Ok(all)
    }

    async fn named(&self, digest: &str) -> Result<Vec<u8>> {
        let reference = Reference {
            registry: String::new(),
            repository: String::new(),
            tag: None,
            digest: Some(digest.to_owned()),
        };
        self.manifest(&reference).await
    }

    /// All of a manifest, to be written elsewhere.
    ///
    /// # Errors
    /// When a part is not there, or is another.
    pub(crate) async fn whole(&self, manifest: Vec<u8>, most: u64) -> Result<CompleteManifest> {
        let read = Manifest::read(&manifest)?;
        let mut blobs = Vec::new();
        for blob in std::iter::once(&read.config).chain(&read.layers) {
            blobs.push((blob.clone(), self.bytes(blob, most).await?));
        }
        Ok(CompleteManifest { manifest, blobs })
    }

    /// Everything that is attached to a manifest, to be written elsewhere.
    ///
    /// # Errors
    /// As `whole`.
    pub(crate) async fn attachments(&self, digest: &str) -> Result<Vec<CompleteManifest>> {
        let mut all = Vec::new();
        for (manifest, _) in self.attached(digest).await? {
            all.push(self.whole(manifest, LARGEST_ATTACHED).await?);
        }
        Ok(all)
    }

    /// Writes a package.
    ///
    /// # Errors
    /// When the store refuses it.
    pub(crate) async fn push(&self, whole: &CompleteManifest, reference: &Reference) -> Result<()> {
        match self {
            Self::Registry(registry) => registry.push(whole, reference.tag.as_deref()).await,
            Self::Layout(layout) => layout.push(whole, Some(reference)),
        }
    }

    /// Writes what is attached to a manifest.
    ///
    /// # Errors
    /// When the store refuses it.
    pub(crate) async fn attach(&self, whole: &CompleteManifest, subject: &str) -> Result<()> {
        match self {
            Self::Registry(registry) => registry.attach(whole, subject).await,
            Self::Layout(layout) => layout.attach(whole),
        }
    }

    /// Attaches one blob to a manifest.
    ///
    /// # Errors
    /// When the store refuses it.
    pub(crate) async fn attach_to(
        &self,
        manifest: &[u8],
        kind: &str,
        bytes: Vec<u8>,
        annotations: BTreeMap<String, String>,
    ) -> Result<()> {
        let whole = attached(Descriptor::of(MANIFEST, manifest), kind, bytes, annotations)?;
        self.attach(&whole, &sha256(manifest)).await.with_context(|| format!("attaching {kind}"))
    }
}
