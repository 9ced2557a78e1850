//! What is wrong with volumes and with the storage, as the controller and the node see it.
//!
//! Whether a fault is real cannot be judged; that programs can tell faults apart can.

use std::collections::HashSet;

use super::flaws::{Entries, Flaw};
use super::rules::{Breach, Under, Verdict, capability, each, page, path, quoted, required, same, text};
use super::{Abilities, BadAnswer, Check, Invalid};
use drivebay_proto::pb::csi::v1::node_get_storage_health_response::StorageBackendHealth;
use drivebay_proto::pb::csi::v1::volume_health::VolumeHealthEntry;
use drivebay_proto::pb::csi::v1::{
    ControllerGetVolumeHealthRequest, ControllerGetVolumeHealthResponse, ControllerListVolumeHealthRequest,
    ControllerListVolumeHealthResponse, NodeGetStorageHealthRequest, NodeGetStorageHealthResponse,
    NodeGetVolumeHealthRequest, NodeGetVolumeHealthResponse, StorageHealthErrorType, VolumeHealth,
    VolumeHealthErrorType,
};

/// The health of a volume (CSI, `VolumeHealth`). Healthy: no entries.
fn object(health: &VolumeHealth) -> Verdict {
    const ENTRIES: &str = "health_statuses";
    text::id("volume_id", &health.volume_id)?;
    each(ENTRIES, &health.health_statuses, entry)?;
    let keys = health.health_statuses.iter().map(|entry| (entry.status, entry.reason.as_str()));
    page::unique(ENTRIES, keys, |(_, reason)| reason)
}

fn id(health: &VolumeHealth) -> &str {
    &health.volume_id
}

fn entry(entry: &VolumeHealthEntry) -> Verdict {
    status(entry.status, VolumeHealthErrorType::try_from(entry.status).is_ok())?;
    text::camel_case("reason", &entry.reason)?;
    text::sentence("message", &entry.message)
}

/// Every enumeration of faults has 0 for a value that was not set.
fn status(number: i32, is_known: bool) -> Verdict {
    match number {
        0 => Err(Breach::missing("status")),
        _ if is_known => Ok(()),
        _ => Err(Breach::new("status", format!("has no value {number}"))),
    }
}

/// An answer about one volume tells about that one, also when nothing is wrong with it.
fn about(asked: &str, answered: Option<&VolumeHealth>) -> Verdict {
    let health = required("volume_health", answered)?;
    object(health).under("volume_health")?;
    same("volume_health.volume_id", &health.volume_id, asked)
}

impl Check for ControllerListVolumeHealthRequest {
    type Answer = ControllerListVolumeHealthResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        page::limit("max_entries", self.max_entries)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn bounded(self) -> Self {
        Self { max_entries: page::bounded(self.max_entries), ..self }
    }

    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        let asked = page::Asked { most: self.max_entries, token: &self.starting_token };
        asked.answered(answer.entries.len(), &answer.next_token)?;
        each("entries", &answer.entries, object)?;
        let volumes = answer.entries.iter().map(|health| health.volume_id.as_str());
        page::unique_texts("entries", volumes)?;
        Ok(())
    }

    fn can_be_sifted(&self) -> bool {
        true
    }

    /// Nothing is mended: a volume whose faults cannot be told would look well.
    fn sift(&self, answer: &mut Self::Answer, _able: &Abilities) -> Vec<Flaw> {
        Entries { id, rule: &object, mend: &|_| {} }.sift(&mut answer.entries)
    }
}

impl Check for ControllerGetVolumeHealthRequest {
    type Answer = ControllerGetVolumeHealthResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        about(&self.volume_id, answer.volume_health.as_ref())?;
        Ok(())
    }
}

impl Check for NodeGetVolumeHealthRequest {
    type Answer = NodeGetVolumeHealthResponse;

    /// The paths say where the volume was meant to be: staging may have failed (T1 holds here too).
    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        path::optional_place("volume_publish_path", &self.volume_publish_path)?;
        path::optional_place("staging_target_path", &self.staging_target_path)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        about(&self.volume_id, answer.volume_health.as_ref())?;
        Ok(())
    }

    fn paths(&self) -> Vec<&str> {
        path::usable([&self.staging_target_path, &self.volume_publish_path])
    }
}

/// A fault of the storage (CSI, `StorageBackendHealth`).
fn fault(fault: &StorageBackendHealth) -> Verdict {
    status(fault.status, StorageHealthErrorType::try_from(fault.status).is_ok())?;
    text::camel_case("reason", &fault.reason)?;
    text::sentence("message", &fault.message)?;
    fault.volume_capability.as_ref().map_or(Ok(()), capability::formed).under("volume_capability")
}

impl Check for NodeGetStorageHealthRequest {
    type Answer = NodeGetStorageHealthResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        each("backend_health", &answer.backend_health, fault)?;
        let mut seen = HashSet::new();
        for fault in &answer.backend_health {
            if !seen.insert((fault.status, &fault.reason, &fault.volume_capability)) {
                let problem = format!("has {} twice", quoted(&fault.reason));
                return Err(Breach::new("backend_health", problem).into());
            }
        }
        Ok(())
    }
}
