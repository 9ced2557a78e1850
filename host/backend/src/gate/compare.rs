//! A candidate compared with what serves and with what the state is: name, abilities, version, format of
//! the state. Pure.

use std::collections::BTreeSet;

use semver::Version;

use super::{Refusal, RefusalId};

/// Whether the operator insists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// Every rule holds.
    No,
    /// Rules that protect from an operator's mistake do not hold; those of safety do.
    Yes,
}

/// What the comparison looks at.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Profile {
    /// The plugin's name.
    pub name: String,
    /// The vendor's version.
    pub version: String,
    /// The interfaces that it exports and the features that it names.
    pub abilities: BTreeSet<String>,
    /// The format of the state that it writes.
    pub writes: u32,
    /// The oldest that it reads.
    pub reads_from: u32,
}

/// What a candidate is compared with.
#[derive(Debug, Clone, Copy)]
pub struct Baseline<'a> {
    /// What serves.
    pub active: Option<&'a Profile>,
    /// The version seen last.
    pub seen: Option<&'a str>,
    /// The format that the state is written in; none: nobody has written any.
    pub written: Option<u32>,
    /// Whether the operator insists.
    pub force: Force,
}

/// How a candidate may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateHandover {
    /// It writes the state as it is.
    Free,
    /// It writes a newer format: the state is copied first.
    Copy,
}

/// Compares.
///
/// # Errors
/// The first rule that the candidate breaks.
pub fn compare(candidate: &Profile, against: Baseline<'_>) -> Result<StateHandover, Refusal> {
    let insists = |refusal: Refusal| match against.force {
        Force::Yes if refusal.id.is_forceable() => Ok(()),
        Force::Yes | Force::No => Err(refusal),
    };
    if let Some(active) = against.active {
        name(candidate, active)?;
    }
    let passage = state(candidate, against.written)?;
    if let Some(active) = against.active {
        abilities(candidate, active).or_else(insists)?;
    }
    version(candidate, against.seen).or_else(insists)?;
    Ok(passage)
}

fn name(candidate: &Profile, active: &Profile) -> Result<(), Refusal> {
    if candidate.name == active.name {
        return Ok(());
    }
    let words = format!("it is the driver \"{}\", and \"{}\" is served here", candidate.name, active.name);
    Err(Refusal::new(RefusalId::Name, words))
}

fn state(candidate: &Profile, written: Option<u32>) -> Result<StateHandover, Refusal> {
    let Some(written) = written else { return Ok(StateHandover::Free) };
    if written > candidate.writes {
        let words = format!("the state is in format {written}, and it knows formats up to {}", candidate.writes);
        return Err(Refusal::new(RefusalId::StateNewer, words));
    }
    if written < candidate.reads_from {
        let words = format!("the state is in format {written}, and it reads formats from {}", candidate.reads_from);
        return Err(Refusal::new(RefusalId::StateOlder, words));
    }
    Ok(if written == candidate.writes { StateHandover::Free } else { StateHandover::Copy })
}

fn abilities(candidate: &Profile, active: &Profile) -> Result<(), Refusal> {
    let missing: Vec<_> = active.abilities.difference(&candidate.abilities).map(String::as_str).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(RefusalId::Fewer, format!("it lacks what is served now: {}", missing.join(", "))))
}

/// Only what follows semantic versioning can be compared.
fn version(candidate: &Profile, seen: Option<&str>) -> Result<(), Refusal> {
    let parsed = (Version::parse(&candidate.version), seen.map(Version::parse));
    match parsed {
        (Ok(new), Some(Ok(seen))) if new.cmp_precedence(&seen).is_lt() => {
            let words = format!("its version {new} is lower than {seen}, which was loaded last");
            Err(Refusal::new(RefusalId::Version, words))
        }
        _ => Ok(()),
    }
}
