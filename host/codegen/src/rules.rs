//! The table that says which guest function answers which RPC, and where the two contracts differ
//! on purpose.
//!
//! It only reads the table; whether a rule fits the contracts is decided while pairing. Every rule
//! carries a reason, because an exception that nobody can explain is an error waiting for a release.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The whole table.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Table {
    /// Functions (`interface.function`) that the host calls of its own accord.
    #[serde(default)]
    pub(crate) host_calls: Vec<String>,
    #[serde(default, rename = "service")]
    pub(crate) services: Vec<ServiceRows>,
    #[serde(default, rename = "rule")]
    pub(crate) rules: Vec<Rule>,
}

/// The RPCs of one gRPC service.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceRows {
    /// The full name, as in `csi.v1.Controller`.
    pub(crate) name: String,
    /// The sockets that serve it.
    pub(crate) side: Side,
    /// How clients read its failures.
    #[serde(default)]
    pub(crate) family: Family,
    /// RPCs that enter a guest and change nothing.
    #[serde(default)]
    pub(crate) reads: Vec<String>,
    /// RPCs that are answered from facts.
    #[serde(default)]
    pub(crate) host: Vec<String>,
    /// RPC -> `interface.function`.
    #[serde(default)]
    pub(crate) guest: BTreeMap<String, String>,
}

/// The sockets that serve a service.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Side {
    Both,
    Controller,
    Node,
}

/// How clients read the failures of a service.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Family {
    #[default]
    Csi,
    Replication,
}

/// What an RPC does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effect {
    Reads,
    Changes,
}

/// Exceptions of one kind with one reason. All names are full protobuf names or `interface.type`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    pub(crate) kind: Kind,
    /// What the rule is for -> what it says of it (empty where the kind says all).
    pub(crate) of: BTreeMap<String, String>,
    pub(crate) reason: String,
}

/// What a rule changes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Field or member -> the WIT name, where that is not its own in kebab case.
    Rename,
    /// A field that no guest sees.
    Drop,
    /// Field -> the word for a conversion of its own, which the host has by hand.
    ByHand,
    /// Message -> the WIT type to which the host converts it by hand.
    Types,
    /// RPC -> the message, made from the request, that its answer needs.
    Keep,
    /// Record -> its field that says where the next page of a stream starts.
    Page,
}

impl Table {
    /// What the rules say of something, with its name as it stands in them.
    pub(crate) fn rule(&self, kind: Kind, subject: &str) -> Option<(&str, &str)> {
        let mut rules = self.rules.iter().filter(|rule| rule.kind == kind);
        let (subject, text) = rules.find_map(|rule| rule.of.get_key_value(subject))?;
        Some((subject, text))
    }
}
