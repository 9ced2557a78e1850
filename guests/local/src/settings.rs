//! The operator's settings, parsed at the start of every call.
//!
//! An unknown key is an error, so that a typing error is not silently ignored.

use std::net::IpAddr;

use drivebay_sdk::types::{StringMap, TopologyRequirement};
use drivebay_sdk::{Error, Result};

/// Where the pool is in the component's file system when the operator does not say.
const DEFAULT_POOL: &str = "/pool";

/// The key under which the secret must stand in a request.
const SECRET_KEY: &str = "secret";

/// The settings of one generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The pool's directory, without a slash at its end.
    pub(crate) pool: String,
    /// What every request with secrets must carry; none: nothing is asked for.
    secret: Option<String>,
    /// The directory that is shared with the other site, without a slash at its end; none: there is
    /// no other site.
    pub(crate) link: Option<String>,
    /// The addresses of this node.
    pub(crate) addresses: Vec<IpAddr>,
    /// The nodes that volumes can be attached to; none: the operator named none.
    nodes: Option<Vec<String>>,
    /// From where volumes can be reached; empty: from everywhere.
    pub(crate) topology: StringMap,
}

impl Settings {
    /// Reads the settings. `invalid-argument`: one is unknown or does not parse.
    pub(crate) fn parse(given: &[(String, String)]) -> Result<Self> {
        let mut settings = Self {
            pool: DEFAULT_POOL.to_owned(),
            secret: None,
            link: None,
            addresses: Vec::new(),
            nodes: None,
            topology: StringMap::new(),
        };
        for (key, value) in given {
            match key.as_str() {
                "pool" => settings.pool = directory("pool", value)?,
                "link" => settings.link = if value.is_empty() { None } else { Some(directory("link", value)?) },
                "addresses" => settings.addresses = addresses(value)?,
                "secret" => settings.secret = Some(value.clone()).filter(|value| !value.is_empty()),
                "nodes" => settings.nodes = Some(words(value).map(str::to_owned).collect()),
                "topology" => settings.topology = topology(value)?,
                unknown => return Err(refused(unknown, "is unknown")),
            }
        }
        Ok(settings)
    }

    /// Lets a request with secrets pass. `unauthenticated`: they are not the ones agreed on.
    pub(crate) fn authorise(&self, secrets: &StringMap) -> Result<()> {
        let Some(secret) = &self.secret else {
            return Ok(());
        };
        match secrets.iter().find(|(key, _)| key == SECRET_KEY) {
            None => Err(Error::unauthenticated(format!("the secret {SECRET_KEY} is missing"))),
            Some((_, given)) if equal(given.as_bytes(), secret.as_bytes()) => Ok(()),
            Some(_) => Err(Error::unauthenticated(format!("the secret {SECRET_KEY} is wrong"))),
        }
    }

    /// Whether a node exists that volumes can be attached to. Without the setting it is the node
    /// that this host is (`own`), or any where the host has no name.
    pub(crate) fn has_node(&self, node: &str, own: Option<&str>) -> bool {
        match (&self.nodes, own) {
            (Some(nodes), _) => nodes.iter().any(|known| known == node),
            (None, Some(own)) => own == node,
            (None, None) => true,
        }
    }

    /// Whether what stands here can be reached from a place.
    pub(crate) fn lies_in(&self, place: &StringMap) -> bool {
        place.iter().all(|segment| self.topology.contains(segment))
    }

    /// Whether a volume made here is where the client needs it.
    pub(crate) fn satisfies(&self, requirement: Option<&TopologyRequirement>) -> bool {
        requirement
            .is_none_or(|asked| asked.requisite.is_empty() || asked.requisite.iter().any(|place| self.lies_in(place)))
    }
}

fn addresses(value: &str) -> Result<Vec<IpAddr>> {
    let parsed = words(value).map(str::parse).collect::<std::result::Result<_, _>>();
    parsed.map_err(|_| refused("addresses", "must be IP addresses with commas between them"))
}

fn directory(key: &str, value: &str) -> Result<String> {
    let path = value.trim_end_matches('/');
    let plain = path.split('/').skip(1).all(|name| !matches!(name, "" | "." | ".."));
    if path.starts_with('/') && plain {
        return Ok(path.to_owned());
    }
    Err(refused(key, "must be an absolute path below /, without . and .."))
}

fn topology(value: &str) -> Result<StringMap> {
    let pair = |word: &str| {
        let (key, value) = word.split_once('=')?;
        let (key, value) = (key.trim(), value.trim());
        (!key.is_empty() && !value.is_empty()).then(|| (key.to_owned(), value.to_owned()))
    };
    let segments: Option<StringMap> = words(value).map(pair).collect();
    let segments = segments.ok_or_else(|| refused("topology", "must read key=value,key=value"))?;
    let is_twice = |key: &str| segments.iter().filter(|(other, _)| other == key).count() > 1;
    if segments.iter().any(|(key, _)| is_twice(key)) {
        return Err(refused("topology", "names a key twice"));
    }
    Ok(segments)
}

fn words(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|word| !word.is_empty())
}

fn refused(key: &str, why: &str) -> Error {
    let known = "pool, secret, nodes, topology, link, addresses";
    Error::invalid_argument(format!("setting {key} {why} (known settings: {known})"))
}

/// Compares without telling by its time where the two differ.
fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests;
