//! `drivebay package`: a component becomes a package in a layout. Owns what a package says of its component: its own words,
//! what `check` finds, and what the vendor adds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use drivebay_policy::package::Reference;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::artifact::{CompleteManifest, ComponentInfo, package};
use crate::layout::Layout;
use crate::store::Store;
use crate::{sbom, sections};

const EXAMPLES: &str = "The package is an OCI artifact that wkg and oras read. What it says of the component comes from its custom
sections (`wasm-tools metadata`), from what it says of itself (name, version, grants) and from --annotation. A list of crates
(`cargo auditable`) becomes a bill of materials; --sbom gives another.

Example:
  drivebay package backend.wasm oci://registry.example/vendor/array:1.2.0 --layout packages --licenses Apache-2.0";

/// Annotations of the project's own.
const NAME: &str = "dev.drivebay.name";
const CONTRACT: &str = "dev.drivebay.contract";
const GRANTS: &str = "dev.drivebay.grants";
const VERSION: &str = "org.opencontainers.image.version";
const LICENSES: &str = "org.opencontainers.image.licenses";

/// What `package` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    made: Made,
    /// The component.
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,
    /// What it is to be called.
    #[arg(value_name = "oci://REGISTRY/NAME:TAG", value_parser = super::reference)]
    reference: Reference,
    /// The layout that it is added to.
    #[arg(long, value_name = "DIR")]
    layout: PathBuf,
}

/// What a package is made of.
#[derive(Debug, clap::Args)]
pub(super) struct Made {
    /// An annotation of the package; may be given many times.
    #[arg(short, long, value_name = "KEY=VALUE")]
    annotation: Vec<String>,
    /// Its licence, as an SPDX expression.
    #[arg(long, value_name = "SPDX")]
    licenses: Option<String>,
    /// A bill of materials, as `CycloneDX` in JSON.
    #[arg(long, value_name = "FILE")]
    sbom: Option<PathBuf>,
}

