//! A package as registries hold it: an OCI image manifest with a configuration and one layer, the component, as the CNCF's
//! guidance for WebAssembly describes them; and what is attached to one. Pure: bytes in, bytes out.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use drivebay_signature::{WASM, component_of};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// An image's manifest.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// A list of manifests.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The configuration of a package of WebAssembly.
const CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// The configuration of what has none.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// Its bytes.
const NOTHING: &[u8] = b"{}";
/// Where a layer's file name stands.
pub(crate) const TITLE: &str = "org.opencontainers.image.title";
/// Bytes of the largest manifest that registries take.
pub(crate) const LARGEST_MANIFEST: u64 = 4 << 20;

/// Names a blob or a manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    pub(crate) media_type: String,
    /// `sha256:` and hexadecimal digits.
    pub(crate) digest: String,
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Descriptor {
    /// Of these bytes.
    pub(crate) fn of(media_type: &str, bytes: &[u8]) -> Self {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Self { media_type: media_type.to_owned(), digest: format!("sha256:{}", sha256(bytes)), size, ..Self::default() }
    }

    /// The digits of its digest.
    ///
    /// # Errors
    /// When it is of another algorithm, or none.
    pub(crate) fn sha256(&self) -> Result<String> {
        drivebay_policy::units::digest(&self.digest)
            .map_err(|words| anyhow::anyhow!("the digest \"{}\": {words}", self.digest))
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// A manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    schema_version: u32,
    #[serde(default)]
    pub(crate) media_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<String>,
    pub(crate) config: Descriptor,
    pub(crate) layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Manifest {
    /// Reads one.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes).context("it is no manifest of an image")
    }

    /// The layer that is the component.
    ///
    /// # Errors
    /// When there is none, or several.
    pub(crate) fn component(&self) -> Result<&Descriptor> {
        let mut layers = self.layers.iter().filter(|layer| WASM.contains(&layer.media_type.as_str()));
        match (layers.next(), layers.next()) {
            (Some(component), None) => Ok(component),
            (None, _) => {
                let kinds: Vec<_> = self.layers.iter().map(|layer| layer.media_type.as_str()).collect();
                bail!("it is no package of WebAssembly: its layers are {}", kinds.join(", "))
            }
            (Some(_), Some(_)) => bail!("it has several components; this program knows packages with one"),
        }
    }
}

/// An index of manifests: what refers to another, or what lies in a layout.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Index {
    schema_version: u32,
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    pub(crate) manifests: Vec<Descriptor>,
}

impl Index {
    /// With nothing in it.
    pub(crate) fn new() -> Self {
        Self { schema_version: 2, media_type: INDEX.to_owned(), manifests: Vec::new() }
    }

    /// Reads one.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes).context("it is no index of an image")
    }

    /// Adds a manifest, unless it is there.
    pub(crate) fn add(&mut self, manifest: Descriptor) {
        if !self.manifests.iter().any(|there| there.digest == manifest.digest) {
            self.manifests.push(manifest);
        }
    }
}

/// What is known of a component, for its package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ComponentInfo {
    /// Name of the component's file in the package.
    pub(crate) title: String,
    pub(crate) exports: Vec<String>,
    pub(crate) imports: Vec<String>,
    /// When it was made, as RFC 3339 has it.
    pub(crate) created: String,
    /// Annotations of the manifest.
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config<'a> {
    created: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<&'a str>,
    architecture: &'static str,
    os: &'static str,
    layer_digests: [String; 1],
    component: Interfaces<'a>,
}

#[derive(Serialize)]
struct Interfaces<'a> {
    exports: &'a [String],
    imports: &'a [String],
    target: Option<()>,
}

/// A manifest with the blobs that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompleteManifest {
    pub(crate) manifest: Vec<u8>,
    pub(crate) blobs: Vec<(Descriptor, Vec<u8>)>,
}

impl CompleteManifest {
    /// The digits of the manifest's digest.
    pub(crate) fn digest(&self) -> String {
        sha256(&self.manifest)
    }

    fn of(manifest: &Manifest, blobs: Vec<(Descriptor, Vec<u8>)>) -> Result<Self> {
        Ok(Self { manifest: serde_json::to_vec(manifest)?, blobs })
    }
}

/// A component's package. The same component with the same words gives the same bytes.
///
/// # Errors
/// Never, as far as is known: text becomes JSON.
pub(crate) fn package(component: Vec<u8>, about: &ComponentInfo) -> Result<CompleteManifest> {
    let mut layer = Descriptor::of(WASM[0], &component);
    let config = serde_json::to_vec(&Config {
        created: &about.created,
        author: about.annotations.get("org.opencontainers.image.authors").map(String::as_str),
        architecture: "wasm",
        os: "wasip2",
        layer_digests: [layer.digest.clone()],
        component: Interfaces { exports: &about.exports, imports: &about.imports, target: None },
    })?;
    layer.annotations.insert(TITLE.to_owned(), about.title.clone());
    let described = Descriptor::of(CONFIG, &config);
    let manifest = Manifest {
        schema_version: 2,
        media_type: MANIFEST.to_owned(),
        artifact_type: None,
        config: described.clone(),
        layers: vec![layer.clone()],
        subject: None,
        annotations: about.annotations.clone(),
    };
    CompleteManifest::of(&manifest, vec![(described, config), (layer, component)])
}

