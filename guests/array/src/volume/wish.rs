//! What a request for a volume comes to in the array's words.
//!
//! Pure: reads parameters and sizes, and compares with what was asked for before.

use std::collections::BTreeMap;

use drivebay_sdk::encryption::{Encryption, PARAMETER};
use drivebay_sdk::parameters::Parameters;
use drivebay_sdk::types::{CapacityRange, StringMap, VolumeCapability, VolumeContentSource};
use drivebay_sdk::volumes::CreateVolumeRequest;
use drivebay_sdk::{Error, Reason, Result};

use super::{name_of, objection};
use crate::array::{Source, Volume, VolumeChange, VolumeSpec};

/// Sizes are multiples of this.
pub(crate) const STEP: u64 = 4_096;

/// The size when the client names none.
const DEFAULT: u64 = 1 << 30;

/// What can be changed later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mutable {
    pub(crate) provisioning: Option<&'static str>,
    pub(crate) iops_limit: Option<u64>,
}

impl Mutable {
    /// Takes the keys out. `invalid-argument`: a value is none.
    pub(crate) fn take(parameters: &mut Parameters<'_>) -> Result<Self> {
        let provisioning = match parameters.take("provisioning") {
            None => None,
            Some("thin") => Some("thin"),
            Some("thick") => Some("thick"),
            Some(_) => return Err(Error::invalid_argument("parameter provisioning must be one of: thin, thick")),
        };
        let number =
            |text: &str| text.parse().map_err(|_| Error::invalid_argument("parameter iops-limit must be a number"));
        Ok(Self { provisioning, iops_limit: parameters.take("iops-limit").map(number).transpose()? })
    }

    /// As a request to the array.
    pub(crate) fn change(&self) -> VolumeChange {
        VolumeChange { bytes: None, provisioning: self.provisioning.map(str::to_owned), iops_limit: self.iops_limit }
    }

    /// Whether a volume is so already.
    pub(crate) fn is_met_by(&self, volume: &Volume) -> bool {
        self.provisioning.is_none_or(|wanted| wanted == volume.provisioning)
            && self.iops_limit.is_none_or(|wanted| volume.iops_limit.unwrap_or_default() == wanted)
    }
}

/// A request, but for its size.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) name: String,
    pub(crate) range: Option<CapacityRange>,
    pub(crate) source: Option<Source>,
    /// Whether nodes encrypt what they write to it.
    pub(crate) encrypted: bool,
    group: Option<String>,
    mutable: Mutable,
}

impl Wish {
    /// Reads a request. `invalid-argument`: it can never be met.
    pub(crate) fn read(request: &CreateVolumeRequest) -> Result<Self> {
        if let Some(why) = request.volume_capabilities.iter().find_map(objection) {
            return Err(Error::invalid_argument(why));
        }
        let given = without_client_keys(&request.parameters);
        let mut parameters = Parameters::new(&given);
        let group = parameters.take("group").map(str::to_owned);
        let encrypted = Encryption::is_wanted(parameters.take(PARAMETER))?;
        let fixed = Mutable::take(&mut parameters)?;
        parameters.finish()?;
        let mut parameters = Parameters::new(&request.mutable_parameters);
        let wins = Mutable::take(&mut parameters)?;
        parameters.finish()?;
        let mutable = Mutable {
            provisioning: wins.provisioning.or(fixed.provisioning),
            iops_limit: wins.iops_limit.or(fixed.iops_limit).filter(|limit| *limit > 0),
        };
        let source = request.volume_content_source.as_ref().map(|source| match source {
            VolumeContentSource::Volume(id) => Source::Volume(id.clone()),
            VolumeContentSource::Snapshot(id) => Source::Snapshot(id.clone()),
        });
        Ok(Self { name: name_of(&request.name), range: request.capacity_range, source, encrypted, group, mutable })
    }

    /// The request to the array, with a source of so many bytes.
    pub(crate) fn sized(&self, source: Option<u64>) -> Result<VolumeSpec> {
        let least = source.unwrap_or(DEFAULT);
        let mut bytes = CapacityRange::choose(self.range, least, STEP)?;
        if let Some(source) = source.filter(|source| *source > bytes) {
            if !self.range.is_none_or(|range| range.contains(source)) {
                let words = format!("the source has {source} bytes, more than the volume may have");
                return Err(Error::out_of_range(words).with_reason(Reason::TooSmall));
            }
            bytes = source;
        }
        Ok(VolumeSpec {
            name: self.name.clone(),
            bytes,
            provisioning: self.mutable.provisioning.unwrap_or("thin").to_owned(),
            source: self.source.clone(),
            iops_limit: self.mutable.iops_limit,
            group: self.group.clone(),
            labels: self
                .encrypted
                .then(|| (PARAMETER.to_owned(), "true".to_owned()))
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
        })
    }

    /// Refuses a source whose bytes are of the other kind: a copy has them as they are.
    pub(crate) fn check_source(&self, is_encrypted: bool) -> Result<()> {
        if self.encrypted == is_encrypted {
            return Ok(());
        }
        let source = if is_encrypted { "encrypted" } else { "not encrypted" };
        Err(Error::invalid_argument(format!("the source is {source}, and so is every copy of it")))
    }

    /// Refuses a volume that has the name and was made for another request.
    pub(crate) fn check_same(&self, volume: &Volume) -> Result<()> {
        let made = &volume.wish;
        let differs = if made.source != self.source {
            "another source"
        } else if volume.is_encrypted() != self.encrypted {
            "another encryption"
        } else if made.group != self.group {
            "another group"
        } else if made.provisioning != self.mutable.provisioning.unwrap_or("thin")
            || made.iops_limit != self.mutable.iops_limit
        {
            "other parameters"
        } else if !self.range.is_none_or(|range| range.contains(made.bytes)) {
            "another size"
        } else {
            return Ok(());
        };
        let words = format!("volume {} has this name and was made with {differs}", volume.id);
        Err(Error::already_exists(words).with_reason(Reason::Incompatible))
    }
}

/// Whether volumes with these parameters can be made and used in these ways at all.
pub(crate) fn is_possible(parameters: &StringMap, capabilities: &[VolumeCapability]) -> bool {
    let given = without_client_keys(parameters);
    let mut given = Parameters::new(&given);
    given.take("group");
    let is_encryption = Encryption::is_wanted(given.take(PARAMETER)).is_ok();
    let is_known = is_encryption && Mutable::take(&mut given).is_ok() && given.finish().is_ok();
    is_known && capabilities.iter().all(|capability| objection(capability).is_none())
}

/// Refuses what is neither the client's own nor a parameter or an attribute of a volume: sidecars fill the parameters
/// of upkeep with what the volume was made with, or with its context. Nothing follows from them.
pub(crate) fn check_attributes(parameters: &StringMap) -> Result<()> {
    let given = without_client_keys(parameters);
    let mut given = Parameters::new(&given);
    for key in ["group", "provisioning", "iops-limit", "data", PARAMETER] {
        given.take(key);
    }
    given.finish()
}

/// Parameters without those that clients add for themselves.
pub(crate) fn without_client_keys(map: &StringMap) -> StringMap {
    const THEIRS: [&str; 2] = ["csi.storage.k8s.io/", "storage.kubernetes.io/"];
    map.iter().filter(|(key, _)| !THEIRS.iter().any(|prefix| key.starts_with(prefix))).cloned().collect()
}

#[cfg(test)]
mod tests;