/// A package with what is attached to it.
pub(super) struct Packed {
    pub(super) whole: CompleteManifest,
    /// By the kind that it is attached as.
    pub(super) attached: Vec<(&'static str, Vec<u8>)>,
    pub(super) said: String,
}

impl Args {
    /// Makes the package; tells what was done.
    ///
    /// # Errors
    /// When the component is no backend, or the layout cannot be written.
    pub fn run(&self, program: &Path) -> Result<String> {
        let packed = self.made.pack(program, &self.file)?;
        let store = Store::Layout(Layout::new(&self.layout));
        super::run(packed.push(&store, &self.reference))?;
        Ok(format!("{}@sha256:{} in {}\n{}", self.reference, packed.whole.digest(), self.layout.display(), packed.said))
    }
}

impl Packed {
    /// Writes it all.
    ///
    /// # Errors
    /// When the store refuses it.
    pub(super) async fn push(&self, store: &Store, reference: &Reference) -> Result<()> {
        store.push(&self.whole, reference).await?;
        for (kind, bytes) in &self.attached {
            store.attach_to(&self.whole.manifest, kind, bytes.clone(), BTreeMap::new()).await?;
        }
        Ok(())
    }
}

impl Made {
    /// Reads, asks and packs.
    ///
    /// # Errors
    /// When the component is no backend, or a file cannot be read.
    pub(super) fn pack(&self, program: &Path, file: &Path) -> Result<Packed> {
        let component = read(file)?;
        let checked = check(program, file)?;
        let sections = sections::read(&component)?;
        let mut annotations = sections.annotations;
        annotations.extend(checked.annotations());
        if let Some(licenses) = &self.licenses {
            annotations.insert(LICENSES.to_owned(), licenses.clone());
        }
        for text in &self.annotation {
            let (key, value) = text.split_once('=').with_context(|| format!("\"{text}\" is not KEY=VALUE"))?;
            annotations.insert(key.to_owned(), value.to_owned());
        }
        let mut attached = Vec::new();
        let mut said =
            format!("{} {}", checked.name.clone().unwrap_or_default(), checked.version.clone().unwrap_or_default());
        match (&self.sbom, sections.crates) {
            (Some(path), _) => attached.push((sbom::CYCLONEDX, bill(path)?)),
            (None, Some(crates)) => attached.push((sbom::CYCLONEDX, serde_json::to_vec(&sbom::of_crates(&crates)?)?)),
            (None, None) => {
                said.push_str("; no bill of materials: build with `cargo auditable`, or give one with --sbom");
            }
        }
        if !annotations.contains_key(LICENSES) {
            said.push_str("; no licence: give it with --licenses");
        }
        let own = drivebay_signature::beside(file);
        if own.exists() {
            attached.push((crate::store::OWN, read(&own)?));
        }
        let title = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let about = ComponentInfo {
            title,
            exports: checked.interfaces,
            imports: checked.imports,
            created: created(),
            annotations,
        };
        Ok(Packed { whole: package(component, &about)?, attached, said })
    }
}

/// When it was made: the moment that reproducible builds are told, or now.
fn created() -> String {
    let told = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    let at = told.map_or_else(SystemTime::now, |seconds| UNIX_EPOCH + Duration::from_secs(seconds));
    humantime::format_rfc3339_seconds(at).to_string()
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}

fn bill(path: &Path) -> Result<Vec<u8>> {
    let bytes = read(path)?;
    let bill: Value = serde_json::from_slice(&bytes).with_context(|| path.display().to_string())?;
    if bill.get("bomFormat").and_then(Value::as_str) != Some("CycloneDX") {
        bail!("{}: it is no bill of materials of CycloneDX in JSON", path.display());
    }
    Ok(bytes)
}

/// What `check --json` finds, as far as a package says it.
#[derive(Debug, Default, Deserialize)]
struct Checked {
    name: Option<String>,
    version: Option<String>,
    #[serde(default)]
    interfaces: Vec<String>,
    #[serde(default)]
    imports: Vec<String>,
    #[serde(default)]
    grants: Vec<Grant>,
    #[serde(default)]
    problems: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Grant {
    what: String,
    required: bool,
    why: String,
}

impl Checked {
    fn annotations(&self) -> BTreeMap<String, String> {
        let contract = self.interfaces.iter().find_map(|name| {
            let (path, version) = name.split_once('@')?;
            Some(format!("{}@{version}", path.split_once('/')?.0))
        });
        let grants = self
            .grants
            .iter()
            .map(|grant| json!({ "grant": grant.what, "required": grant.required, "why": grant.why }));
        let grants = (!self.grants.is_empty()).then(|| Value::Array(grants.collect()).to_string());
        let all = [(NAME, self.name.clone()), (VERSION, self.version.clone()), (CONTRACT, contract), (GRANTS, grants)];
        all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

/// Asks the program itself, in a process that has no network and no credentials.
fn check(program: &Path, file: &Path) -> Result<Checked> {
    let mut command = Command::new(program);
    command.arg("check").arg(std::path::absolute(file)?).arg("--json");
    let out = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("starting `drivebay check`")?;
    let checked: Checked =
        serde_json::from_slice(&out.stdout).with_context(|| format!("{}: it cannot be checked", file.display()))?;
    if !checked.problems.is_empty() {
        bail!("{}: no host would load it: {}", file.display(), checked.problems.join("; "));
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_says_who_it_is_and_what_it_wants() {
        let checked = Checked {
            name: Some("array.example".to_owned()),
            interfaces: vec!["drivebay:backend/identity@0.1.0".to_owned()],
            grants: vec![Grant { what: "node".to_owned(), required: true, why: "mounts".to_owned() }],
            ..Checked::default()
        };
        let said = checked.annotations();
        assert_eq!((&*said[NAME], &*said[CONTRACT]), ("array.example", "drivebay:backend@0.1.0"));
        assert_eq!(said[GRANTS], r#"[{"grant":"node","required":true,"why":"mounts"}]"#);
        assert!(!said.contains_key(VERSION));
    }
}
