//! Rules of topology: the words for places, and the lists of places that requests and answers carry.
//!
//! Places are compared as text and never understood; which of them exist is the backend's knowledge.

use std::collections::{BTreeSet, HashSet};
use std::slice;

use super::{Breach, Under, Verdict, at_least_one, each, quoted};
use crate::{Abilities, Feature};
use drivebay_proto::pb::csi::v1::{Topology, TopologyRequirement};

/// Longest prefix, name or value in bytes (CSI, `Topology`).
const WORD: usize = 63;

/// A requirement of a client: only for a backend with the feature, and well-formed.
pub(crate) fn requirement(
    field: &str,
    requirement: Option<&TopologyRequirement>,
    feature: Feature,
    able: &Abilities,
) -> Verdict {
    match requirement {
        None => Ok(()),
        Some(_) if !able.has(feature) => Err(Breach::lacks(field, feature)),
        Some(requirement) => reachable(requirement).under(field),
    }
}

/// One of both lists is given, and what is preferred is also allowed (CSI, `TopologyRequirement`).
fn reachable(requirement: &TopologyRequirement) -> Verdict {
    let (requisite, preferred) = (&requirement.requisite, &requirement.preferred);
    each("requisite", requisite, place)?;
    each("preferred", preferred, place)?;
    if requisite.is_empty() {
        return at_least_one("requisite", preferred, |_| Ok(()));
    }
    let allowed: BTreeSet<_> = requisite.iter().map(|place| &place.segments).collect();
    each("preferred", preferred, |place| {
        if allowed.contains(&place.segments) {
            return Ok(());
        }
        Err(Breach::new("", "must also be in requisite"))
    })
}

/// A place that a client asks about. One without segments says nothing and passes everywhere: clients
/// that run beside each node send it for a backend without topology.
pub(crate) fn asked(field: &str, asked: Option<&Topology>, able: &Abilities) -> Verdict {
    match asked.filter(|place| !place.segments.is_empty()) {
        None => Ok(()),
        Some(_) if !able.has(Feature::Topology) => Err(Breach::lacks(field, Feature::Topology)),
        Some(asked) => place(asked).under(field),
    }
}

/// Places in an answer: only of a backend with the feature, well-formed, and all keys with one prefix
/// (CSI, `Topology`).
pub(crate) fn answered(field: &str, places: &[Topology], feature: Feature, able: &Abilities) -> Verdict {
    if places.is_empty() {
        return Ok(());
    }
    if !able.has(feature) {
        return Err(Breach::lacks(field, feature));
    }
    each(field, places, place)?;
    one_prefix(places).under(field)
}

/// A place in an answer that may be left out.
pub(crate) fn answered_one(field: &str, answered: Option<&Topology>, able: &Abilities) -> Verdict {
    match answered {
        None => Ok(()),
        Some(_) if !able.has(Feature::Topology) => Err(Breach::lacks(field, Feature::Topology)),
        Some(answered) => {
            place(answered).under(field)?;
            one_prefix(slice::from_ref(answered)).under(field)
        }
    }
}

fn one_prefix(places: &[Topology]) -> Verdict {
    let keys = places.iter().flat_map(|place| place.segments.keys());
    let prefixes: BTreeSet<_> = keys.filter_map(|key| Some(key.split_once('/')?.0)).collect();
    if prefixes.len() > 1 {
        return Err(Breach::new("", "must have one prefix in all its keys"));
    }
    Ok(())
}

/// A place has segments; keys differ in more than case (CSI, `Topology`).
fn place(place: &Topology) -> Verdict {
    if place.segments.is_empty() {
        return Err(Breach::missing("segments"));
    }
    let mut seen = HashSet::new();
    for (key, value) in &place.segments {
        if !is_key(key) {
            return Err(Breach::new("segments", format!("has the key {}, which is no topology key", quoted(key))));
        }
        if !is_word(value) {
            return Err(Breach::new("segments", format!("has an unusable value {} for a key", quoted(value))));
        }
        if !seen.insert(key.to_ascii_lowercase()) {
            return Err(Breach::new("segments", format!("has the key {} twice but for case", quoted(key))));
        }
    }
    Ok(())
}

/// `[prefix/]name`, the prefix a DNS name in lower case.
fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_prefix(prefix) && is_word(name),
        None => is_word(key),
    }
}

fn is_prefix(prefix: &str) -> bool {
    let label = |label: &str| framed(label, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    prefix.len() <= WORD && prefix.split('.').all(label)
}

fn is_word(word: &str) -> bool {
    word.len() <= WORD && framed(word, |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Made of these characters, and a letter or digit at both ends.
fn framed(text: &str, allowed: impl Fn(char) -> bool) -> bool {
    let ends = |c: char| c.is_ascii_alphanumeric();
    text.starts_with(ends) && text.ends_with(ends) && text.chars().all(allowed)
}
