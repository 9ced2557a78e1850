//! What a generation says of itself, gathered once at load. Identity and capability calls are
//! answered from here and never enter the component. Owns checking what was said.

mod bounds;

use std::collections::BTreeSet;

use drivebay_contract::bindings::drivebay::backend::types::Topology as WitTopology;
use drivebay_contract::bindings::exports::drivebay::backend::identity::{Description, Grant, Need};
use drivebay_contract::bindings::exports::drivebay::backend::node::NodeDescription;
use drivebay_contract::{Abilities, Feature, Interface};
use drivebay_observe::text::tame;
use drivebay_policy::Grants;
use drivebay_policy::grants::Kind;
use drivebay_policy::grants::directories::WantedDirectory;

/// Bytes of a word of the backend's in words of the host's.
const SAID: usize = 512;

/// The facts of one generation.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The plugin's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its free facts.
    pub manifest: Vec<(String, String)>,
    /// What it exports, and its registered features.
    pub abilities: Abilities,
    /// The state format it writes, and the oldest it reads.
    pub state_version: (u32, u32),
    /// Directories it wants and does not have, though it can live without.
    pub missing: Vec<String>,
    /// Guest paths of directories that it can do without.
    pub optional: Vec<String>,
    /// Who this node is, if the backend has a node side.
    pub node: Option<NodeFacts>,
}

/// What `node.get-node` said, checked.
#[derive(Debug, Clone)]
pub struct NodeFacts {
    /// How the controller names this node.
    pub id: String,
    /// How many volumes fit; 0: the client decides.
    pub max_volumes: u64,
    /// Where the node is.
    pub topology: Option<Vec<(String, String)>>,
}

/// Why a description is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FactError {
    /// It breaks a rule of the contract.
    #[error("describe: {0}")]
    Description(String),
    /// The node's description breaks a rule.
    #[error("get-node: {0}")]
    Node(String),
    /// It needs what the operator has not given.
    #[error("it needs grants that it does not have: {}", .0.join("; "))]
    Grants(Vec<String>),
}

/// What the operator gives, as far as a description can ask for it.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// What it may use.
    pub grants: &'a Grants,
    /// The node's name.
    pub node_id: Option<&'a str>,
}

impl<'a> Given<'a> {
    /// What a configuration gives.
    pub(super) fn of(config: &'a drivebay_policy::BackendConfig) -> Self {
        Self { grants: &config.grants, node_id: config.node_id.as_deref() }
    }
}

impl Facts {
    /// Checks a description against the contract and the grants.
    ///
    /// # Errors
    /// The first rule it breaks, or all required grants that are missing.
    pub fn new(said: Description, exports: BTreeSet<Interface>, given: Given<'_>) -> Result<Self, FactError> {
        bounds::description(&said)?;
        name(&said.name)?;
        let version = &said.vendor_version;
        if version.is_empty() || version.len() > 128 || tame(version, 128) != *version {
            let rule = "vendor-version must have 1 to 128 bytes without control characters";
            return Err(FactError::Description(rule.to_owned()));
        }
        let versions = (said.state_version.writes, said.state_version.reads_from);
        if versions.1 > versions.0 {
            return Err(FactError::Description("state-version reads-from is newer than writes".to_owned()));
        }
        let missing = wants(&said, given)?;
        let optional = optional(&said);
        let features = said.features.iter().filter_map(|feature| {
            let known = Feature::from_name(feature);
            if known.is_none() {
                tracing::warn!(
                    feature = tame(feature, 80),
                    "the backend describes a feature that this host does not know"
                );
            }
            known
        });
        let abilities = Abilities::new(exports, features);
        expansion(&abilities)?;
        companions(&abilities)?;
        Ok(Self {
            name: said.name,
            version: said.vendor_version,
            manifest: said.manifest,
            abilities,
            state_version: versions,
            missing,
            optional,
            node: None,
        })
    }

