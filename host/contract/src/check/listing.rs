//! Looking volumes up: all of them page by page, or one.
//!
//! What is judged is each page by itself. Two pages may repeat or miss a volume that was made or
//! removed between them, so nothing is remembered from one to the next.

use super::flaws::{Entries, Flaw};
use super::rules::{Breach, Under, Verdict, each, page, required, same, text};
use super::{Abilities, BadAnswer, Check, Invalid, volume};
use crate::Feature;
use drivebay_proto::pb::csi::v1::{
    ControllerGetVolumeRequest, ControllerGetVolumeResponse, ListVolumesRequest, ListVolumesResponse, VolumeCondition,
    list_volumes_response,
};

/// The nodes of a volume are told by those who say that they tell them (CSI,
/// `LIST_VOLUMES_PUBLISHED_NODES`).
fn nodes(nodes: &[String], able: &Abilities) -> Verdict {
    const FIELD: &str = "published_node_ids";
    if !nodes.is_empty() && !able.has(Feature::PublishedNodes) {
        return Err(Breach::lacks(FIELD, Feature::PublishedNodes));
    }
    each(FIELD, nodes, |node| text::node_id("", node))?;
    page::unique_texts(FIELD, nodes.iter().map(String::as_str))
}

/// A word on a volume's state for clients up to CSI 1.12.
#[expect(deprecated, reason = "older clients still read it")]
pub(super) fn condition(condition: Option<&VolumeCondition>) -> Verdict {
    const FIELD: &str = "volume_condition.message";
    condition.map_or(Ok(()), |condition| text::sentence(FIELD, &condition.message))
}

#[expect(deprecated, reason = "older clients still read the condition")]
fn entry(entry: &list_volumes_response::Entry, able: &Abilities) -> Verdict {
    let described = required("volume", entry.volume.as_ref())?;
    volume::object(described, able).under("volume")?;
    match &entry.status {
        None if able.has(Feature::PublishedNodes) => Err(Breach::missing("status")),
        None => Ok(()),
        Some(status) => {
            nodes(&status.published_node_ids, able).under("status")?;
            condition(status.volume_condition.as_ref()).under("status")
        }
    }
}

/// Takes away what is wrong with an entry. Nodes that cannot be told are none: a client attaches again, which is harmless.
#[expect(deprecated, reason = "older clients still read the condition")]
fn mend(entry: &mut list_volumes_response::Entry, able: &Abilities) {
    if let Some(volume) = &mut entry.volume {
        volume::mend(volume);
    }
    if entry.status.is_none() && able.has(Feature::PublishedNodes) {
        entry.status = Some(list_volumes_response::VolumeStatus::default());
    }
    if let Some(status) = &mut entry.status {
        if nodes(&status.published_node_ids, able).is_err() {
            status.published_node_ids.clear();
        }
        status.volume_condition.take_if(|it| condition(Some(it)).is_err());
    }
}

fn id(entry: &list_volumes_response::Entry) -> &str {
    entry.volume.as_ref().map_or("", |volume| volume.volume_id.as_str())
}

impl Check for ListVolumesRequest {
    type Answer = ListVolumesResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        page::limit("max_entries", self.max_entries)?;
        Ok(())
    }

    fn bounded(self) -> Self {
        Self { max_entries: page::bounded(self.max_entries), ..self }
    }

    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer> {
        let asked = page::Asked { most: self.max_entries, token: &self.starting_token };
        asked.answered(answer.entries.len(), &answer.next_token)?;
        each("entries", &answer.entries, |found| entry(found, able))?;
        let volumes = answer.entries.iter().filter_map(|found| found.volume.as_ref());
        page::unique_texts("entries", volumes.map(|volume| volume.volume_id.as_str()))?;
        Ok(())
    }

    fn can_be_sifted(&self) -> bool {
        true
    }

    fn sift(&self, answer: &mut Self::Answer, able: &Abilities) -> Vec<Flaw> {
        let (rule, mend) = (|found: &_| entry(found, able), |found: &mut _| mend(found, able));
        Entries { id, rule: &rule, mend: &mend }.sift(&mut answer.entries)
    }
}

impl Check for ControllerGetVolumeRequest {
    type Answer = ControllerGetVolumeResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("volume_id", &self.volume_id)?;
        Ok(())
    }

    #[expect(deprecated, reason = "older clients still read the condition")]
    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer> {
        let described = required("volume", answer.volume.as_ref())?;
        volume::object(described, able).under("volume")?;
        same("volume.volume_id", &described.volume_id, &self.volume_id)?;
        let status = required("status", answer.status.as_ref())?;
        nodes(&status.published_node_ids, able).under("status")?;
        condition(status.volume_condition.as_ref()).under("status")?;
        Ok(())
    }
}
