//! What a client asks for: the parameters of a request.
//!
//! Unknown parameters are refused by name. Those with the orchestrator's own prefixes are ignored.

use drivebay_sdk::parameters::Parameters;
use drivebay_sdk::types::{CapacityRange, StringMap, TopologyRequirement, VolumeCapability};
use drivebay_sdk::volumes::CreateVolumeRequest;
use drivebay_sdk::{Error, Result};
use local_pool::record::{Kind, Reserve, Source};

/// Keys that orchestrators add to parameters and contexts.
const CLIENT_PREFIXES: [&str; 2] = ["csi.storage.k8s.io/", "storage.kubernetes.io/"];

/// All keys of volumes' parameters and contexts.
const ATTRIBUTES: [&str; 5] = [GROUP, "kind", "reserve", "capacity", "fs-type"];

/// The parameter that names a volume group.
const GROUP: &str = "group";

const KINDS: [(&str, Kind); 2] = [("image", Kind::Image), ("directory", Kind::Directory)];
const RESERVES: [(&str, Reserve); 2] = [("thin", Reserve::Thin), ("full", Reserve::Full)];

/// The parameters that a volume can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) kind: Option<Kind>,
    pub(crate) reserve: Option<Reserve>,
}

/// All that decides about a new volume.
#[derive(Clone, Debug)]
pub(crate) struct Wish<'a> {
    pub(crate) options: Options,
    pub(crate) capabilities: &'a [VolumeCapability],
    pub(crate) range: Option<&'a CapacityRange>,
    pub(crate) source: Option<Source>,
    /// The volume group that it shall be born in, by its id or its name.
    pub(crate) group: Option<&'a str>,
    pub(crate) requirement: Option<&'a TopologyRequirement>,
    /// The size where the client names none, in bytes.
    pub(crate) default_bytes: u64,
}

impl<'a> Wish<'a> {
    /// Reads a request. `invalid-argument`: a parameter is unknown or has an unknown value.
    pub(crate) fn read(request: &'a CreateVolumeRequest) -> Result<Self> {
        Ok(Self {
            options: Options::read(&request.parameters, &request.mutable_parameters)?,
            capabilities: &request.volume_capabilities,
            range: request.capacity_range.as_ref(),
            source: request.volume_content_source.clone().map(Into::into),
            group: group(&request.parameters)?,
            requirement: request.accessibility_requirements.as_ref(),
            default_bytes: crate::sizes::DEFAULT,
        })
    }
}

impl Options {
    /// Reads parameters and mutable parameters; the mutable ones win.
    pub(crate) fn read(parameters: &StringMap, mutable: &StringMap) -> Result<Self> {
        let own = without_client_keys(parameters);
        let mut own = Parameters::new(&own);
        // Read where volumes are made; everywhere else it says nothing.
        own.take(GROUP);
        let kind = choose(&mut own, "kind", &KINDS)?;
        let reserve = choose(&mut own, "reserve", &RESERVES)?;
        own.finish()?;
        let mutable = read_mutable(mutable)?;
        Ok(Self { kind, reserve: mutable.or(reserve) })
    }
}

/// Reads the parameters that can change during a volume's life; none of them given: none.
pub(crate) fn read_mutable(mutable: &StringMap) -> Result<Option<Reserve>> {
    let own = without_client_keys(mutable);
    let mut own = Parameters::new(&own);
    let reserve = choose(&mut own, "reserve", &RESERVES)?;
    own.finish()?;
    Ok(reserve)
}

/// The group named in the parameters. `invalid-argument`: the parameter is empty.
fn group(parameters: &StringMap) -> Result<Option<&str>> {
    match parameters.iter().find(|(key, _)| key == GROUP) {
        Some((_, name)) if name.is_empty() => {
            Err(Error::invalid_argument("parameter group must name an existing volume group"))
        }
        found => Ok(found.map(|(_, name)| name.as_str())),
    }
}

/// Refuses every parameter that is not the client's own. For requests that have none.
pub(crate) fn read_none(parameters: &StringMap) -> Result<()> {
    Parameters::new(&without_client_keys(parameters)).finish()
}

/// Refuses what is neither the client's own nor a parameter or an attribute of a volume: sidecars fill the parameters
/// of upkeep with what the volume was made with, or with its context. Nothing follows from them.
pub(crate) fn read_attributes(parameters: &StringMap) -> Result<()> {
    let own = without_client_keys(parameters);
    let mut own = Parameters::new(&own);
    for key in ATTRIBUTES {
        own.take(key);
    }
    own.finish()
}

/// What an ephemeral volume's context says: its options, and its size in bytes.
pub(crate) fn read_ephemeral(context: &StringMap) -> Result<(Options, Option<u64>)> {
    if group(context)?.is_some() {
        return Err(Error::invalid_argument("parameter group: an ephemeral volume cannot be in a group"));
    }
    let mut own = without_client_keys(context);
    let size = own.iter().position(|(key, _)| key == "size").map(|at| own.swap_remove(at).1);
    let size = size.map(|text| parse_size(&text)).transpose()?;
    Ok((Options::read(&own, &Vec::new())?, size))
}

/// A size as people write it: a number with a decimal (`k M G T`) or binary (`Ki Mi Gi Ti`) suffix,
/// as in Kubernetes.
fn parse_size(text: &str) -> Result<u64> {
    let refused = || Error::invalid_argument(format!("size must read like 64Mi, 1Gi or 1000000, not {text:?}"));
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit: u64 = match text.get(digits.len()..).unwrap_or_default() {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" | "MiB" => 1 << 20,
        "Gi" | "GiB" => 1 << 30,
        "Ti" | "TiB" => 1 << 40,
        _ => return Err(refused()),
    };
    let number: u64 = digits.parse().map_err(|_| refused())?;
    number.checked_mul(unit).filter(|bytes| *bytes > 0).ok_or_else(refused)
}

fn choose<T: Copy>(from: &mut Parameters<'_>, key: &str, words: &[(&str, T)]) -> Result<Option<T>> {
    let Some(value) = from.take(key) else {
        return Ok(None);
    };
    let found = words.iter().find(|(word, _)| *word == value);
    found.map(|(_, choice)| Some(*choice)).ok_or_else(|| {
        let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        Error::invalid_argument(format!("parameter {key} must be one of: {}", known.join(", ")))
    })
}

/// A request's parameters without those that its client added for itself.
pub(crate) fn without_client_keys(map: &StringMap) -> StringMap {
    let own = |key: &str| !CLIENT_PREFIXES.iter().any(|prefix| key.starts_with(prefix));
    map.iter().filter(|(key, _)| own(key)).cloned().collect()
}

#[cfg(test)]
mod tests;
