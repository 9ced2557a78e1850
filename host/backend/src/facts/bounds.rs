//! How much a backend may say of itself. What it says is kept for as long as it serves, logged, shown to operators and
//! written down with its history.
//!
//! Owns the numbers. It must not judge what is said.

use super::{Description, FactError, Grant, WitTopology};
use drivebay_observe::drill::{self, Defence};

/// Bytes of a map's keys and values together: CSI's own limit.
const MAP: usize = 4 * 1024;
/// Several times as many as there are.
const FEATURES: usize = 64;
/// Grants that it wants.
const WANTS: usize = 64;
/// Bytes of a path or an origin.
const PLACE: usize = 4 * 1024;

/// Judges the size of a description.
pub(super) fn description(said: &Description) -> Result<(), FactError> {
    let checked = at_most("features", said.features.len(), FEATURES)
        .and_then(|()| at_most("wants", said.wants.len(), WANTS))
        .and_then(|()| at_most("bytes of manifest", bytes(&said.manifest), MAP))
        .and_then(|()| said.wants.iter().try_for_each(|want| at_most("bytes of a want", place(&want.grant), PLACE)));
    checked.map_err(FactError::Description)
}

/// Judges the size of where a node is.
pub(super) fn topology(said: Option<&WitTopology>) -> Result<(), FactError> {
    at_most("bytes of accessible-topology", said.map_or(0, |segments| bytes(segments)), MAP).map_err(FactError::Node)
}

fn at_most(what: &str, count: usize, most: usize) -> Result<(), String> {
    if count > most && drill::stands(Defence::Contract) {
        return Err(format!("it names {count} {what}; at most {most} are allowed"));
    }
    Ok(())
}

fn bytes(map: &[(String, String)]) -> usize {
    map.iter().map(|(key, value)| key.len() + value.len()).sum()
}

fn place(grant: &Grant) -> usize {
    match grant {
        Grant::Directory(wanted) => wanted.path.len(),
        Grant::Http(origin) => origin.len(),
        Grant::Node => 0,
    }
}
