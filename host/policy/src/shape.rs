//! The TOML file as it is written: its sections and their keys. Judges no value.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::fields;
use super::grants::GrantsSection;
use super::package::PackagesSection;

#[derive(Deserialize)]
pub(super) struct ConfigFile {
    #[serde(default)]
    pub host: HostSection,
    #[serde(default)]
    pub backend: Vec<BackendSection>,
}

#[derive(Deserialize, Default)]
pub(super) struct HostSection {
    pub state: Option<PathBuf>,
    pub admin: Option<String>,
    pub http: Option<String>,
    pub targets: Option<Vec<PathBuf>>,
    #[serde(default)]
    pub packages: PackagesSection,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct BackendSection {
    pub name: String,
    pub component: String,
    pub refresh: Option<String>,
    pub csi: Option<String>,
    pub csi_controller: Option<String>,
    pub csi_node: Option<String>,
    pub addons: Option<String>,
    pub socket_mode: Option<String>,
    pub node_id: Option<String>,
    #[serde(default)]
    pub settings: BTreeMap<String, toml::Value>,
    pub alpha: Option<bool>,
    pub legacy_condition: Option<bool>,
    pub digest: Option<String>,
    #[serde(default)]
    pub signers: Vec<PathBuf>,
    #[serde(default)]
    pub grants: GrantsSection,
    #[serde(default)]
    pub limits: BTreeMap<String, toml::Value>,
    #[serde(default)]
    pub instances: InstancesSection,
    #[serde(default)]
    pub drain: TimeSection,
    #[serde(default)]
    pub trial: TimeSection,
    #[serde(default)]
    pub background: BackgroundSection,
}

#[derive(Deserialize, Default)]
pub(super) struct InstancesSection {
    pub reuse: Option<ReuseSection>,
}

#[derive(Deserialize)]
pub(super) struct ReuseSection {
    pub calls: u32,
    pub idle: String,
}

#[derive(Deserialize, Default)]
pub(super) struct TimeSection {
    pub time: Option<String>,
}

#[derive(Deserialize, Default)]
pub(super) struct BackgroundSection {
    pub budget: Option<usize>,
}

/// The keys of the sections here, by their types.
pub(super) struct Keys {
    pub file: &'static [&'static str],
    pub host: &'static [&'static str],
    pub backend: &'static [&'static str],
    pub instances: &'static [&'static str],
    pub reuse: &'static [&'static str],
    pub time: &'static [&'static str],
    pub background: &'static [&'static str],
}

/// Asks the types.
pub(super) fn keys() -> Keys {
    Keys {
        file: fields::of::<ConfigFile>(),
        host: fields::of::<HostSection>(),
        backend: fields::of::<BackendSection>(),
        instances: fields::of::<InstancesSection>(),
        reuse: fields::of::<ReuseSection>(),
        time: fields::of::<TimeSection>(),
        background: fields::of::<BackgroundSection>(),
    }
}