/// What is attached to the manifest `subject`: one blob of this media type.
///
/// # Errors
/// As `package`.
pub(crate) fn attached(
    subject: Descriptor,
    media_type: &str,
    bytes: Vec<u8>,
    annotations: BTreeMap<String, String>,
) -> Result<CompleteManifest> {
    let subject = Descriptor { annotations: BTreeMap::new(), artifact_type: None, ..subject };
    let (config, layer) = (Descriptor::of(EMPTY, NOTHING), Descriptor::of(media_type, &bytes));
    let manifest = Manifest {
        schema_version: 2,
        media_type: MANIFEST.to_owned(),
        artifact_type: Some(media_type.to_owned()),
        config: config.clone(),
        layers: vec![layer.clone()],
        subject: Some(subject),
        annotations,
    };
    CompleteManifest::of(&manifest, vec![(config, NOTHING.to_vec()), (layer, bytes)])
}

/// How an attached manifest stands in the list of what refers to another.
pub(crate) fn referrer(whole: &CompleteManifest) -> Result<Descriptor> {
    let manifest = Manifest::read(&whole.manifest)?;
    let mut descriptor = Descriptor::of(MANIFEST, &whole.manifest);
    descriptor.artifact_type = manifest.artifact_type;
    descriptor.annotations = manifest.annotations;
    Ok(descriptor)
}

/// Checks that a manifest is the one with this digest (none: any) and names exactly one component; gives its descriptor.
///
/// # Errors
/// What is wrong.
pub(crate) fn checked(manifest: &[u8], digest: Option<&str>) -> Result<Descriptor> {
    if let Some(wanted) = digest.filter(|wanted| **wanted != sha256(manifest)) {
        bail!("the manifest is sha256:{}, not sha256:{wanted}", sha256(manifest));
    }
    let read = Manifest::read(manifest)?;
    let component = read.component()?.clone();
    // The reader of signatures agrees on which layer it is.
    let sha256 = component.sha256()?;
    if component_of(manifest).as_deref() != Some(&*sha256) {
        bail!("its component's digest is not written as it should be: {}", component.digest);
    }
    Ok(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about() -> ComponentInfo {
        ComponentInfo {
            title: "array.wasm".to_owned(),
            exports: vec!["drivebay:backend/identity@0.1.0".to_owned()],
            created: "2026-01-02T03:04:05Z".to_owned(),
            annotations: BTreeMap::from([("org.opencontainers.image.version".to_owned(), "1.2.3".to_owned())]),
            ..ComponentInfo::default()
        }
    }

    #[test]
    fn a_package_names_its_component_and_is_the_same_every_time() {
        let made = package(b"\0asm".to_vec(), &about()).unwrap();
        assert_eq!(made, package(b"\0asm".to_vec(), &about()).unwrap());
        let component = checked(&made.manifest, Some(&made.digest())).unwrap();
        assert_eq!((component.digest, component.size), (format!("sha256:{}", sha256(b"\0asm")), 4));
        assert_eq!(component.annotations[TITLE], "array.wasm");
        let config: serde_json::Value = serde_json::from_slice(&made.blobs[0].1).unwrap();
        assert_eq!((&config["architecture"], &config["os"]), (&"wasm".into(), &"wasip2".into()));
        assert_eq!(config["layerDigests"][0], format!("sha256:{}", sha256(b"\0asm")));
        assert!(checked(&made.manifest, Some(&"0".repeat(64))).unwrap_err().to_string().contains("not sha256:000"));
    }

    #[test]
    fn what_holds_no_component_or_several_is_refused() {
        let made = package(b"\0asm".to_vec(), &about()).unwrap();
        let mut manifest = Manifest::read(&made.manifest).unwrap();
        manifest.layers.push(manifest.layers[0].clone());
        let words =
            |manifest: &Manifest| checked(&serde_json::to_vec(manifest).unwrap(), None).unwrap_err().to_string();
        assert!(words(&manifest).contains("several"));
        manifest.layers = vec![Descriptor::of("application/vnd.oci.image.layer.v1.tar", b"")];
        assert!(words(&manifest).contains("no package of WebAssembly"));
        manifest.layers = vec![Descriptor { digest: "sha512:00".to_owned(), ..Descriptor::of(WASM[0], b"") }];
        assert!(words(&manifest).contains("sha256"), "{}", words(&manifest));
        assert!(checked(b"{}", None).is_err());
    }

    #[test]
    fn what_is_attached_says_to_what() {
        let made = package(b"\0asm".to_vec(), &about()).unwrap();
        let subject = Descriptor::of(MANIFEST, &made.manifest);
        let attached = attached(subject.clone(), "text/x", b"x".to_vec(), BTreeMap::new()).unwrap();
        assert_eq!(Manifest::read(&attached.manifest).unwrap().subject, Some(subject));
        assert_eq!(referrer(&attached).unwrap().artifact_type.as_deref(), Some("text/x"));
    }
}
