//! Making, judging, changing and removing volumes.
//!
//! It also holds the rules of a volume as an object, which listings share. Whether a source exists or
//! a parameter means anything is the backend's to say.

use std::collections::BTreeMap;

use super::rules::{Breach, Under, Verdict, at_least_one, capability, required, size, text, topology};
use super::{Abilities, BadAnswer, Check, Invalid};
use crate::{Feature, Interface};
use drivebay_proto::pb::csi::v1::{
    ControllerModifyVolumeRequest, ControllerModifyVolumeResponse, CreateVolumeRequest, CreateVolumeResponse,
    DeleteVolumeRequest, DeleteVolumeResponse, ValidateVolumeCapabilitiesRequest, ValidateVolumeCapabilitiesResponse,
    Volume, VolumeContentSource, volume_content_source,
};

/// A volume in an answer (CSI, `Volume`).
pub(super) fn object(volume: &Volume, able: &Abilities) -> Verdict {
    text::id("volume_id", &volume.volume_id)?;
    size::not_negative("capacity_bytes", volume.capacity_bytes)?;
    text::context("volume_context", &volume.volume_context)?;
    if let Some(source) = &volume.content_source {
        named(source).under("content_source")?;
    }
    topology::answered("accessible_topology", &volume.accessible_topology, Feature::Topology, able)
}

/// Takes away what is wrong with a volume in a list. Without them its size, its context and its source are not known; what
/// is not there cannot be wrong.
pub(super) fn mend(volume: &mut Volume) {
    if volume.capacity_bytes < 0 {
        volume.capacity_bytes = 0;
    }
    if text::context("", &volume.volume_context).is_err() {
        volume.volume_context.clear();
    }
    volume.content_source.take_if(|source| named(source).is_err());
}

/// A source names one object (CSI, `VolumeContentSource`).
fn named(source: &VolumeContentSource) -> Verdict {
    match required("type", source.r#type.as_ref())? {
        volume_content_source::Type::Snapshot(source) => text::id("snapshot.snapshot_id", &source.snapshot_id),
        volume_content_source::Type::Volume(source) => text::id("volume.volume_id", &source.volume_id),
    }
}

/// A source that the backend can fill a volume from (CSI, `CREATE_DELETE_SNAPSHOT` and
/// `CLONE_VOLUME`).
fn source(source: &VolumeContentSource, able: &Abilities) -> Verdict {
    named(source)?;
    match &source.r#type {
        Some(volume_content_source::Type::Snapshot(_)) if !able.exports(Interface::Snapshots) => {
            Err(Breach::new("snapshot", "this backend has no snapshots"))
        }
        Some(volume_content_source::Type::Volume(_)) if !able.has(Feature::Clone) => {
            Err(Breach::lacks("volume", Feature::Clone))
        }
        _ => Ok(()),
    }
}

/// Only for a backend that can change them (CSI, `MODIFY_VOLUME`).
fn mutable(parameters: &BTreeMap<String, String>, able: &Abilities) -> Verdict {
    const FIELD: &str = "mutable_parameters";
    if !parameters.is_empty() && !able.exports(Interface::Modification) {
        return Err(Breach::new(FIELD, "this backend cannot modify volumes"));
    }
    text::map(FIELD, parameters)
}

impl Check for CreateVolumeRequest {
    type Answer = CreateVolumeResponse;

    fn check(&self, able: &Abilities) -> Result<(), Invalid> {
        text::name("name", &self.name)?;
        at_least_one("volume_capabilities", &self.volume_capabilities, |wanted| capability::usable(wanted, able))?;
        size::range("capacity_range", self.capacity_range.as_ref())?;
        if let Some(from) = &self.volume_content_source {
            source(from, able).under("volume_content_source")?;
        }
        topology::requirement(
            "accessibility_requirements",
            self.accessibility_requirements.as_ref(),
            Feature::Topology,
            able,
        )?;
        text::map("parameters", &self.parameters)?;
        mutable(&self.mutable_parameters, able)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer> {
        let volume = required("volume", answer.volume.as_ref())?;
        made(self, volume, able).under("volume")?;
        Ok(())
    }
}

/// The volume is what was asked for. Clients delete one that is too small or does not name its
/// source. 0 bytes say that the size is not known (CSI, `Volume.capacity_bytes`).
fn made(request: &CreateVolumeRequest, volume: &Volume, able: &Abilities) -> Verdict {
    object(volume, able)?;
    if volume.capacity_bytes > 0 {
        let (size, asked) = (volume.capacity_bytes, request.capacity_range.as_ref());
        size::large_enough("capacity_bytes", size, asked)?;
        size::small_enough("capacity_bytes", size, asked)?;
    }
    match (&request.volume_content_source, &volume.content_source) {
        (asked, answered) if asked == answered => Ok(()),
        (Some(_), None) => Err(Breach::missing("content_source")),
        (None, Some(_)) => Err(Breach::new("content_source", "no source was asked for")),
        _ => Err(Breach::new("content_source", "is another than asked for")),
    }
}

impl Check for DeleteVolumeRequest {
    type Answer = DeleteVolumeResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::any_id("volume_id", &self.volume_id)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, _answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        Ok(())
    }
}

/// A capability that the backend lacks is a fair question here: the answer is that it is not
/// confirmed, so requests are held to the form alone (CSI, `ValidateVolumeCapabilities`).
impl Check for ValidateVolumeCapabilitiesRequest {
    type Answer = ValidateVolumeCapabilitiesResponse;

    fn check(&self, able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        at_least_one("volume_capabilities", &self.volume_capabilities, capability::formed)?;
        text::map("volume_context", &self.volume_context)?;
        text::map("parameters", &self.parameters)?;
        mutable(&self.mutable_parameters, able)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer> {
        text::sentence("message", &answer.message)?;
        let Some(confirmed) = &answer.confirmed else {
            return Ok(());
        };
        let confirmed = &confirmed.volume_capabilities;
        if *confirmed != self.volume_capabilities {
            let problem = "must be the capabilities that were asked about";
            return Err(Breach::new("confirmed.volume_capabilities", problem).into());
        }
        at_least_one("confirmed.volume_capabilities", confirmed, |confirmed| capability::within(confirmed, able))?;
        Ok(())
    }
}

impl Check for ControllerModifyVolumeRequest {
    type Answer = ControllerModifyVolumeResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        if self.mutable_parameters.is_empty() {
            return Err(Breach::missing("mutable_parameters").into());
        }
        text::map("mutable_parameters", &self.mutable_parameters)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, _answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        Ok(())
    }
}
