//! What host, keeper and puller say to each other: lines of JSON.

use std::path::PathBuf;

use drivebay_policy::Config;
use drivebay_policy::package::Registries;
use serde::{Deserialize, Serialize};

use crate::place::Record;
use crate::registry::Access;
use crate::store::SignatureText;

/// A backend's package, as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The backend's name.
    pub backend: String,
    /// The reference's text.
    pub reference: String,
}

/// Finds the packages in the text of a configuration: its name, its text.
pub type ReadNamed = fn(&str, &str) -> Result<Vec<Named>, String>;

/// What the keeper hears once, from a host that has loaded nothing yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// The state directory.
    pub state: PathBuf,
    /// How packages are fetched.
    pub registries: Registries,
    /// The configuration, which is read for every request; none: it stood on the command line.
    pub file: Option<PathBuf>,
    /// What stood there.
    pub named: Vec<Named>,
}

/// What is shown for a backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedPackage {
    /// As it is configured.
    pub reference: String,
    /// The manifest's digest: what a tag was resolved to.
    pub digest: String,
    /// The component's digest.
    pub component: String,
    /// Whether it was not shown before.
    pub is_new: bool,
}

impl ResolvedPackage {
    pub(super) fn of(record: &Record, is_new: bool) -> Self {
        let Record { reference, digest, component, .. } = record.clone();
        Self { reference, digest, component, is_new }
    }
}

impl Order {
    /// That of a configuration.
    pub fn of(config: &Config) -> Self {
        Self {
            state: config.host.state.clone(),
            registries: config.host.packages.clone(),
            file: config.file.clone(),
            named: Named::all(config),
        }
    }
}

impl Named {
    /// Those of a configuration.
    pub fn all(config: &Config) -> Vec<Self> {
        let named = config.backends.iter().filter_map(|backend| {
            let reference = backend.package.as_ref()?.reference.to_string();
            Some(Self { backend: backend.name.clone(), reference })
        });
        named.collect()
    }
}

/// The host to the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) backend: String,
    /// Whether a tag is looked up though something is shown.
    pub(super) now: bool,
    /// Whether signatures are looked for again though the package has its digest.
    pub(super) again: bool,
}

/// The keeper to the host.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Done(ResolvedPackage),
    Failed(String),
}

/// The keeper to a puller.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Pull {
    pub(super) access: Access,
    pub(super) reference: String,
    /// The manifest whose component is there already.
    pub(super) have: Option<String>,
}

/// A puller to the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Pulled {
    pub(super) manifest: Vec<u8>,
    pub(super) vouching: SignatureText,
    /// Whether the component was written; if not, it is the one that is there.
    pub(super) has_component: bool,
}