    /// Adds what the node said.
    ///
    /// # Errors
    /// When it has no id and none is configured, or breaks a rule.
    pub fn with_node(mut self, said: NodeDescription, given: Given<'_>) -> Result<Self, FactError> {
        bounds::topology(said.accessible_topology.as_ref())?;
        let id = said
            .node_id
            .or_else(|| given.node_id.map(ToOwned::to_owned))
            .ok_or_else(|| FactError::Node("it gives no node id and none is configured; set node-id".to_owned()))?;
        if id.is_empty() || id.len() > 256 || id.chars().any(char::is_control) {
            return Err(FactError::Node("the node id must have 1 to 256 bytes without control characters".to_owned()));
        }
        let topology: Option<WitTopology> = said.accessible_topology.filter(|_| self.abilities.has(Feature::Topology));
        let max_volumes = said.max_volumes_per_node;
        if i64::try_from(max_volumes).is_err() {
            return Err(FactError::Node("max-volumes-per-node is too large".to_owned()));
        }
        self.node = Some(NodeFacts { id, max_volumes, topology });
        Ok(self)
    }
}

/// Which grants are missing: optional ones in words, a required one as an error.
fn wants(said: &Description, given: Given<'_>) -> Result<Vec<String>, FactError> {
    let (mut required, mut optional) = (Vec::new(), Vec::new());
    for want in &said.wants {
        if let Some(what) = lacking(&want.grant, given.grants) {
            let words = format!("{what} ({})", tame(&want.why, SAID));
            match want.need {
                Need::Required => required.push(words),
                Need::Optional => optional.push(words),
            }
        }
    }
    if required.is_empty() { Ok(optional) } else { Err(FactError::Grants(required)) }
}

/// The directories that are wanted and not required.
fn optional(said: &Description) -> Vec<String> {
    let directory = |need: Need| {
        said.wants.iter().filter(move |want| want.need == need).filter_map(|want| {
            let Grant::Directory(wanted) = &want.grant else { return None };
            Some(wanted.path.clone())
        })
    };
    let required: Vec<_> = directory(Need::Required).collect();
    directory(Need::Optional).filter(|path| !required.contains(path)).collect()
}

/// What is lacking for a grant that is wanted, and how to give it; none: it is granted.
pub(super) fn lacking(grant: &Grant, grants: &Grants) -> Option<String> {
    match grant {
        Grant::Directory(want) => grants.directories.lacks(WantedDirectory { path: &want.path, write: want.write }),
        Grant::Http(origin) => grants.http.lacks(origin),
        Grant::Node => grants.node.lacks(()),
    }
}

/// CSI's rule for plugin names, with a letter at both ends, as csi-sanity wants it.
fn name(name: &str) -> Result<(), FactError> {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphabetic());
    let inside = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
    if name.len() <= 63 && inside && ends(name.chars().next()) && ends(name.chars().last()) {
        return Ok(());
    }
    Err(FactError::Description(format!(
        "the name \"{}\" must be a domain name of at most 63 letters, digits, - and ., a letter first and last",
        tame(name, 80)
    )))
}

/// Who can expand must say when.
fn expansion(abilities: &Abilities) -> Result<(), FactError> {
    let can = abilities.exports(Interface::Expansion) || abilities.exports(Interface::NodeExpansion);
    let says = abilities.has(Feature::OnlineExpansion) || abilities.has(Feature::OfflineExpansion);
    if can && !says {
        return Err(FactError::Description(
            "it exports expansion, so its features must name online-expansion, offline-expansion or both".to_owned(),
        ));
    }
    Ok(())
}

/// Interfaces about objects that only another interface has.
fn companions(abilities: &Abilities) -> Result<(), FactError> {
    const PAIRS: [(Interface, Interface); 3] = [
        (Interface::VolumeGroupMembership, Interface::VolumeGroups),
        (Interface::VolumeGroupListing, Interface::VolumeGroups),
        (Interface::ReplicationDestination, Interface::Replication),
    ];
    let lone = PAIRS.into_iter().find(|(one, other)| abilities.exports(*one) && !abilities.exports(*other));
    lone.map_or(Ok(()), |(one, other)| {
        let (one, other) = (one.short_name(), other.short_name());
        Err(FactError::Description(format!("it exports {one}, which means nothing without {other}; export that, too")))
    })
}

#[cfg(test)]
mod tests;
